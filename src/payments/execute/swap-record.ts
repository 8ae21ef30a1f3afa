import type { SignedSwap, SwapOutcome } from '../../journal/types.js';
import { capsFor, takenOf } from '../../policy/caps.js';
import { checkPayment } from '../../policy/refusals.js';
import { overBudget } from '../../policy/over-budget.js';
import { noSwapCost, type SwapCost } from '../../policy/cost.js';
import type { Receipt } from '../../receipt.js';
import type { PaymentContext } from '../context.js';
import { costFor } from './attempt-receipt.js';
import { againWithoutOrphans, type Reservation } from './reservation.js';
import { type SwapTaking } from './swap-bound.js';
import { swapCostAfter, withSwapCost } from './swap-cost.js';
import { swapBound } from './swap-bound.js';

/** Counts and records the swaps for a payment. */
export interface SwapRecord {
  /**
   * Reserves what a swap takes at most, before it is signed. Throws `budget_exhausted` or
   * `amount_over_limit`.
   */
  planSwap(taking: SwapTaking, signal: AbortSignal | undefined): Promise<void>;
  /** Puts a signed swap on record, before it leaves. */
  readonly recordSwap: (swap: SignedSwap) => Promise<void>;
  /**
   * Takes down what became of the swap that was signed last; it goes on record with the next write.
   * Returns what it cost.
   */
  readonly endSwap: (outcome: SwapOutcome) => Receipt['cost'];
}

/** Keeps the swaps of a reserved payment on record with it. */
export function swapRecord(context: PaymentContext, reservation: Reservation): SwapRecord {
  const { config, journal } = context;
  return {
    async planSwap(taking, signal) {
      const swapping = await swapBound(context, taking, reservation.attempt, signal);
      // What became of the one before goes on record with it, before another takes its place.
      const next = { ...reservation.attempt, swapping, at: config.runtime.now() };
      const refusal = checkPayment(config.policy, next);
      if (refusal !== undefined) throw refusal;
      const caps = capsFor(config.policy, next);
      const refused = await againWithoutOrphans(context, signal, () => journal.raise(next, caps));
      if (refused !== undefined)
        throw overBudget(refused.cap, refused.used, takenOf(refused.cap, next));
      reservation.attempt = next;
    },
    async recordSwap(swap) {
      // Before it is written: a call that gives up meanwhile must know of it.
      const signed = { ...reservation.attempt, swap };
      reservation.attempt = signed;
      await journal.put(signed).catch((error: unknown) => {
        // It does not leave now, and so it must not later, should it be on record all the same.
        reservation.attempt = {
          ...signed,
          swap: { ...swap, outcome: { state: 'failed', code: 'journal_unavailable' } },
        };
        throw error;
      });
    },
    endSwap(outcome) {
      const { attempt } = reservation;
      const cost = swapCostAfter(attempt, outcome) ?? noSwapCost;
      reservation.attempt = withSwapCost(attempt, outcome);
      return costForSwap(cost, BigInt(outcome.feeLamports ?? 0));
    },
  };
}

/** What one swap costs, as its events show it. */
function costForSwap(cost: SwapCost, networkFeeLamports: bigint): Receipt['cost'] {
  return costFor(
    { mint: '', amount: '0', microUsd: '0', swapped: cost },
    networkFeeLamports,
    false,
  );
}
