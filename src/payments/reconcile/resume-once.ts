import type { Attempt } from '../../journal/types.js';
import { ownerOf, type PaymentContext } from '../context.js';
import { bodyClaim } from '../execute/release-claim.js';
import { recovery } from '../on-demand.js';

/**
 * Takes up the attempts that earlier processes left, once before a context's first payment. Open
 * payments hold their tokens again, and reservations are freed.
 */
export async function resumeOnce(context: PaymentContext): Promise<void> {
  const { resumed } = context;
  let work = resumed.started;
  if (work === undefined) {
    work = takeUpOrphans(context);
    resumed.started = work;
    // After a failure, the next call tries again.
    work.catch(() => (resumed.started = undefined));
  }
  await work;
}

/** Makes the next payment look for orphaned attempts again, because there may be new ones. */
export function resumeWithNextCall(context: PaymentContext): void {
  context.resumed.started = undefined;
}

/** Loads the recovery code only if there are orphaned attempts. */
async function takeUpOrphans(context: PaymentContext): Promise<void> {
  const orphans = await Promise.all([
    orphanedAttempts(context, 'signed'),
    orphanedAttempts(context, 'abandoned'),
    orphanedAttempts(context, 'reserved'),
  ]);
  if (orphans.every(({ length }) => length === 0)) return;
  // A signed orphan may be a payment for the same purchase as this call.
  const funds = orphans[0].length > 0 ? 'uncertain' : 'untouched';
  await (await recovery(undefined, funds)).takeUp(context);
}

/** Returns the attempts in a state that no call of any process claims. */
export async function orphanedAttempts(
  context: PaymentContext,
  state: 'signed' | 'reserved' | 'abandoned',
): Promise<Attempt[]> {
  const ids = (await attemptsInState(context, state)).map(({ id }) => id);
  if (ids.length === 0) return [];
  const live = await context.claims.live(ids.flatMap((id) => [id, bodyClaim(id)]));
  // A call that still reads an attempt's response owns it: a second writer would overwrite its
  // changes.
  const unclaimed = new Set(ids.filter((id) => !live.has(id) && !live.has(bodyClaim(id))));
  if (unclaimed.size === 0) return [];
  // List again, because an attempt may have left the state and dropped its claim between the list
  // and the question about claims.
  return (await attemptsInState(context, state)).filter(({ id }) => unclaimed.has(id));
}

export async function attemptsInState(
  context: PaymentContext,
  state: 'signed' | 'reserved' | 'abandoned',
): Promise<Attempt[]> {
  const attempts: Attempt[] = [];
  for await (const attempt of context.journal.attempts(ownerOf(context), { state }))
    attempts.push(attempt);
  return attempts;
}
