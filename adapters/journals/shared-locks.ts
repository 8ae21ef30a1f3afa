import { untilAborted } from '../../src/internal/abort.js';
import { createLocks, type Locks } from '../../src/journal/locks.js';
import type { Owner } from '../../src/journal/types.js';

/** Takes and frees locks that hold between processes, by {@link lockName}. */
interface LockSteps {
  /** Resolves once this process has the lock. Rejects when one of the signals fires. */
  take(name: string, signals: readonly (AbortSignal | undefined)[]): Promise<void>;
  /** Never rejects. */
  free(names: readonly string[]): Promise<void>;
}

/** @param closing - Ends all waiting calls, with its reason. */
export function sharedLocks(closing: AbortSignal, { take, free }: LockSteps) {
  // The calls of this process queue here, so that only one of them asks for a lock.
  const queue = createLocks();
  // A take waits for all frees before it: a free whose answer is lost is done once more, and that
  // would free the lock of the next holder. The holder itself does not wait, because the journal may
  // never answer.
  let freeing = Promise.resolve();
  const note = (last: Promise<void>): void => {
    const before = freeing;
    freeing = last.then(() => before);
  };
  return (owner: Owner): Locks => ({
    hold(names, work, callSignals = []) {
      const signals = [...callSignals, closing];
      const lockNames = names.map((name) => lockName(owner, name));
      const locked = async () => {
        const taken: string[] = [];
        try {
          // Every process takes locks in the order of the names, so none waits in a circle.
          for (const name of [...new Set(lockNames)].sort()) {
            const taking = freeing.then(() => take(name, signals));
            // The journal may never answer, for example if a stopped tab keeps the database.
            await signals.reduce<Promise<void>>(untilAborted, taking).catch((reason: unknown) => {
              note(taking.then(() => free([name])).catch(() => undefined));
              throw reason;
            });
            taken.push(name);
          }
          return await work();
        } finally {
          if (taken.length > 0) note(free(taken));
        }
      };
      return queue.hold(lockNames, locked, signals);
    },
  });
}

/** Returns the name of an owner's lock, unique among all owners. */
export function lockName({ wallet, network }: Owner, name: string): string {
  return JSON.stringify([wallet, network, name]);
}
