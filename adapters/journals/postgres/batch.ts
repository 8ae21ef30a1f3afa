import { onAbort, startDeadline } from '../../../src/internal/abort.js';
import type { Database, Row } from './database.js';
import { failure, sqlStateOf } from './failure.js';
import { reserveCall } from './stored-functions.js';
import type { Tables } from './tables.js';

/** The most calls in one statement. */
const MOST = 32;

/**
 * Does a batch of calls in one statement: all of them or none. Resolves to a row for each call, in
 * order; undefined if the call has no result.
 */
export type Together<T> = (
  database: Database,
  batch: readonly T[],
) => Promise<readonly (Row | undefined)[]>;

interface Waiting<T> {
  readonly value: T;
  resolve(row: Row | undefined): void;
  reject(error: unknown): void;
}

/**
 * Returns a function that makes a reservation and resolves to the row of the stored function. `key`
 * is the owner's lock key: reservations of an owner run one by one in the database.
 */
export function batchedReserve(
  database: Database,
  tables: Tables,
): (key: string, values: readonly unknown[]) => Promise<Row | undefined> {
  return batched(database, 'reserve', (inner, batch) =>
    inner.query('reserve', reserveCall(tables, batch.length), batch.flat()),
  );
}

/** Batches calls: calls that come while a call with the same key runs share one statement. */
export function batched<T>(
  database: Database,
  step: string,
  perform: Together<T>,
): (key: string, value: T) => Promise<Row | undefined> {
  // A key has a queue here as long as `serve` works on the queue.
  const queues = new Map<string, Waiting<T>[]>();

  const together = async (inner: Database, batch: readonly Waiting<T>[]): Promise<void> => {
    try {
      const values = batch.map(({ value }) => value);
      const rows = await perform(inner, values);
      batch.forEach((call, index) => call.resolve(rows[index]));
    } catch (error) {
      if (!isOwnFault(error)) throw error;
      if (batch.length === 1) batch[0]?.reject(error);
      // Nothing was written, so run the calls one by one: only the call at fault fails.
      else for (const call of batch) await together(inner, [call]);
    }
  };

  const serve = async (inner: Database, key: string, queue: Waiting<T>[]): Promise<void> => {
    while (queue.length > 0) {
      const batch = queue.splice(0, MOST);
      try {
        await together(inner, batch);
      } catch (error) {
        // The database fails or is silent, so all waiting calls fail too. Calls that already have
        // an answer keep it.
        for (const call of [...batch, ...queue.splice(0)]) call.reject(error);
      }
    }
    queues.delete(key);
  };

  return (key, value) =>
    database.call(step, async (inner) => {
      // The statement has a deadline of its own. A call that got into none by then fails.
      const deadline = startDeadline(inner.timeoutMs, undefined);
      try {
        return await new Promise<Row | undefined>((resolve, reject) => {
          const call = { value, resolve, reject };
          const queue = queues.get(key) ?? [];
          onAbort(deadline.signal, () => {
            const place = queue.indexOf(call);
            if (place < 0) return;
            queue.splice(place, 1);
            reject(failure(step, deadline.signal.reason));
          });
          queue.push(call);
          if (queues.has(key)) return;
          queues.set(key, queue);
          void serve(inner, key, queue);
        });
      } finally {
        deadline.end();
      }
    });
}

/**
 * Whether the database refused the data of a single call: bad data, an id that exists, or too much
 * data (SQLSTATE classes 22, 23 and 54).
 */
function isOwnFault(error: unknown): boolean {
  return /^(22|23|54)[0-9A-Z]{3}$/.test(sqlStateOf(error) ?? '');
}
