import { isExactChangeError } from '../../../src/errors.js';
import type { Database, Row } from './database.js';
import { pastDeadlock } from './deadlock.js';
import { reserveCall } from './stored-functions.js';
import type { Tables } from './tables.js';

// How many calls one statement does at most.
const MOST = 32;

/**
 * Calls that one statement does together, each of them or none; gives a row for each, in order,
 * if there is something to tell.
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
 * Makes a reservation, and tells what the database's function said. `key` is the owner's: those of
 * one owner take turns in the database.
 */
export function batchedReserve(
  database: Database,
  tables: Tables,
): (key: string, values: readonly unknown[]) => Promise<Row | undefined> {
  return batched(database, 'reserve', (inner, batch) =>
    inner.query('reserve', reserveCall(tables, batch.length), batch.flat()),
  );
}

/** Calls of one key that come while one is under way go together, in one statement. */
export function batched<T>(
  database: Database,
  step: string,
  perform: Together<T>,
): (key: string, value: T) => Promise<Row | undefined> {
  // A list is here as long as it is worked on.
  const queues = new Map<string, Waiting<T>[]>();

  const together = async (inner: Database, batch: readonly Waiting<T>[]): Promise<void> => {
    try {
      const values = batch.map(({ value }) => value);
      const rows = await pastDeadlock(() => perform(inner, values));
      batch.forEach((one, index) => one.resolve(rows[index]));
    } catch (error) {
      if (!isOwnFault(error)) throw error;
      if (batch.length === 1) batch[0]?.reject(error);
      // Nothing was written: the one at fault fails alone.
      else for (const one of batch) await together(inner, [one]);
    }
  };

  const serve = async (inner: Database, key: string, queue: Waiting<T>[]): Promise<void> => {
    while (queue.length > 0) {
      const batch = queue.splice(0, MOST);
      try {
        await together(inner, batch);
      } catch (error) {
        // The database fails or is silent: it does so for those that wait, too. Calls that have an
        // answer keep it.
        for (const one of [...batch, ...queue.splice(0)]) one.reject(error);
      }
    }
    queues.delete(key);
  };

  return (key, value) =>
    database.call(
      step,
      (inner) =>
        new Promise((resolve, reject) => {
          const one = { value, resolve, reject };
          const queue = queues.get(key);
          if (queue !== undefined) return void queue.push(one);
          const started = [one];
          queues.set(key, started);
          void serve(inner, key, started);
        }),
    );
}

/**
 * Whether the database refused what one call brought: bad data, an id that is there, or too much of
 * it (SQLSTATE classes 22, 23 and 54).
 */
function isOwnFault(error: unknown): boolean {
  if (!isExactChangeError(error, 'journal_unavailable')) return false;
  const { cause } = error;
  return (
    cause instanceof Error &&
    'code' in cause &&
    typeof cause.code === 'string' &&
    /^(22|23|54)[0-9A-Z]{3}$/.test(cause.code)
  );
}
