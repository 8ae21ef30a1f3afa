import { TransportError } from '../errors.js';
import { startDeadline } from '../internal/deadline.js';
import type { Locks } from '../journal/locks.js';

// A signer that is a person, a swap that lands late, and others before us.
const LOCK_WAIT_MS = 15 * 60_000;

/**
 * Locks whose holders may be in other processes, and are waited for no longer than any work under
 * them can take.
 */
export function locksWithTimeout(locks: Locks): Locks {
  return {
    async hold(names, work, signals = []) {
      const deadline = startDeadline(LOCK_WAIT_MS, undefined);
      try {
        return await locks.hold(names, () => {
          deadline.end();
          return work();
        }, [...signals, deadline.signal]);
      } catch (error) {
        throw deadline.passed ? late('lock', LOCK_WAIT_MS) : error;
      } finally {
        deadline.end();
      }
    },
  };
}

/** What was waited for in vain. */
export function late(step: string, timeoutMs: number): TransportError {
  return new TransportError(
    'timeout',
    `No answer within ${timeoutMs} ms, so nothing more was signed. Try again.`,
    {
      details: { step, timeoutMs },
    },
  );
}
