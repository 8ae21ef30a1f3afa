import { capsFor } from '../../policy/caps.js';
import { assertPayable } from '../../policy/refusals.js';
import { blockedBy } from '../../policy/over-budget.js';
import { noSwapCost } from '../../policy/cost.js';
import type { PaymentContext } from '../context.js';
import { costFor } from '../attempt-receipt.js';
import { swapBound } from '../plan/swap-cost-bound.js';
import { swapCostAfter, withSwapCost } from '../plan/swap-cost.js';
import { againWithoutOrphans, type Reservation } from './reservation.js';
import type { SwapTask } from './swap-task.js';

/**
 * Returns the hooks that count and record the swaps for a reserved payment. Before a signature they
 * reserve the swap's bound, and throw `budget_exhausted` or `amount_over_limit`.
 */
export function recordSwaps(
  context: PaymentContext,
  reservation: Reservation,
  signal: AbortSignal | undefined,
): Required<Pick<SwapTask, 'onPlanned' | 'onSigned' | 'onDecided'>> {
  const { config, journal } = context;
  return {
    async onPlanned(taking) {
      const swapping = await swapBound(context, taking, reservation.attempt, signal);
      // This write also records the outcome of an earlier swap, before the new swap replaces it.
      const next = { ...reservation.attempt, swapping, at: config.runtime.now() };
      assertPayable(config.policy, next);
      const caps = capsFor(config.policy, next);
      const refused = await againWithoutOrphans(context, signal, () => journal.raise(next, caps));
      if (refused !== undefined) throw blockedBy(refused, next);
      reservation.attempt = next;
    },
    async onSigned(swap) {
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
    onDecided(outcome) {
      // The next write puts the outcome on record.
      const { attempt } = reservation;
      const swapped = swapCostAfter(attempt, outcome) ?? noSwapCost;
      reservation.attempt = withSwapCost(attempt, outcome);
      const expense = { mint: '', amount: '0', microUsd: '0', swapped };
      return costFor(expense, BigInt(outcome.feeLamports ?? 0), false);
    },
  };
}
