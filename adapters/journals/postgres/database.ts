import { startDeadline, untilAborted } from '../../../src/internal/abort.js';
import { createLocks } from '../../../src/journal/locks.js';
import { failure } from './failure.js';
import type { Gate } from './gate.js';
import { ignored, type OpenPool, type PostgresClient } from './pool.js';

/**
 * A row without what is null in it. Statements return text, as types may be parsed in ways of the
 * caller's own.
 */
export type Row = Readonly<Partial<Record<string, string>>>;

export type Query = (text: string, values?: unknown[]) => Promise<Row[]>;

/**
 * Statements with a deadline: each call resolves or rejects within `timeoutMs`, and a connection
 * that failed is not used again.
 */
export interface Database {
  readonly timeoutMs: number;
  /** One statement. Rejects with `journal_unavailable`. */
  query(step: string, text: string, values?: unknown[]): Promise<Row[]>;
  /**
   * Statements that happen together or not at all, each seeing what others committed before it.
   * Those of one key take turns, so that no more than one connection of the process waits for a
   * lock that they all need.
   */
  transaction<T>(step: string, key: string, work: (query: Query) => Promise<T>): Promise<T>;
  /** Statements on one connection, each by itself. */
  connection<T>(step: string, work: (query: Query) => Promise<T>): Promise<T>;
  /** One call that may take several steps: whatever lets it begin lets it end. */
  call<T>(step: string, work: (database: Database) => Promise<T>): Promise<T>;
  /** A connection to keep. To be given back. */
  checkOut(signal: AbortSignal): Promise<PostgresClient>;
  close(): Promise<void>;
}

/** @param open - Called when the first connection is needed. */
export function createDatabase(open: () => Promise<OpenPool>, timeoutMs: number): Database {
  let opening: Promise<OpenPool> | undefined;
  const poolOf = () => {
    opening ??= open().catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    return opening;
  };

  const checkOut = async (signal: AbortSignal): Promise<PostgresClient> => {
    const connecting = poolOf().then(({ pool }) => pool.connect());
    try {
      return await untilAborted(connecting, signal);
    } catch (error) {
      connecting.then((late) => late.release(), ignored);
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
    const perform = async (): Promise<T> => {
      const client = await checkOut(deadline.signal);
      client.on('error', ignored);
      let whole = false;
      try {
        const result = await untilAborted(work(queryOn(client)), deadline.signal);
        whole = true;
        return result;
      } finally {
        client.removeListener('error', ignored);
        client.release(!whole);
      }
    };
    try {
      return await (key === undefined ? perform() : queue.hold([key], perform, [deadline.signal]));
    } catch (error) {
      throw failure(step, error);
    } finally {
      deadline.end();
    }
  };

  // Read committed, whatever the database's default is: a session that waits for a lock must see
  // what its holder wrote. A holder whose machine is gone must not block the others until TCP
  // notices.
  const begin = `begin isolation level read committed; set local lock_timeout = ${timeoutMs}; set local idle_in_transaction_session_timeout = ${timeoutMs}`;

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
    close: async () => (await opening?.catch(ignored))?.close(),
  };
  return database;
}

export function queryOn(client: PostgresClient): Query {
  return async (text, values) => {
    const result = await client.query(text, values);
    return hasRows(result) ? result.rows.map(withoutNulls) : [];
  };
}

/**
 * Several statements at once give several results, which are of no use. Every statement of ours
 * that gives rows selects text alone.
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

/** The same, if each call passes a gate and waits for what must be there first. */
export function guarded(database: Database, gate: Gate, ready: () => Promise<void>): Database {
  const pass = <T>(step: string, work: () => Promise<T>): Promise<T> =>
    gate.pass(step, async () => {
      await ready();
      return work();
    });
  return {
    ...database,
    query: (step, text, values) => pass(step, () => database.query(step, text, values)),
    transaction: (step, key, work) => pass(step, () => database.transaction(step, key, work)),
    connection: (step, work) => pass(step, () => database.connection(step, work)),
    call: (step, work) => pass(step, () => work(database)),
    async checkOut(signal) {
      await ready();
      return database.checkOut(signal);
    },
  };
}
