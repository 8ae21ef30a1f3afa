import type { Along, Attempt, SwapOutcome } from '../../journal/types.js';
import { TOKEN_PROGRAMS } from '../../network.js';
import { associatedTokenAddress } from '../../solana/tokens/accounts.js';
import type { PaymentContext } from '../context.js';
import { withSwapCost } from '../plan/swap-cost.js';
import { withoutBound } from '../execute/reservation.js';
import { attemptsInState, orphanedAttempts } from './resume-once.js';
import { noteFreed, noteResumed } from './resumed-changes.js';

/** Frees the budget and the holds of orphaned attempts, as {@link freeAttempt} does. */
export async function releaseOrphans(
  context: PaymentContext,
): Promise<{ readonly freed: number; readonly abandoned: readonly Attempt[] }> {
  const orphans = await orphanedAttempts(context, 'reserved');
  const abandoned: Attempt[] = [];
  for (const attempt of orphans) {
    noteResumed(context, attempt);
    const free = accountsOf(context, attempt);
    // The journal rejects the write if the attempt has moved on: then leave the attempt alone.
    const left = await freeAttempt(context, attempt, { free }).catch(() => undefined);
    if (left !== undefined) abandoned.push(left);
  }
  return { freed: orphans.length, abandoned };
}

/**
 * Frees the price and the idempotency key of an attempt that signed no payment. A swap that may
 * still land stays on record until it can no longer land: then it returns the attempt. The costs of
 * swaps stay on record too.
 */
export async function freeAttempt(
  context: PaymentContext,
  attempt: Attempt,
  along: Along,
): Promise<Attempt | undefined> {
  if (attempt.swap === undefined || attempt.swap.outcome !== undefined) {
    await endUnpaid(context, withoutBound(attempt), along);
    return undefined;
  }
  const abandoned: Attempt = { ...withoutKey(attempt), state: 'abandoned' };
  await context.journal.put(abandoned, along);
  noteFreed(context, abandoned, 'abandoned');
  return abandoned;
}

/**
 * Records the outcome of an attempt's swap, and ends the attempt, which signed no payment.
 */
export async function endDecided(
  context: PaymentContext,
  attempt: Attempt,
  outcome: SwapOutcome,
): Promise<void> {
  const isDecided = attempt.swap === undefined || attempt.swap.outcome !== undefined;
  await endUnpaid(context, isDecided ? withoutBound(attempt) : withSwapCost(attempt, outcome));
}

/**
 * Ends an attempt without an undecided swap. Its record stays if its swaps cost anything. Frees its
 * tokens: a call that was taken for ended may have held them since, and may fail to free them.
 */
export async function endUnpaid(
  context: PaymentContext,
  attempt: Attempt,
  along: Along = { free: accountsOf(context, attempt) },
): Promise<void> {
  const { id, swap, swapped } = attempt;
  const put = (ended: Attempt, alongPut?: Along) =>
    context.journal.put(ended, alongPut).catch(async (error: unknown) => {
      // If the attempt is gone, a different process has ended it already.
      if (await isListed(context, id)) throw error;
      await context.journal.release(id, alongPut);
    });
  if (swapped !== undefined) {
    const leftAt = Math.max(attempt.at, context.config.runtime.now());
    await put({ ...withoutKey(attempt), state: 'unpaid', leftAt }, along);
  } else {
    // Write the swap's outcome before the journal forgets the attempt, so that it is reported.
    if (swap?.outcome !== undefined) await put({ ...withoutKey(attempt), state: 'abandoned' });
    await context.journal.release(id, along);
  }
  noteFreed(context, attempt, 'unpaid');
}

function withoutKey({ idempotencyKey: _key, ...attempt }: Attempt): Attempt {
  return attempt;
}

async function isListed(context: PaymentContext, id: string): Promise<boolean> {
  for (const state of ['reserved', 'abandoned'] as const)
    if ((await attemptsInState(context, state)).some((attempt) => attempt.id === id)) return true;
  return false;
}

/**
 * Returns both accounts that the attempt may hold tokens of, because the record does not say which
 * token program the mint belongs to.
 */
function accountsOf({ config }: PaymentContext, { mint }: Attempt): string[] {
  return TOKEN_PROGRAMS.map((program) =>
    associatedTokenAddress(config.signer.address, mint, program),
  );
}
