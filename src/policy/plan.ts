import type { OfferRefusal } from '../errors.js';
import type { X402Version } from '../protocols/types.js';
import type { Receipt } from '../receipt.js';
import type { SwapQuote } from '../swaps/types.js';
import type { CapUse } from './cap-use.js';

/**
 * What paying for a call would take, or the swap of a top-up. JSON-safe; amounts are decimal strings
 * of base units.
 */
export interface Plan {
  readonly url: string;
  readonly method: string;
  /** Of the unpaid answer; 0 for a top-up, which has `top-up:` and its mint as its `url`. */
  readonly status: number;
  /** What would be paid; absent if the call asks for no payment, and for a top-up. */
  readonly payment?: {
    readonly x402Version: X402Version;
    readonly network: string;
    readonly mint: string;
    readonly amount: string;
    readonly decimals: number;
    readonly uiAmount: string;
    /** Of a pinned mint alone: other tokens may call themselves anything. */
    readonly symbol?: string;
    readonly payTo: string;
    readonly feePayer: string;
    /** US dollars as decimal text; absent if the mint has no price. */
    readonly usd?: string;
    /** What the wallet can spend of the mint now. */
    readonly available: string;
  };
  /** The swap that would come first, if the wallet holds too little. */
  readonly swap?: Omit<SwapQuote, 'raw'>;
  /**
   * What may pay the swap's fees and rents, as the wallet has too little SOL or just enough: it
   * takes so much of a token at most, to the account of `payTo`. Base units.
   */
  readonly relayer?: {
    readonly feePayer: string;
    readonly payTo: string;
    readonly mint: string;
    readonly maxAmount: string;
  };
  /** Lamports of SOL that would be wrapped first, for a payment in wrapped SOL. */
  readonly wrap?: string;
  /**
   * What it takes at most, as caps count it; absent if the call asks for no payment. A swap that
   * lands and fails costs its network fee besides, before it is tried again.
   */
  readonly cost?: Receipt['cost'];
  /** The entries of `accepts` that would not be paid, and why. */
  readonly refused: readonly OfferRefusal[];
  /**
   * The most lamports that the swap's network fee may take; the payment's own is the facilitator's.
   */
  readonly maxFeeLamports: string;
  /** The rolling caps as they stand before it. */
  readonly caps: readonly CapUse[];
}
