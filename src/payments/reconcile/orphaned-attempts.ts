import type { Along, Attempt, SwapOutcome } from '../../journal/types.js';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../network.js';
import { associatedTokenAddress } from '../../solana/tokens/accounts.js';
import type { PaymentContext } from '../context.js';
import { withSwapCost } from '../execute/swap-cost.js';
import { withoutBound } from '../execute/reservation.js';
import { listed, orphanedAttempts } from './resume-once.js';
import { noteFreed, noteResumed } from './resumed-changes.js';

/** What was freed. */
export interface ReleasedOrphans {
  readonly freed: number;
  /** Those of them whose swap may still land. */
  readonly abandoned: readonly Attempt[];
}

/**
 * Gives back what orphaned attempts reserved and held. A swap that they signed stays on record
 * until it can land no more, and what swaps cost stays.
 */
export async function releaseOrphans(context: PaymentContext): Promise<ReleasedOrphans> {
  const dead = await orphanedAttempts(context, 'reserved');
  const abandoned: Attempt[] = [];
  for (const attempt of dead) {
    noteResumed(context, attempt);
    const free = accountsOf(context, attempt);
    const mayLand = attempt.swap !== undefined && attempt.swap.outcome === undefined;
    const ending = mayLand
      ? putAbandoned(context, attempt, { free }).then((one) => void abandoned.push(one))
      : endUnpaid(context, withoutBound(attempt), { free });
    // If it goes on after all, it is left alone.
    await ending.catch(() => undefined);
  }
  return { freed: dead.length, abandoned };
}

/**
 * Frees the price and the key of an attempt that signed no payment, and keeps its swap on record.
 */
export async function putAbandoned(
  context: PaymentContext,
  attempt: Attempt,
  along: Along,
): Promise<Attempt> {
  const abandoned: Attempt = { ...withoutKey(attempt), state: 'abandoned' };
  await context.journal.put(abandoned, along);
  noteFreed(context, abandoned, 'abandoned');
  return abandoned;
}

/**
 * Puts on record what became of the swap of an attempt that signed no payment, and ends the
 * attempt.
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
 * Ends an attempt that signed no payment and whose swap is decided. What its swaps cost stays on
 * record; if that is nothing, it is forgotten.
 */
export async function endUnpaid(
  context: PaymentContext,
  attempt: Attempt,
  along: Along = {},
): Promise<void> {
  const { id, swap, swapped } = attempt;
  const put = (one: Attempt, alongIt?: Along) =>
    context.journal.put(one, alongIt).catch(async (error: unknown) => {
      // Another process may have ended it already, and forgotten it.
      if (await isThere(context, id)) throw error;
      await context.journal.release(id, alongIt);
    });
  if (swapped !== undefined) {
    const leftAt = Math.max(attempt.at, context.config.runtime.now());
    await put({ ...withoutKey(attempt), state: 'unpaid', leftAt }, along);
  } else {
    // What became of its swap is told first.
    if (swap?.outcome !== undefined) await put({ ...withoutKey(attempt), state: 'abandoned' });
    await context.journal.release(id, along);
  }
  noteFreed(context, attempt, 'unpaid');
}

function withoutKey({ idempotencyKey: _key, ...attempt }: Attempt): Attempt {
  return attempt;
}

async function isThere(context: PaymentContext, id: string): Promise<boolean> {
  for (const state of ['reserved', 'abandoned'] as const)
    if ((await listed(context, state)).some((one) => one.id === id)) return true;
  return false;
}

/**
 * The accounts that it may hold tokens of: which of the two token programs its mint belongs to is
 * not on record.
 */
function accountsOf({ config }: PaymentContext, { mint }: Attempt): string[] {
  return [TOKEN_PROGRAM, TOKEN_2022_PROGRAM].map((program) =>
    associatedTokenAddress(config.signer.address, mint, program),
  );
}
