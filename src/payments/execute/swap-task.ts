import type { ResolvedRequest } from '../../config/swap-request.js';
import type { Emit } from '../../events.js';
import type { SignedSwap as SwapRecord, SwapOutcome } from '../../journal/types.js';
import type { Receipt } from '../../receipt.js';
import type { RelayOffer } from '../../swaps/relayer/sign-relayed.js';
import type { SwapQuote } from '../../swaps/types.js';
import type { WorstPrice } from '../plan/quote-within.js';
import type { SwapTaking } from './swap-bound.js';

export interface SwapTask {
  readonly request: ResolvedRequest;
  /**
   * Asked for already, for a payment: used if it is young. Without, the caller asked for the swap
   * by name.
   */
  readonly quote?: SwapQuote | undefined;
  /** What was built for that quote, if it came along with it. */
  readonly built?: unknown;
  /** A person was shown the quote and approved it, however long that took. */
  readonly approved?: boolean | undefined;
  /** Of a swap by name: what was approved, which no quote for it may be worse than. */
  readonly worst?: WorstPrice | undefined;
  /** Base units of the input that the payment may take, however often it is quoted. */
  readonly available?: bigint | undefined;
  /** What pays its lamports if the wallet cannot. */
  readonly relay?: RelayOffer | undefined;
  /** The output is wrapped SOL, and wanted as such. */
  readonly keepWrapped?: boolean | undefined;
  /**
   * Payments go on from what there is of the output while it lands, if the caps have room for that:
   * its guard lets all of it be missing, so all of it counts as what the swap may take.
   */
  readonly beside?: boolean | undefined;
  readonly emit: Emit;
  readonly signal: AbortSignal | undefined;
  /**
   * Called with what a swap takes at most, by its quote and then by its guard, before it is signed;
   * a rejection keeps it from being signed.
   */
  readonly onPlanned?: ((taking: SwapTaking) => Promise<void>) | undefined;
  /** Writes the signed swap down before it leaves. */
  readonly onSigned?: ((signed: SwapRecord) => Promise<void>) | undefined;
  /**
   * Called with what became of each swap that was signed, once the chain has decided. Says what it
   * cost.
   */
  readonly onDecided?: ((outcome: SwapOutcome) => Receipt['cost']) | undefined;
  /** Called when the proceeds are there, before any other payment or swap may touch them. */
  readonly onConfirmed?: (() => Promise<void>) | undefined;
}

export type Watched = Pick<
  SwapTask,
  'emit' | 'signal' | 'onPlanned' | 'onSigned' | 'onDecided' | 'onConfirmed'
>;
