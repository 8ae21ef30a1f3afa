import { startDeadline, untilAborted } from '../../../src/internal/abort.js';
import { systemRuntime } from '../../../src/internal/runtime.js';
import { stopwatch } from '../../../src/internal/stopwatch.js';
import { createLocks } from '../../../src/journal/locks.js';
import { closed, failure, pastDeadlock } from './failure.js';
import { ignored, type PostgresClient, type PostgresPool } from './pool.js';
import { LOCK } from './statements.js';

/**
 * A row without its nulls. Statements return text only, because the caller's pool may parse other
 * types in its own way.
 */
export type Row = Readonly<Partial<Record<string, string>>>;

export type Query = (text: string, values?: unknown[]) => Promise<Row[]>;

/**
 * A value of a statement: the milliseconds that the database may wait for a lock. The wait ends
 * before the call gives up, or the statement would do its work after its caller was refused.
 */
export const LOCK_MS = Symbol('lock timeout');

/** The share of a call's remaining time that a lock may take. The rest is for the way there. */
const LOCK_SHARE = 0.9;

/**
 * Statements with a deadline: each call resolves or rejects within `timeoutMs`, and a connection
 * that failed is not used again. What Postgres rolled back to undo a deadlock is done again.
 */
export interface Database {
  readonly timeoutMs: number;
  /** One statement. Rejects with `journal_unavailable`. */
  query(step: string, text: string, values?: unknown[]): Promise<Row[]>;
  /**
   * Runs statements in one transaction. Each statement sees all rows that were committed before it.
   * Transactions of a key run one by one: only one connection of the process then waits for the
   * lock that they need.
   */
  transaction<T>(step: string, key: string, work: (query: Query) => Promise<T>): Promise<T>;
  /** Runs statements on one connection, without a transaction. */
  connection<T>(step: string, work: (query: Query) => Promise<T>): Promise<T>;
  /** Runs a call of several steps. Once it has begun, a closing gate does not stop its steps. */
  call<T>(step: string, work: (database: Database) => Promise<T>): Promise<T>;
  /** Returns a connection, which the caller must release. */
  checkOut(signal: AbortSignal): Promise<PostgresClient>;
}

/** @param ready - Called for each connection. The wait for it is within the call's deadline. */
export function createDatabase(ready: () => Promise<PostgresPool>, timeoutMs: number): Database {
  const checkOut = async (signal: AbortSignal): Promise<PostgresClient> => {
    const connecting = ready().then((pool) => pool.connect());
    try {
      return await untilAborted(connecting, signal);
    } catch (error) {
      connecting.then((client) => client.release(), ignored);
      throw error;
    }
  };

  const queue = createLocks();
  const use = async <T>(
    step: string,
    work: (query: Query) => Promise<T>,
    key?: string,
  ): Promise<T> => {
    const deadline = startDeadline(timeoutMs, undefined);
    const elapsed = stopwatch(systemRuntime);
    const lockMs = () => Math.ceil(Math.max(1, timeoutMs - elapsed()) * LOCK_SHARE);
    const performOnce = async (): Promise<T> => {
      const client = await checkOut(deadline.signal);
      client.on('error', ignored);
      let isDone = false;
      try {
        const result = await untilAborted(work(queryOn(client, lockMs)), deadline.signal);
        isDone = true;
        return result;
      } finally {
        client.removeListener('error', ignored);
        client.release(!isDone);
      }
    };
    const perform = () => pastDeadlock(performOnce);
    try {
      return await (key === undefined ? perform() : queue.hold([key], perform, [deadline.signal]));
    } catch (error) {
      throw failure(step, error);
    } finally {
      deadline.end();
    }
  };

  // Read committed, whatever the database's default is: a session that waited for a lock must see
  // the rows that the last holder wrote. What caps count must not depend on the session: see
  // `stored-functions.ts`. The timeouts end a holder that lost its machine before TCP notices.
  const begin = `begin isolation level read committed; set local search_path = pg_catalog, pg_temp;
    set local array_nulls = on; set local lock_timeout = ${timeoutMs};
    set local idle_in_transaction_session_timeout = ${timeoutMs}`;

  const database: Database = {
    timeoutMs,
    query: (step, text, values) => use(step, (query) => query(text, values)),
    transaction: (step, key, work) =>
      use(
        step,
        async (query) => {
          await query(begin);
          const result = await work(query);
          await query('commit');
          return result;
        },
        key,
      ),
    connection: use,
    call: (_, work) => work(database),
    checkOut,
  };
  return database;
}

export function queryOn(client: PostgresClient, lockMs: () => number): Query {
  return async (text, values) => {
    const given = values?.map((value) => (value === LOCK_MS ? String(lockMs()) : value));
    const result = await client.query(text, given);
    return hasRows(result) ? result.rows.map(withoutNulls) : [];
  };
}

/**
 * Whether a result has rows. A text with several statements gives a list of results, which are not
 * used. All statements of this journal that return rows select text only.
 */
function hasRows(
  result: unknown,
): result is { readonly rows: Readonly<Record<string, string | null>>[] } {
  return typeof result === 'object' && result !== null && 'rows' in result;
}

function withoutNulls(row: Readonly<Record<string, string | null>>): Row {
  return Object.fromEntries(
    Object.entries(row).flatMap(([name, text]) => (text === null ? [] : [[name, text]])),
  );
}

/** Returns a function that runs the single statements of a step. */
export function queryOf(database: Pick<Database, 'query'>, step: string): Query {
  return (text, values) => database.query(step, text, values);
}

/** Runs a transaction that waits until it has the advisory lock of its key. */
export function lockedTransaction<T>(
  database: Pick<Database, 'transaction'>,
  step: string,
  key: string,
  work: (query: Query) => Promise<T>,
): Promise<T> {
  return database.transaction(step, key, async (query) => {
    await query(LOCK, [key]);
    return work(query);
  });
}

/**
 * Returns a database, and a function that closes its gate: it refuses new calls, and resolves when
 * all running calls have ended.
 */
export function guarded(database: Database): {
  readonly database: Database;
  closeGate(): Promise<void>;
} {
  const running = new Set<Promise<unknown>>();
  let isOpen = true;
  const pass = async <T>(step: string, work: () => Promise<T>): Promise<T> => {
    if (!isOpen) throw closed(step);
    const call = work();
    running.add(call);
    try {
      return await call;
    } finally {
      running.delete(call);
    }
  };
  return {
    database: {
      ...database,
      query: (step, text, values) => pass(step, () => database.query(step, text, values)),
      transaction: (step, key, work) => pass(step, () => database.transaction(step, key, work)),
      connection: (step, work) => pass(step, () => database.connection(step, work)),
      call: (step, work) => pass(step, () => work(database)),
    },
    async closeGate() {
      isOpen = false;
      await Promise.allSettled(running);
    },
  };
}
