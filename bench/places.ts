import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { memoryJournal, type Journal } from 'exact-change';
import type { PoolClient } from 'pg';
import { sleep } from './measure.js';

/** The place of a client's journal. */
export type Place = 'memory' | { readonly file: string } | { readonly postgres: string };

/** Counts of syncs and statements of the journals. Each statement waits `waitMs` first. */
export const asked = { syncs: 0, statements: 0, waitMs: 0, waitedMs: 0 };

export async function openJournal(place: Place): Promise<Journal> {
  if (place === 'memory') return memoryJournal();
  if ('file' in place) {
    countSyncs();
    const { fileJournal } = await import('exact-change/journal/file');
    return fileJournal(place.file);
  }
  const { postgresJournal } = await import('exact-change/journal/postgres');
  return postgresJournal({ pool: await countingPool(place.postgres) });
}

/** Counts syncs. Call it before the file journal is loaded, which imports these functions. */
function countSyncs(): void {
  for (const name of ['fsync', 'fdatasync'] as const) {
    const sync = fs[name];
    const counted = (file: number, callback: fs.NoParamCallback) => {
      asked.syncs += 1;
      sync(file, callback);
    };
    Object.assign(fs, { [name]: counted });
  }
  syncBuiltinESMExports();
}

async function countingPool(connectionString: string) {
  const { default: pg } = await import('pg');
  const pool = new pg.Pool({ connectionString, max: 20 });
  return replacing(pool, 'connect', async () => counting(await pool.connect()));
}

/** Counts statements. Each waits for the earlier statements of its connection (no pipelining). */
function counting(client: PoolClient): PoolClient {
  let last: Promise<unknown> = Promise.resolve();
  return replacing(client, 'query', (...args) => {
    asked.statements += 1;
    const done = last.then(async () => {
      const from = performance.now();
      if (asked.waitMs > 0) await sleep(asked.waitMs);
      asked.waitedMs += performance.now() - from;
      return Reflect.apply(client.query, client, args) as unknown;
    });
    last = done.catch(() => undefined);
    return done;
  });
}

/** Returns the object with a replaced method. */
function replacing<T extends object>(
  object: T,
  name: keyof T,
  method: (...args: unknown[]) => unknown,
): T {
  return new Proxy(object, {
    get(target, key) {
      if (key === name) return method;
      const value: unknown = Reflect.get(target, key);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}
