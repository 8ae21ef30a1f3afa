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
  /** Port of the aggregator. 0, the default here and for the next three, picks a free port. */
  readonly jupiterPort?: number;
  readonly facilitatorPort?: number;
  readonly relayerPort?: number;
  readonly apiPort?: number;
  /**
   * Seed of all keys: equal seeds make equal wallets, in the order of their creation. If omitted,
   * all keys are random.
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

/** A mint for {@link Sandbox.createMint}. */
export interface NewMint {
  /** 0 to 255. */
  readonly decimals: number;
  /** Price at Jupiter, in picodollars (1e-12 US dollars) for each base unit. */
  readonly picoUsd: bigint;
  /** Token program of the mint, which has no extensions. Default `spl-token`. */
  readonly program?: 'spl-token' | 'spl-token-2022';
  /** Wallet that may mint and freeze the token, in base58. If omitted, no key can. */
  readonly authority?: string;
  /**
   * Wallet that gets the tokens with which buyers pay, like the owner of a pool, in base58. If
   * omitted, the venue keeps them.
   */
  readonly proceedsTo?: string;
}

/**
 * A Solana node with mints, an aggregator, a facilitator, a relayer and a paid API, all on
 * 127.0.0.1.
 */
export interface Sandbox {
  /** JSON-RPC over HTTP. */
  readonly rpcUrl: string;
  /** JSON-RPC over WebSocket. */
  readonly wsUrl: string;
  /** Base URL of Jupiter's Swap API, `/swap/v1` and `/swap/v2`. */
  readonly jupiterUrl: string;
  /** The paid API. {@link routes} lists its paid paths; `/free` is free. */
  readonly apiUrl: string;
  /** The official facilitator: `/verify`, `/settle`, `/supported`. */
  readonly facilitatorUrl: string;
  /** A relayer with Kora's JSON-RPC that pays the fees of swaps, in return for tokens. */
  readonly relayerUrl: string;
  /** Wallet that receives the payments of the paid API, in base58; it has an account per mint. */
  readonly merchant: string;
  /** Wallet of the facilitator, which pays the fees of payments, in base58. */
  readonly feePayer: string;
  /** Mints by symbol, at their mainnet addresses. */
  readonly mints: Readonly<Record<MintSymbol, MainnetMint>>;
  readonly routes: readonly PaidRoute[];
  /** Reads and writes accounts without the rules of programs, for tests. */
  readonly chain: Chain;
  /**
   * Makes a wallet with funds in whole tokens, such as `{ SOL: '0.5', BONK: '100000' }`. SOL is
   * native, not wrapped.
   */
  createWallet(funds?: Partial<Record<MintSymbol, string>>): Promise<SandboxWallet>;
  /**
   * Makes a mint at a new address, with a market at Jupiter and an account of the merchant. Use
   * `chain.fundToken` for accounts of other wallets.
   */
  createMint(mint: NewMint): Promise<SandboxMint>;
  /** Resolves with a wallet's balance in base units (lamports for SOL); 0n without an account. */
  balance(address: string, mint: MintSymbol | SandboxMint): Promise<bigint>;
  readonly controls: {
    readonly node: NodeControls;
    readonly aggregator: AggregatorControls;
    readonly facilitator: FacilitatorControls;
    readonly relayer: RelayerControls;
    readonly api: ApiControls;
  };
  /** Stops all services and cuts every connection. */
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
  // Load the Solana runtime and the x402 packages here, so that the import stays fast.
  const { start } = await import('./services/start.js');
  return start(options);
}
