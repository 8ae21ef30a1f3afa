import type { Claims } from '../../../src/journal/types.js';
import type { Database, Query } from './database.js';
import { digest } from './keys.js';
import type { Line, Session } from './session.js';
import type { Tables } from './tables.js';

/** Claims that live as long as the session of the instance that made them. */
export interface SharedClaims extends Claims {
  readonly any: boolean;
  /** Puts the claims of this instance under a new connection. */
  restore(query: Query, line: Line): Promise<void>;
  /** Takes back all that this instance claims. */
  clear(database: Database): Promise<void>;
}

/**
 * The keys of 64 bits that some connection to this database holds. Postgres shows them in two
 * halves.
 */
const HOLDERS = `
  select (classid::bigint << 32) | objid::bigint from pg_locks
  where locktype = 'advisory' and objsubid = 1 and granted
    and database = (select oid from pg_database where datname = current_database())`;

/** @param instance - Unlike that of any other instance. */
export function sharedClaims(
  session: Session,
  database: Database,
  { claims }: Tables,
  instance: string,
): SharedClaims {
  const mine = new Set<string>();
  const write = (query: Query, ids: readonly string[], { holder }: Line) =>
    query(
      `insert into ${claims} as c (id, instance, holder) select id, $2, $3::bigint from unnest($1::text[]) as given (id)
       on conflict (id, instance) do update set holder = excluded.holder`,
      [ids, instance, holder],
    );
  // Any text can be an id, and only some can be stored.
  const name = (id: string) => digest(id);
  return {
    async take(id) {
      mine.add(name(id));
      try {
        await session.run('claim', (query, line) => write(query, [name(id)], line));
      } catch (error) {
        mine.delete(name(id));
        throw error;
      }
    },
    async drop(id) {
      mine.delete(name(id));
      // Not beside the session, which may just be putting it back.
      const text = `delete from ${claims} where id = $1 and instance = $2`;
      await session.run('unclaim', (query) => query(text, [name(id), instance]));
    },
    async live(ids) {
      const named = new Map(ids.map((id) => [name(id), id]));
      // What this instance claims, it knows itself: a row of its own whose deletion was lost must
      // not seem alive.
      const text = `select distinct id from ${claims} where id = any ($1::text[]) and instance <> $2 and holder in (${HOLDERS})`;
      const rows = await database.query('claims', text, [[...named.keys()], instance]);
      return new Set([
        ...ids.filter((id) => mine.has(name(id))),
        ...rows.flatMap((row) => named.get(row['id'] ?? '') ?? []),
      ]);
    },
    get any() {
      return mine.size > 0;
    },
    async restore(query, line) {
      await write(query, [...mine], line);
      // What instances left that have ended. An instance that lost its connection and has not got
      // another one yet writes its claims again, as above.
      await query(`delete from ${claims} where holder not in (${HOLDERS})`);
    },
    async clear(direct) {
      if (mine.size === 0) return;
      await direct.query('unclaim', `delete from ${claims} where instance = $1`, [instance]);
    },
  };
}
