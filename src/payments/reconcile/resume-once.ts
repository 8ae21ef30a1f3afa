import type { PaymentContext } from '../context.js';
import { orphanedAttempts } from './find-orphans.js';
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
