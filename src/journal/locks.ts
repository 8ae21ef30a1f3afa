import { TransportError } from '../errors.js';
import { startDeadline, untilAborted } from '../internal/abort.js';

/** Named locks, first come first served. */
export interface Locks {
  /**
   * Runs `work` while it holds all `names`. Every call takes names in the same order, so that no
   * two holders wait for each other.
   * When one of `signals` fires, a waiting call leaves the queue and rejects with the signal's
   * reason. Work that has begun is not stopped.
   */
  hold<T>(
    names: readonly string[],
    work: () => Promise<T>,
    signals?: readonly (AbortSignal | undefined)[],
  ): Promise<T>;
}

export function createLocks(): Locks {
  const tails = new Map<string, Promise<void>>();
  const take = async (
    name: string,
    signals: readonly (AbortSignal | undefined)[],
  ): Promise<() => void> => {
    const before = tails.get(name);
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const tail = (before ?? Promise.resolve()).then(() => held);
    tails.set(name, tail);
    const free = () => {
      release();
      if (tails.get(name) === tail) tails.delete(name);
    };
    // Listen to the signals only if the lock is not free, which is rare.
    const turn =
      before === undefined && !signals.some((signal) => signal?.aborted === true)
        ? undefined
        : signals.reduce<Promise<void>>(untilAborted, before ?? Promise.resolve());
    // The next call still waits for the call before: only this call leaves the queue.
    await turn?.catch((reason: unknown) => {
      release();
      void tail.then(free);
      throw reason;
    });
    return free;
  };
  return {
    async hold(names, work, signals = []) {
      const releases: (() => void)[] = [];
      try {
        for (const name of [...new Set(names)].sort()) releases.push(await take(name, signals));
        return await work();
      } finally {
        for (const release of releases.reverse()) release();
      }
    },
  };
}

// Time for a person to sign, for a swap to land late, and for the calls ahead in the queue.
const LOCK_WAIT_MS = 15 * 60_000;

/**
 * Wraps locks that other processes may hold: a call waits no longer than work under a lock can
 * take.
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
        throw deadline.passed ? waitTimeout('lock', LOCK_WAIT_MS) : error;
      } finally {
        deadline.end();
      }
    },
  };
}

export function waitTimeout(step: string, timeoutMs: number): TransportError {
  return new TransportError(
    'timeout',
    `No answer within ${timeoutMs} ms, so nothing more was signed. Try again.`,
    { details: { step, timeoutMs } },
  );
}
