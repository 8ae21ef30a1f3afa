import { isExactChangeError } from '../../../src/errors.js';
import type { Database, Row } from './database.js';
import { reserveCall } from './reserve.js';
import type { Tables } from './schema.js';
import { pastDeadlock } from './deadlock.js';

// How many reservations one statement makes at most.
const MOST = 32;

/** Makes a reservation, and tells what the database's function said. `key` is the owner's. */
export type Reserve = (key: string, values: readonly unknown[]) => Promise<Row | undefined>;

interface Waiting {
  readonly values: readonly unknown[];
  resolve(row: Row | undefined): void;
  reject(error: unknown): void;
}

/** Reservations of one owner take turns in the database. Those that come while one is under way go together, one after the other in one statement. */
export function batched(database: Database, tables: Tables): Reserve {
  // A list is here as long as somebody works on it.
  const queues = new Map<string, Waiting[]>();

  const together = async (batch: readonly Waiting[]): Promise<void> => {
    try {
      const values = batch.flatMap((one) => one.values);
      const rows = await pastDeadlock(() => database.query('reserve', reserveCall(tables, batch.length), values));
      batch.forEach((one, index) => one.resolve(rows[index]));
    } catch (error) {
      if (!isOwnFault(error)) throw error;
      if (batch.length === 1) batch[0]?.reject(error);
      // Nothing was written: who is at fault fails alone.
      else for (const one of batch) await together([one]);
    }
  };

  const serve = async (key: string, queue: Waiting[]): Promise<void> => {
    while (queue.length > 0) {
      const batch = queue.splice(0, MOST);
      try {
        await together(batch);
      } catch (error) {
        // The database fails or is silent: it does so for those who wait, too. Whoever has an answer keeps it.
        for (const one of [...batch, ...queue.splice(0)]) one.reject(error);
      }
    }
    queues.delete(key);
  };

  return (key, values) =>
    new Promise((resolve, reject) => {
      const one = { values, resolve, reject };
      const queue = queues.get(key);
      if (queue !== undefined) return void queue.push(one);
      const started = [one];
      queues.set(key, started);
      void serve(key, started);
    });
}

/** Whether the database refused what one attempt brought: bad data, an id that is there, or too much of it (SQLSTATE classes 22, 23 and 54). */
function isOwnFault(error: unknown): boolean {
  if (!isExactChangeError(error, 'journal_unavailable')) return false;
  const { cause } = error;
  return cause instanceof Error && 'code' in cause && typeof cause.code === 'string' && /^(22|23|54)[0-9A-Z]{3}$/.test(cause.code);
}
