import type { Logger } from '../events.js';
import type { Runtime } from '../internal/runtime.js';
import type { Journal } from '../journal/types.js';
import type { Policy, PolicyOptions } from '../policy/policy.js';
import type { Connection } from '../solana/rpc/connection.js';
import type { KeypairObject, KitSigner, Signer } from '../solana/signer.js';
import type { Transport } from '../transport.js';

/** Deadlines in milliseconds. */
export interface Timeouts {
  /** One call of an RPC node; default 10000. */
  readonly rpc?: number;
  /** One call of Jupiter; default 10000. */
  readonly jupiter?: number;
  /** One call of the service at `apiUrl`, further tries included, or of a relayer; default 30000. */
  readonly service?: number;
  /** Reading the body of a 402; default 10000. */
  readonly terms?: number;
  /** The paid request, in which a facilitator settles; default 120000. */
  readonly payment?: number;
  /** One answer of the signer, or of `policy.approve`, which may ask a person; default 120000. */
  readonly signer?: number;
  /** One call of the journal; default 10000. */
  readonly journal?: number;
}

/** A service that signs as fee payer of swaps, in the words of Kora's JSON-RPC. */
export interface RelayerOptions {
  /** Where its JSON-RPC is asked. */
  readonly url: string;
  /** Its key, if it asks for one: sent to it alone, as `x-api-key`. */
  readonly apiKey?: string | undefined;
  /** US dollars as decimal text that it may take for one swap; default `"0.50"`. */
  readonly maxFee?: string | undefined;
}

/** Options of `createClient`. Wrong ones throw `ConfigError` at construction. */
export interface ClientOptions {
  /**
   * The paying wallet: the 64 bytes of its keypair, as base58, the text of a JSON array, or bytes.
   * Never leaves this process.
   */
  readonly walletSecretKey?: string | Uint8Array | readonly number[] | undefined;
  /**
   * Instead of it: the 32 bytes that the keypair is derived from. As bytes alone, for as text a
   * seed looks like an address.
   */
  readonly walletSeed?: Uint8Array | undefined;
  /** Instead of a key: what signs for the wallet; also a signer of kit or a web3.js `Keypair`. */
  readonly signer?: Signer | KitSigner | KeypairObject | undefined;
  /**
   * Base address of a service that quotes and builds swaps and reads balances: the transport is
   * then `remote(apiUrl)`. What it answers is judged in this process, against prices of
   * `jupiterUrl` and over `rpcUrl`. Default: Jupiter and the RPC node, in this process.
   */
  readonly apiUrl?: string | undefined;
  /**
   * The service's key, if it asks for one: sent to `apiUrl` alone, as `Authorization: Bearer`.
   */
  readonly apiKey?: string | undefined;
  /** Instead of `apiUrl`: where quotes and swaps come from. */
  readonly transport?: Transport | undefined;
  /** RPC nodes: the first is primary, the others fail over. Default: the network's public node. */
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
   * Pay with the first request if the terms of its address are known from a call before, which
   * saves a round trip. Addresses: for calls to these and to all below them, by terms of up to five
   * minutes ago. `true`: for each GET or HEAD whose 402 says by `Cache-Control: max-age` how long
   * its terms hold. Terms that changed cost such a call up to two minutes: what was sent is decided
   * first. Default: never.
   */
  readonly presign?: boolean | readonly string[] | undefined;
  /** Swap a held token when the asked-for one is short; default false. */
  readonly autoSwap?: boolean | undefined;
  /** Mints or pinned symbols to swap from, in order; default: any held token. */
  readonly swapFrom?: readonly string[] | undefined;
  /**
   * A relayer that pays the fees and rents of a swap, for a fee in tokens, if the wallet has too
   * little SOL for them. Default: none.
   */
  readonly relayer?: RelayerOptions | undefined;
  readonly policy?: PolicyOptions | undefined;
  /** Default: one in memory for each wallet in the process. */
  readonly journal?: Journal | undefined;
  /**
   * Milliseconds for which a repeated call of a spent purchase is answered `already_spent` instead
   * of paying anew; default 60000.
   */
  readonly retryWindow?: number | undefined;
  /**
   * How often a GET or HEAD is sent again after a 503 (its `Retry-After` of up to 10 s is waited
   * for) or a lost connection. Only before a payment header was sent, never after; from 0 (off) to
   * 10, default 2.
   */
  readonly retries?: number | undefined;
  /** What sends requests; default: the global fetch, looked up at each call. */
  readonly fetch?: typeof globalThis.fetch | undefined;
  readonly timeouts?: Timeouts | undefined;
  /**
   * Is told each step of each call, a line of text each, as `console`. Default: standard error if
   * the environment has `DEBUG=exact-change`, else none.
   */
  readonly logger?: Logger | undefined;
}

/** Options of `local()`: those of `createClient` that need no wallet. */
export interface LocalOptions extends Omit<
  Pick<ClientOptions, (typeof LOCAL_NAMES)[number]>,
  'journal'
> {
  /**
   * Keeps what `autoPay` is handed on record: swaps before they are sent, payments before their
   * header is given, and what the chain made of them. The caps of `policy` then count it, by
   * wallet. Default: nothing is kept, and no cap over time counts.
   */
  readonly journal?: Journal | undefined;
}

/** What the local transport works with. */
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
  readonly timeouts: Required<Timeouts>;
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
  /** Addresses whose calls are paid ahead, or all that their sellers allow it for. */
  readonly presign: readonly string[] | 'stated';
  readonly retryWindow: number;
}

/** With what the client does before it meets a price. */
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
