import type { Address } from '../solana/types.js';

export type SwapMode = 'ExactIn' | 'ExactOut';

/** A swap to quote, with its amount in base units. */
export interface SwapRequest {
  /** A mint, or a pinned symbol (`"SOL"`, `"USDC"`). SOL means native SOL. */
  readonly inputMint: string;
  readonly outputMint: string;
  /** Base units: of the input for `ExactIn`, of the output for `ExactOut`. */
  readonly amount: bigint | string;
  readonly uiAmount?: undefined;
  /** Default `ExactIn`. `ExactOut` falls back to an input with a least output that covers `amount`. */
  readonly swapMode?: SwapMode | undefined;
  /** Basis points; default 50. */
  readonly slippageBps?: number | undefined;
  /**
   * Accounts that the route may use: fewer accounts make a smaller transaction and a worse price.
   * Default: the provider decides.
   */
  readonly maxAccounts?: number | undefined;
}

/** A swap to quote, with its amount as people write it: decimal text, as in `"0.25"`. */
export interface UiSwapRequest extends Omit<SwapRequest, 'amount' | 'uiAmount'> {
  readonly amount?: undefined;
  /** Amount of the input for `ExactIn`, of the output for `ExactOut`. */
  readonly uiAmount: string;
}

/** A quote in the terms of this library. Amounts are decimal strings of base units. */
export interface SwapQuote {
  readonly inputMint: Address;
  readonly outputMint: Address;
  readonly swapMode: SwapMode;
  readonly inAmount: string;
  readonly outAmount: string;
  /**
   * The least that arrives: `outAmount` less slippage for `ExactIn`, `outAmount` itself for
   * `ExactOut`.
   */
  readonly minOutAmount: string;
  /** The most that leaves: `inAmount` itself for `ExactIn`, plus slippage for `ExactOut`. */
  readonly maxInAmount: string;
  readonly slippageBps: number;
  /** Basis points; null if the provider did not say. */
  readonly priceImpactBps: number | null;
  readonly platformFeeBps: 0;
  /** Names of the venues, in order. The text is the service's: show it, do not act on it. */
  readonly route: readonly string[];
  /** Id of the provider that made the quote and must build its swap. */
  readonly provider: string;
  /** Milliseconds since the epoch. */
  readonly quotedAt: number;
  /** The provider's own quote, verbatim; the provider needs it to build the swap. */
  readonly raw: unknown;
}

/** An unsigned transaction for a quote. */
export interface SwapTransaction {
  /** Base64 of the unsigned v0 transaction. */
  readonly transaction: string;
  /** Decimal string. */
  readonly lastValidBlockHeight: string;
  readonly quote: SwapQuote;
  readonly computeUnitLimit: number;
  /** Decimal string of lamports: the cost of the compute-unit price at `computeUnitLimit`. */
  readonly priorityFeeLamports: string;
}
