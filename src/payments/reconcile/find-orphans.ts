import type { Attempt } from '../../journal/types.js';
import type { PaymentContext } from '../context.js';
import { bodyClaim } from '../execute/release-claim.js';
import { ownerOf } from '../owner.js';

/** Attempts in a state that no call is at, in this process or another. */
export async function orphanedAttempts(
  context: PaymentContext,
  state: 'signed' | 'reserved' | 'abandoned',
): Promise<Attempt[]> {
  const ids = (await listed(context, state)).map(({ id }) => id);
  if (ids.length === 0) return [];
  const live = await context.claims.live(ids.flatMap((id) => [id, bodyClaim(id)]));
  // One whose answer is still being read is its reader's: two that write of it would undo each
  // other.
  const dead = new Set(ids.filter((id) => !live.has(id) && !live.has(bodyClaim(id))));
  if (dead.size === 0) return [];
  // Again: one that was alive when it was listed may have gone on, and been let go, before its
  // claim was asked about.
  return (await listed(context, state)).filter(({ id }) => dead.has(id));
}

/** Attempts in a state, also those that calls are at. */
export async function listed(
  context: PaymentContext,
  state: 'signed' | 'reserved' | 'abandoned',
): Promise<Attempt[]> {
  const attempts: Attempt[] = [];
  for await (const attempt of context.journal.attempts(ownerOf(context), { state }))
    attempts.push(attempt);
  return attempts;
}
