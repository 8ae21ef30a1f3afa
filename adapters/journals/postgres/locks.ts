import { onAbort, untilAborted } from '../../../src/internal/abort.js';
import { createLocks, type Locks } from '../../../src/journal/locks.js';
import type { Query } from './database.js';
import { closed } from './failure.js';
import type { Session } from './session.js';
import { statementsOf } from './statements.js';
import type { Tables } from './tables.js';

/**
 * A process that frees a lock says so. Neither a holder whose process died does, nor a reservation
 * that only looked at the lock: how long to wait for them, at first and at most.
 */
const POLL_MS = { first: 25, most: 1_000 };

/** Locks that hold between processes, under keys of advisory locks. */
export interface SharedLocks {
  hold: Locks['hold'];
  /** A process freed a lock. */
  freed(key: string): void;
  /** The connection was lost, and all that it had locked. */
  lost(): void;
  /** Whether anything is locked. */
  readonly any: boolean;
  /**
   * Locks again, on a new connection, what is still being worked under; as far as no other process
   * has it by now.
   */
  restore(query: Query): Promise<void>;
  /** No call gets a lock any more, nor waits for one. Work that has begun is not stopped. */
  close(): void;
}

/** @param keyOf - The key of a name; equal names in any process have equal keys. */
export function sharedLocks(
  session: Session,
  channel: string,
  tables: Tables,
  keyOf: (name: string) => string,
): SharedLocks {
  const text = statementsOf(tables);
  // Within the process all calls wait for one lock in one place, and the session asks for it once.
  const queue = createLocks();
  const closing = new AbortController();
  const held = new Map<string, number>();
  const waiting = new Map<string, Set<() => void>>();

  const count = (key: string, by: 1 | -1) => {
    const left = (held.get(key) ?? 0) + by;
    if (left === 0) held.delete(key);
    else held.set(key, left);
  };
  const tryLock = (key: string) =>
    session.run('lock', async (query) => {
      const [row] = await query(text.lock, [key]);
      const locked = row?.['locked'] === 'true';
      if (locked) count(key, 1);
      return locked;
    });
  const unlock = async (keys: readonly string[]): Promise<void> => {
    for (const key of keys) count(key, -1);
    // Where this fails the connection goes, and the locks with it.
    await session
      .run('unlock', (query) => query(text.unlock, [keys, channel]))
      .catch(() => undefined);
  };

  const take = async (
    key: string,
    signals: readonly (AbortSignal | undefined)[],
  ): Promise<void> => {
    for (let wait = POLL_MS.first; ; wait = Math.min(2 * wait, POLL_MS.most)) {
      // Listened for from before the question, so that no answer is missed.
      const notice = noticeOf(waiting, key, wait, signals);
      try {
        const asking = tryLock(key);
        const locked = await signals
          .reduce<Promise<boolean>>(untilAborted, asking)
          .catch((reason: unknown) => {
            void asking.then((late) => (late ? unlock([key]) : undefined)).catch(() => undefined);
            throw reason;
          });
        if (locked) return;
        await notice.promise;
      } finally {
        notice.forget();
      }
    }
  };

  return {
    hold(names, work, given = []) {
      const signals = [...given, closing.signal];
      return queue.hold(
        names,
        async () => {
          const taken: string[] = [];
          try {
            // In the order of the names, as in every other process.
            for (const name of [...new Set(names)].sort()) {
              const key = keyOf(name);
              await take(key, signals);
              taken.push(key);
            }
            return await work();
          } finally {
            if (taken.length > 0) await unlock(taken);
          }
        },
        signals,
      );
    },
    freed(key) {
      for (const wake of waiting.get(key) ?? []) wake();
    },
    lost() {
      for (const all of waiting.values()) for (const wake of all) wake();
    },
    get any() {
      return held.size > 0 || waiting.size > 0;
    },
    close: () => closing.abort(closed('lock')),
    async restore(query) {
      for (const [key, times] of held) {
        for (let time = 0; time < times; time += 1) await query(text.lock, [key]);
      }
    },
  };
}

/** Resolves when the key is said to be free, or after a while; rejects when a signal fires. */
function noticeOf(
  waiting: Map<string, Set<() => void>>,
  key: string,
  waitMs: number,
  signals: readonly (AbortSignal | undefined)[],
) {
  let wake = (): void => undefined;
  let refuse = (_reason: unknown): void => undefined;
  const promise = new Promise<void>((resolve, reject) => {
    wake = resolve;
    refuse = reject;
  });
  // No call may be waiting for it any more.
  promise.catch(() => undefined);
  const all = waiting.get(key) ?? new Set();
  waiting.set(key, all.add(wake));
  const timer = setTimeout(wake, waitMs);
  const ends = signals.flatMap((signal) =>
    signal === undefined ? [] : [onAbort(signal, () => refuse(signal.reason))],
  );
  return {
    promise,
    forget() {
      clearTimeout(timer);
      for (const end of ends) end();
      all.delete(wake);
      if (all.size === 0 && waiting.get(key) === all) waiting.delete(key);
    },
  };
}
