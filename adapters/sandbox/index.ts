import { requirePeers } from './peers.js';
import type { NodeControls, NodeOptions } from './node/index.js';
import type { AggregatorControls, MintSymbol } from './services/aggregator/index.js';
import type { ApiControls, PaidRoute } from './services/api/index.js';
import type { FacilitatorControls } from './services/facilitator.js';
import type { Chain, SandboxMint } from './types.js';

export type { Json } from './chain/json.js';
export { MissingDependencyError } from './peers.js';
export type { Peer } from './peers.js';
export type { CallFilter, Intercept, NodeControls, NodeFault, NodeOptions } from './node/index.js';
export type { AggregatorControls, Lie, MarketControls, MintSymbol, RateLimit, VenueBehaviour } from './services/aggregator/index.js';
export type { ApiControls, PaidRoute, ServedRequest } from './services/api/index.js';
export type { FacilitatorControls } from './services/facilitator.js';
export type { ServiceControls } from './services/faults.js';
export type { Chain, ChainAccount, Fault, SandboxMint } from './types.js';

export interface SandboxOptions extends NodeOptions {
  /** Every key is derived from it: equal seeds make equal wallets, in the order of their creation. Omitted: all keys are random. */
  readonly seed?: string;
}

/** A wallet of the sandbox. Its key is worth nothing anywhere else. */
export interface SandboxWallet {
  /** Base58 of 64 bytes: private key, then public key. */
  readonly secretKey: string;
  /** Base58. */
  readonly address: string;
}

/** A Solana node with mints, an aggregator, a facilitator and a paid API, all on 127.0.0.1. */
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
  /** Wallet that the paid API is paid to; it has an account for every mint. Base58. */
  readonly merchant: string;
  /** Wallet of the facilitator, that pays the fees of payments. Base58. */
  readonly feePayer: string;
  /** By symbol, at their mainnet addresses. */
  readonly mints: Readonly<Record<MintSymbol, SandboxMint>>;
  readonly routes: readonly PaidRoute[];
  /** Reading and writing accounts past all rules: for tests. */
  readonly chain: Chain;
  /** Makes a wallet with funds, as people write them: `{ SOL: '0.5', BONK: '100000' }`. SOL is native, not wrapped. */
  createWallet(funds?: Partial<Record<MintSymbol, string>>): Promise<SandboxWallet>;
  /** Base units (lamports for SOL) that a wallet holds; 0n where it has no account. */
  balance(address: string, symbol: MintSymbol): Promise<bigint>;
  readonly controls: {
    readonly node: NodeControls;
    readonly aggregator: AggregatorControls;
    readonly facilitator: FacilitatorControls;
    readonly api: ApiControls;
  };
  /** Stops everything and cuts every connection. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Starts a sandbox. For development: its packages are optional peers, and a {@link MissingDependencyError} names those that are not installed.
 *
 * @example
 * const sandbox = await createSandbox();
 * const { secretKey } = await sandbox.createWallet({ SOL: '0.5' });
 */
export async function createSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  await requirePeers();
  const { start } = await import('./services/start.js');
  return start(options);
}
