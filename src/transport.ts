import type { Address } from './solana/types.js';
import type { SwapQuote, SwapRequest, SwapTransaction } from './swap/types.js';

/** A balance, as text and as base units. */
export interface TokenBalance {
  readonly mint: Address;
  /** Decimal string of base units. */
  readonly amount: string;
  readonly decimals: number;
  readonly uiAmount: string;
  readonly tokenProgram: Address;
  /** The associated token account; the wallet itself for native SOL. */
  readonly tokenAccount: Address;
  readonly slot: number;
}

export interface TransportOptions {
  readonly signal?: AbortSignal | undefined;
}
