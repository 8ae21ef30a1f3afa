import { onAbort, throwIfAborted } from '../../../src/internal/abort.js';
import type { Locks } from '../../../src/journal/locks.js';
import type { Owner } from '../../../src/journal/types.js';
import { sharedLocks } from '../shared-locks.js';
import type { Query } from './database.js';
import { closed, pooled } from './failure.js';
import type { Session } from './session.js';
import { statementsOf } from './statements.js';
import type { Tables } from './tables.js';

/**
 * Milliseconds between tries to take a lock, at first and at most. A notice alone is not enough: a
 * process that died sends none, nor does a reservation that only tested the lock.
 */
const POLL_MS = { first: 25, most: 1_000 };

/** Locks that hold between processes, under keys of advisory locks. */
export interface AdvisoryLocks {
  of(owner: Owner): Locks;
  /** Wakes the calls that wait for a lock, because a process freed it. */
  freed(key: string): void;
  /** Wakes all waiting calls, because the connection was lost with all its locks. */
  lost(): void;
  /** Whether a call holds a lock or waits for it. */
  readonly any: boolean;
  /**
   * Takes the locks of running work again, on a new connection, unless another process has taken
   * them by now.
   */
  restore(query: Query, pid: string): Promise<void>;
  /** Refuses all new and waiting calls. Does not stop running work. */
  close(): void;
}

/** @param keyOf - The key of a name; equal names in any process have equal keys. */
export function advisoryLocks(
  session: Pick<Session, 'run' | 'option'>,
  channel: string,
  tables: Tables,
  keyOf: (name: string) => string,
): AdvisoryLocks {
  const text = statementsOf(tables);
  const closing = new AbortController();
  const held = new Map<string, number>();
  const waiting = new Map<string, Set<() => void>>();

  const count = (key: string, by: 1 | -1) => {
    const left = (held.get(key) ?? 0) + by;
    if (left === 0) held.delete(key);
    else held.set(key, left);
  };
  const tryLock = (key: string) =>
    session.run('lock', async (query, _, pid) => {
      const [row] = await query(text.lock, [key, pid]);
      if (row?.['locked'] === undefined) throw pooled(session.option);
      const locked = row['locked'] === 'true';
      if (locked) count(key, 1);
      return locked;
    });
  const unlock = async (keys: readonly string[]): Promise<void> => {
    for (const key of keys) count(key, -1);
    // If this fails, the session ends the connection, and Postgres frees its locks.
    await session
      .run('unlock', (query) => query(text.unlock, [keys, channel]))
      .catch(() => undefined);
  };

  const take = async (
    key: string,
    signals: readonly (AbortSignal | undefined)[],
  ): Promise<void> => {
    for (let wait = POLL_MS.first; ; wait = Math.min(2 * wait, POLL_MS.most)) {
      // A signal that has fired fires no more, and the call would poll as long as the lock is held.
      signals.forEach(throwIfAborted);
      // Listen before trying the lock, so that no notice is missed.
      const notice = noticeOf(waiting, key, wait, signals);
      try {
        if (await tryLock(key)) return;
        await notice.promise;
      } finally {
        notice.forget();
      }
    }
  };

  return {
    of: sharedLocks(closing.signal, {
      take: (name, signals) => take(keyOf(name), signals),
      free: (names) => unlock(names.map(keyOf)),
    }),
    freed(key) {
      for (const wake of waiting.get(key) ?? []) wake();
    },
    lost() {
      for (const wakes of waiting.values()) for (const wake of wakes) wake();
    },
    get any() {
      return held.size > 0 || waiting.size > 0;
    },
    close: () => closing.abort(closed('lock')),
    async restore(query, pid) {
      for (const [key, times] of held) {
        for (let time = 0; time < times; time += 1) await query(text.lock, [key, pid]);
      }
    },
  };
}

/** Resolves on a notice that the key is free, or after `waitMs`; rejects when a signal fires. */
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
  // Prevents an unhandled rejection if the caller no longer awaits the promise.
  promise.catch(() => undefined);
  const wakes = waiting.get(key) ?? new Set();
  waiting.set(key, wakes.add(wake));
  const timer = setTimeout(wake, waitMs);
  const ends = signals.flatMap((signal) =>
    signal === undefined ? [] : [onAbort(signal, () => refuse(signal.reason))],
  );
  return {
    promise,
    forget() {
      clearTimeout(timer);
      for (const end of ends) end();
      wakes.delete(wake);
      if (wakes.size === 0 && waiting.get(key) === wakes) waiting.delete(key);
    },
  };
}
