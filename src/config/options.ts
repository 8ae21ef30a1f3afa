import type { Logger } from '../events.js';
import type { Runtime } from '../internal/runtime.js';
import type { Journal } from '../journal/types.js';
import type { Policy, PolicyOptions } from '../policy/policy.js';
import type { Connection } from '../solana/rpc/connection.js';
import type { KeypairObject, KitSigner, Signer } from '../solana/signer.js';
import type { Transport } from '../transport.js';

/** Deadlines in milliseconds, each at least 1. */
export interface Timeouts {
  /** One call of an RPC node; default 10000. */
  readonly rpc?: number | undefined;
  /** One call of Jupiter; default 10000. */
  readonly jupiter?: number | undefined;
  /** One call of the service at `apiUrl`, with its retries, or of a relayer; default 30000. */
  readonly service?: number | undefined;
  /** Reading the body of a 402; default 10000. */
  readonly terms?: number | undefined;
  /** The paid request, during which a facilitator settles; default 120000. */
  readonly payment?: number | undefined;
  /** One answer of the signer, or of `policy.approve`, which may ask a person; default 120000. */
  readonly signer?: number | undefined;
  /** One call of the journal; default 10000. */
  readonly journal?: number | undefined;
}

export type TimeoutSettings = Readonly<Record<keyof Timeouts, number>>;

/** A service that signs as fee payer of swaps, by the JSON-RPC of Kora. */
export interface RelayerOptions {
  /** Address of the relayer's JSON-RPC. */
  readonly url: string;
  /** The relayer's key, if it needs one: sent only to the relayer, as `x-api-key`. */
  readonly apiKey?: string | undefined;
  /** US dollars as decimal text that the relayer may take for one swap; default `"0.50"`. */
  readonly maxFee?: string | undefined;
}

/** Options of `createClient`. Wrong options throw `ConfigError` at construction. */
export interface ClientOptions {
  /**
   * The paying wallet: the 64 bytes of its keypair, as base58, the text of a JSON array, or bytes.
   * The key never leaves this process.
   */
  readonly walletSecretKey?: string | Uint8Array | readonly number[] | undefined;
  /**
   * Instead of `walletSecretKey`: the 32 bytes that the keypair is derived from. Only as bytes,
   * because a seed as text looks like an address.
   */
  readonly walletSeed?: Uint8Array | undefined;
  /** Instead of a key: a signer for the wallet; also a signer of kit or a web3.js `Keypair`. */
  readonly signer?: Signer | KitSigner | KeypairObject | undefined;
  /**
   * Base address of a service that quotes and builds swaps and reads balances: the transport is
   * then `remote(apiUrl)`. The client judges the service's answers in this process, against prices
   * of `jupiterUrl` and over `rpcUrl`. Default: Jupiter and the RPC node, in this process.
   */
  readonly apiUrl?: string | undefined;
  /**
   * The service's key, if it needs one: sent only to `apiUrl`, as `Authorization: Bearer`.
   */
  readonly apiKey?: string | undefined;
  /** Instead of `apiUrl`: the source of quotes and swaps. */
  readonly transport?: Transport | undefined;
  /** RPC nodes: the first is primary, the rest fail over. Default: the network's public node. */
  readonly rpcUrl?: string | readonly string[] | undefined;
  /** WebSocket address of the primary node; default: derived as web3.js does. */
  readonly wsUrl?: string | undefined;
  /** The caller's own web3.js connection instead of `rpcUrl`. */
  readonly connection?: Connection | undefined;
  /** Default `https://api.jup.ag`. */
  readonly jupiterUrl?: string | undefined;
  readonly jupiterApiKey?: string | undefined;
  /** `mainnet` (the default), `devnet`, `testnet`, or a CAIP-2 id. */
  readonly network?: string | undefined;
  /**
   * Pays with the first request if the terms of its address are known from an earlier call, which
   * saves a round trip. Addresses: for calls to them and to paths below them, by terms that are at
   * most five minutes old. `true`: for each GET or HEAD if its 402 said by `Cache-Control: max-age`
   * how long its terms hold. If the terms have changed, such a call takes up to two minutes longer,
   * because the chain first decides the payment that was sent. Default: never.
   */
  readonly presign?: boolean | readonly string[] | undefined;
  /** Swaps a held token if the payment's token is short; default false. */
  readonly autoSwap?: boolean | undefined;
  /** Mints or pinned symbols to swap from, in order; default: any held token. */
  readonly swapFrom?: readonly string[] | undefined;
  /**
   * A relayer that pays the fees and rents of a swap, for a fee in tokens, if the wallet has too
   * little SOL for them. Default: none.
   */
  readonly relayer?: RelayerOptions | undefined;
  readonly policy?: PolicyOptions | undefined;
  /** Default: a journal in memory for each wallet in the process. */
  readonly journal?: Journal | undefined;
  /**
   * Milliseconds after the first `already_spent` of a purchase, in which an equal call gets that
   * error again. Later, an equal call buys again. Default 60000.
   */
  readonly retryWindow?: number | undefined;
  /**
   * How often a GET or HEAD is sent again after a 503 or a lost connection; from 0 (off) to 10,
   * default 2. The client waits for a `Retry-After` of up to 10 s. It sends again only before a
   * payment header was sent, never after.
   */
  readonly retries?: number | undefined;
  /** Sends the requests of the client; default: the global fetch, looked up at each call. */
  readonly fetch?: typeof globalThis.fetch | undefined;
  readonly timeouts?: Timeouts | undefined;
  /**
   * Gets a line of text for each step of each call, such as `console`. Default: standard error if
   * the environment has `DEBUG=exact-change`, otherwise none.
   */
  readonly logger?: Logger | undefined;
}

/** Options of `local()`: the options of `createClient` that need no wallet. No `policy.approve`. */
export interface LocalOptions extends Omit<
  Pick<ClientOptions, (typeof LOCAL_NAMES)[number]>,
  'journal'
> {
  /**
   * Keeps swaps and payments that `autoPay` receives on record: swaps before they are sent,
   * payments before their header is given, and what the chain made of them. The caps of `policy`
   * then count them, by wallet. Default: no record, and no cap over time counts.
   */
  readonly journal?: Journal | undefined;
}

export interface LocalSettings {
  readonly rpcUrls: readonly string[];
  readonly wsUrl: string | undefined;
  readonly connection: Connection | undefined;
  readonly jupiterUrl: string;
  readonly jupiterApiKey: string | undefined;
  readonly network: string;
  readonly swapFrom: readonly string[] | undefined;
  readonly policy: Policy;
  readonly fetch: typeof globalThis.fetch;
  readonly timeouts: TimeoutSettings;
  readonly journal: Journal | undefined;
  readonly runtime: Runtime;
}

/** Options of a relayer, checked. */
export interface RelayerConfig {
  readonly url: string;
  readonly apiKey: string | undefined;
  /** Millionths of a US dollar. */
  readonly maxFee: bigint;
}

/** Options, checked and complete. The key is not among them: only the signer is. */
export interface Config extends LocalSettings {
  readonly signer: Signer;
  readonly apiUrl: string | undefined;
  readonly apiKey: string | undefined;
  readonly transport: Transport | undefined;
  readonly autoSwap: boolean;
  readonly relayer: RelayerConfig | undefined;
  /** Addresses of calls that are paid ahead; `stated`: every address if its seller allows that. */
  readonly presign: readonly string[] | 'stated';
  readonly retryWindow: number;
}

/** The configuration of a client, with its settings for unpaid requests. */
export interface ClientConfig extends Config {
  readonly retries: number;
  readonly logger: Logger | undefined;
}

/** The options that need no wallet. */
export const LOCAL_NAMES = [
  'rpcUrl',
  'wsUrl',
  'connection',
  'jupiterUrl',
  'jupiterApiKey',
  'network',
  'swapFrom',
  'policy',
  'fetch',
  'timeouts',
  'journal',
] as const;
