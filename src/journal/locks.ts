import { TransportError } from '../errors.js';
import { startDeadline, untilAborted } from '../internal/abort.js';

/** Named locks, first come first served. */
export interface Locks {
  /**
   * Runs `work` while holding all `names`. They are taken in one order everywhere, so that no two
   * holders wait for each other.
   * A call that waits for one leaves the queue when one of `signals` fires, with its reason; work
   * that has begun is not stopped.
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
    // Mostly it is free, and nothing has to be listened to.
    const turn =
      before === undefined && !signals.some((signal) => signal?.aborted === true)
        ? undefined
        : signals.reduce<Promise<void>>(untilAborted, before ?? Promise.resolve());
    // The next still waits for the one before: only this place falls out of the queue.
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

// A signer that is a person, a swap that lands late, and others before us.
const LOCK_WAIT_MS = 15 * 60_000;

/**
 * Locks that other processes may hold: they are waited for no longer than any work under them can
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
