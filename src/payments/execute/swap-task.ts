import type { ResolvedRequest } from '../../config/swap-request.js';
import type { Emit } from '../../events.js';
import type { SignedSwap as SwapRecord, SwapOutcome } from '../../journal/types.js';
import type { Receipt } from '../../receipt.js';
import type { RelayOffer } from '../../swaps/relayer/sign-relayed.js';
import type { SwapOrder } from '../../swaps/transaction/prepare.js';
import type { SwapQuote } from '../../swaps/types.js';
import type { WorstPrice } from '../plan/quote-within.js';
import type { SwapTaking } from '../plan/swap-cost-bound.js';

export interface SwapTask extends Pick<SwapOrder, 'keepWrapped' | 'beside'> {
  readonly request: ResolvedRequest;
  /** The quote for a payment; used if it is recent. Absent: the caller named the swap itself. */
  readonly quote?: SwapQuote | undefined;
  /** The transaction that the service built for that quote, if it sent both at once. */
  readonly built?: unknown;
  /** A person has approved the quote, so its age does not matter. */
  readonly approved?: boolean | undefined;
  /** The approved price of a swap that the caller named. No quote for it may be worse. */
  readonly worst?: WorstPrice | undefined;
  /** Base units of the input that the swap may take, also by a later quote. */
  readonly available?: bigint | undefined;
  /** The relayer that pays the lamports of the swap if the wallet cannot. */
  readonly relay?: RelayOffer | undefined;
  readonly emit: Emit;
  readonly signal: AbortSignal | undefined;
  /**
   * Called before the signature with the most that the swap takes, first by its quote and then by
   * its guard. A rejection prevents the signature.
   */
  readonly onPlanned?: (taking: SwapTaking) => Promise<void>;
  /** Writes the signed swap to the journal before it leaves. */
  readonly onSigned?: (signed: SwapRecord) => Promise<void>;
  /** Called with the outcome of each signed swap, when the chain has decided. Returns its cost. */
  readonly onDecided?: (outcome: SwapOutcome) => Receipt['cost'];
  /** Called when the proceeds have arrived, before any other payment or swap may take them. */
  readonly onConfirmed?: (() => Promise<void>) | undefined;
}

export type SwapHooks = Pick<
  SwapTask,
  'emit' | 'signal' | 'onPlanned' | 'onSigned' | 'onDecided' | 'onConfirmed'
>;
