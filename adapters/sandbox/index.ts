/**
 * A local Solana with the official x402 stack, for development and tests.
 *
 * @module exact-change-sandbox
 */
import type { NodeControls, NodeOptions } from './node/index.js';
import type { AggregatorControls } from './services/aggregator/index.js';
import type { ApiControls, PaidRoute } from './services/api/index.js';
import type { FacilitatorControls } from './services/facilitator.js';
import type { RelayerControls } from './services/relayer.js';
import type { Chain, MainnetMint, MintSymbol, SandboxMint } from './types.js';

export type { Json } from './chain/json.js';
export type {
  CallFilter,
  Intercept,
  LaggingMethod,
  Lags,
  NodeControls,
  NodeFault,
  NodeOptions,
} from './node/index.js';
export type {
  AggregatorControls,
  Lie,
  Listed,
  MarketControls,
  RateLimit,
  VenueBehaviour,
} from './services/aggregator/index.js';
export type { ApiControls, PaidRoute, ServedRequest } from './services/api/index.js';
export type { FacilitatorControls } from './services/facilitator.js';
export type { RelayerControls, RelayerMethod } from './services/relayer.js';
export type { ServiceControls } from './services/faults.js';
export type { Chain, ChainAccount, Fault, MainnetMint, MintSymbol, SandboxMint } from './types.js';

export interface SandboxOptions extends NodeOptions {
  /** Port of the aggregator. 0, the default here and for the next three, is any that is free. */
  readonly jupiterPort?: number;
  readonly facilitatorPort?: number;
  readonly relayerPort?: number;
  readonly apiPort?: number;
  /**
   * Every key is derived from it: equal seeds make equal wallets, in the order of their creation.
   * Omitted: all keys are random.
   */
  readonly seed?: string;
}

/** A wallet of the sandbox. Its key is worth nothing anywhere else. */
export interface SandboxWallet {
  /** Base58 of 64 bytes: private key, then public key. */
  readonly secretKey: string;
  /** Base58. */
  readonly address: string;
}

/** What {@link Sandbox.createMint} makes. */
export interface NewMint {
  /** 0 to 255. */
  readonly decimals: number;
  /** What Jupiter trades it at, in picodollars (1e-12 US dollars) a base unit. */
  readonly picoUsd: bigint;
  /**
   * Which token program it is of; `spl-token` unless said otherwise. Without extensions in either.
   */
  readonly program?: 'spl-token' | 'spl-token-2022';
  /** Wallet that may mint and freeze it: a seller's own. Omitted: no key can. Base58. */
  readonly authority?: string;
  /**
   * Wallet that gets what the token's buyers pay with, as the owner of its pool does. Omitted: the
   * venue keeps it. Base58.
   */
  readonly proceedsTo?: string;
}

/** A Solana node with mints, an aggregator, a facilitator, a relayer and a paid API, all on 127.0.0.1. */
export interface Sandbox {
  /** JSON-RPC over HTTP. */
  readonly rpcUrl: string;
  /** JSON-RPC over WebSocket. */
  readonly wsUrl: string;
  /** Jupiter's Swap API: `/swap/v1` and `/swap/v2` lie below it. */
  readonly jupiterUrl: string;
  /** The paid API; what it sells is in {@link routes}, and `/free` is free. */
  readonly apiUrl: string;
  /** The official facilitator: `/verify`, `/settle`, `/supported`. */
  readonly facilitatorUrl: string;
  /** A relayer that pays the fees of swaps for tokens, in the words of Kora's JSON-RPC. */
  readonly relayerUrl: string;
  /** Wallet that the paid API is paid to; it has an account for every mint. Base58. */
  readonly merchant: string;
  /** Wallet of the facilitator, that pays the fees of payments. Base58. */
  readonly feePayer: string;
  /** By symbol, at their mainnet addresses. */
  readonly mints: Readonly<Record<MintSymbol, MainnetMint>>;
  readonly routes: readonly PaidRoute[];
  /** Reading and writing accounts past all rules: for tests. */
  readonly chain: Chain;
  /**
   * Makes a wallet with funds, as people write them: `{ SOL: '0.5', BONK: '100000' }`. SOL is
   * native, not wrapped.
   */
  createWallet(funds?: Partial<Record<MintSymbol, string>>): Promise<SandboxWallet>;
  /**
   * Makes a mint at a new address, with a market at Jupiter and an account of the merchant's. Other
   * wallets get theirs by `chain.fundToken`.
   */
  createMint(mint: NewMint): Promise<SandboxMint>;
  /** Base units (lamports for SOL) that a wallet holds; 0n if it has no account. */
  balance(address: string, mint: MintSymbol | SandboxMint): Promise<bigint>;
  readonly controls: {
    readonly node: NodeControls;
    readonly aggregator: AggregatorControls;
    readonly facilitator: FacilitatorControls;
    readonly relayer: RelayerControls;
    readonly api: ApiControls;
  };
  /** Stops everything and cuts every connection. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Starts a sandbox.
 *
 * @example
 * const sandbox = await createSandbox();
 * const { secretKey } = await sandbox.createWallet({ SOL: '0.5' });
 */
export async function createSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  // The Solana runtime and the x402 packages load here, and not with the import.
  const { start } = await import('./services/start.js');
  return start(options);
}
