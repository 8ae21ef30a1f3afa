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
   * Reserves the bound of a swap, before it is signed. Throws `budget_exhausted` or
   * `amount_over_limit`.
   */
  planSwap(taking: SwapTaking, signal: AbortSignal | undefined): Promise<void>;
  /** Writes a signed swap to the journal, before it leaves. */
  readonly recordSwap: (swap: SignedSwap) => Promise<void>;
  /**
   * Notes the outcome of the last signed swap, which the next write puts on record. Returns the
   * cost of the swap.
   */
  readonly endSwap: (outcome: SwapOutcome) => Receipt['cost'];
}

/** Returns the record of the swaps for a reserved payment. */
export function swapRecord(context: PaymentContext, reservation: Reservation): SwapRecord {
  const { config, journal } = context;
  return {
    async planSwap(taking, signal) {
      const swapping = await swapBound(context, taking, reservation.attempt, signal);
      // This write also records the outcome of an earlier swap, before the new swap replaces it.
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
      // Set this before the write, because a call that gives up meanwhile must know of the swap.
      const signed = { ...reservation.attempt, swap };
      reservation.attempt = signed;
      await journal.put(signed).catch((error: unknown) => {
        // The swap does not leave now. It must not leave later, even if the write has landed.
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

/** Returns the cost of a swap for its events. */
function costForSwap(cost: SwapCost, networkFeeLamports: bigint): Receipt['cost'] {
  return costFor(
    { mint: '', amount: '0', microUsd: '0', swapped: cost },
    networkFeeLamports,
    false,
  );
}
