import type { Attempt } from '../../journal/types.js';
import { ownerOf, type PaymentContext } from '../context.js';
import { bodyClaim } from '../execute/release-claim.js';
import { recovery } from '../on-demand.js';

/**
 * Takes up once, before a context's first payment, what earlier processes left: their payments hold
 * their tokens, their reservations are freed.
 */
export async function resumeOnce(context: PaymentContext): Promise<void> {
  const { recovery } = context;
  let work = recovery.started;
  if (work === undefined) {
    work = takeUpOrphans(context);
    recovery.started = work;
    // Asked again by the next call.
    work.catch(() => (recovery.started = undefined));
  }
  await work;
}

/** What was taken up may not be all: the next payment looks again. */
export function resumeWithNextCall(context: PaymentContext): void {
  context.recovery.started = undefined;
}

/** Loads what takes them up only if there are any. */
async function takeUpOrphans(context: PaymentContext): Promise<void> {
  const orphans = await Promise.all([
    orphanedAttempts(context, 'signed'),
    orphanedAttempts(context, 'abandoned'),
    orphanedAttempts(context, 'reserved'),
  ]);
  if (orphans.every(({ length }) => length === 0)) return;
  // One of those that were signed may be of this same purchase.
  const funds = orphans[0].length > 0 ? 'uncertain' : 'untouched';
  await (await recovery(funds)).takeUp(context);
}

/** Attempts in a state that no call is at, in this process or another. */
export async function orphanedAttempts(
  context: PaymentContext,
  state: 'signed' | 'reserved' | 'abandoned',
): Promise<Attempt[]> {
  const ids = (await listed(context, state)).map(({ id }) => id);
  if (ids.length === 0) return [];
  const live = await context.claims.live(ids.flatMap((id) => [id, bodyClaim(id)]));
  // While its answer is read, an attempt is its reader's: two that write of it would undo each
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
