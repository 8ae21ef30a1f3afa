import type { PaymentContext } from '../context.js';
import { orphanedAttempts } from './find-orphans.js';

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
  const states = ['signed', 'abandoned', 'reserved'] as const;
  const orphans = await Promise.all(states.map((state) => orphanedAttempts(context, state)));
  if (orphans.some(({ length }) => length > 0))
    await (await import('../recovery.js')).takeUp(context);
}
