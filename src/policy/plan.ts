import type { OfferRefusal } from '../errors.js';
import type { X402Version } from '../protocols/types.js';
import type { Receipt } from '../receipt.js';
import type { SwapQuote } from '../swaps/types.js';
import type { CapUse } from './cap-use.js';

/**
 * The planned payment for a call, or the planned swap of a top-up. JSON-safe; amounts are decimal
 * strings of base units.
 */
export interface Plan {
  readonly url: string;
  readonly method: string;
  /** Status of the unpaid answer. 0 for a top-up: its `url` is `top-up:` and its mint. */
  readonly status: number;
  /** The payment to make; absent if the call asks for no payment, and for a top-up. */
  readonly payment?: {
    readonly x402Version: X402Version;
    readonly network: string;
    readonly mint: string;
    readonly amount: string;
    readonly decimals: number;
    readonly uiAmount: string;
    /** Present only if the mint is pinned: any other token may call itself anything. */
    readonly symbol?: string;
    readonly payTo: string;
    readonly feePayer: string;
    /** US dollars as decimal text; absent if the mint has no price. */
    readonly usd?: string;
    /** Base units of the mint that the wallet can spend now. */
    readonly available: string;
  };
  /** The swap that would come first, if the wallet holds too little. */
  readonly swap?: Omit<SwapQuote, 'raw'>;
  /**
   * The relayer that may pay the swap's fees and rents, because the wallet has too little SOL or
   * just enough. It takes at most `maxAmount` base units of a token, to the account of `payTo`.
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
   * The most that the plan takes, as caps count it; absent if the call asks for no payment. A swap
   * that lands and fails also costs its network fee, before it is tried again.
   */
  readonly cost?: Receipt['cost'];
  /** The entries of `accepts` that would not be paid, and why. */
  readonly refused: readonly OfferRefusal[];
  /**
   * The most lamports that the swap's network fee may take; the facilitator pays the fee of the
   * payment itself.
   */
  readonly maxFeeLamports: string;
  /** The rolling caps before the payment. */
  readonly caps: readonly CapUse[];
}
