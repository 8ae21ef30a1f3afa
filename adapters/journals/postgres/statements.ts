import { capRows } from './caps.js';
import { putCall, releaseCall, reserveCall } from './stored-functions.js';
import type { Tables } from './tables.js';

/** Takes an advisory lock until the end of the transaction. */
export const LOCK = 'select pg_advisory_xact_lock($1::bigint)::text';

/** Attempts that one statement fetches. */
export const PAGE = 500;

/** The key of an advisory lock (64 bits). Postgres shows it in two halves. */
const KEY = '(classid::bigint << 32) | objid::bigint';
const LOCKS = `from pg_locks where locktype = 'advisory' and objsubid = 1
    and database = (select oid from pg_database where datname = current_database())`;

/** Selects the keys that connections to this database hold. */
const HOLDERS = `select ${KEY} ${LOCKS} and granted`;

/** Returns the statements of the journal. `spec/postgres.json` has them for other languages. */
export function statementsOf(tables: Tables) {
  const { attempts, books, claims, counters } = tables;
  const ofAccount = 'where wallet = $1 and network = $2 and account = $3';
  // The query also returns the balances, because a payment mostly reads them next.
  const similar = (column: string) => `select account, record, book from (
          select seq, null as account, record, null as book from ${attempts} where wallet = $1 and network = $2 and ${column} = $3
          union all select null, account, null, book from ${books} where wallet = $1 and network = $2
        ) found order by seq`;
  const listed = (only: string) => `select seq::text as place, record from ${attempts}
        where wallet = $1 and network = $2 and seq > $3::bigint and ($4::text is null or state = $4) and at >= $5::float8 ${only}
        order by seq limit ${PAGE}`;
  return {
    reserve: reserveCall(tables, 1),
    put: putCall(tables),
    release: releaseCall(tables),
    lockOwner: LOCK,
    standing: `select record from ${attempts} where id = $1 for update`,
    used: `select used::text from (${capRows(tables)}) capped order by n`,
    similarByRequest: similar('request'),
    similarByKey: similar('key'),
    attempts: listed(''),
    // Repeats the condition of the partial index on open attempts, so that Postgres uses the index.
    openAttempts: listed(`and state in ('reserved', 'abandoned', 'signed')`),
    readBook: `select book from ${books} ${ofAccount}`,
    lockBook: `select book from ${books} ${ofAccount} for update`,
    // If another process inserts the row first, this waits, writes nothing, and that row stays.
    makeBook: `insert into ${books} values ($1, $2, $3, $4) on conflict do nothing`,
    writeBook: `update ${books} set book = $4 ${ofAccount}`,
    claim: `insert into ${claims} as c (id, instance, holder) select id, $2, $3::bigint from unnest($1::text[]) as given (id)
       on conflict (id, instance) do update set holder = excluded.holder`,
    unclaim: `delete from ${claims} where id = any ($1::text[]) and instance = $2`,
    unclaimAll: `delete from ${claims} where instance = $1`,
    // An instance knows its own claims, so its rows are left out: if a deletion was lost, the row
    // must not seem alive.
    liveClaims: `select distinct id from ${claims} where id = any ($1::text[]) and instance <> $2 and holder in (${HOLDERS})`,
    // Deletes the claims that this instance released without a connection, and the claims of
    // instances that have ended.
    endClaims: `delete from ${claims} where instance = $1 and id <> all ($2::text[]) or holder not in (${HOLDERS})`,
    next: `insert into ${counters} as c (wallet, network, name, next) values ($1, $2, $3, 1)
     on conflict (wallet, network, name) do update set next = c.next + 1, used_at = now()
     returning next::text as number`,
    forgetCounters: `delete from ${counters} where used_at < now() - interval '1 day'`,
    // Null on another server process than the session's: a lock there would not be its own.
    lock: 'select case pg_backend_pid() when $2::int then pg_try_advisory_lock($1::bigint)::text end as locked',
    unlock: `select pg_advisory_unlock(key)::text, pg_notify($2, key::text)::text from unnest($1::bigint[]) as held (key)`,
    // Ends the connections that hold a key or wait for it.
    endHolder: `select pg_terminate_backend(pid)::text ${LOCKS} and ${KEY} = $1::bigint`,
    pid: 'select pg_backend_pid()::text as pid',
    notify: 'select pg_notify($1, $2)::text, pg_backend_pid()::text as pid',
    hold: 'select pg_advisory_lock($1::bigint)::text',
    hasOutbox: 'select to_regclass($1)::text as name',
    hasTables: `select tablename::text from pg_tables where schemaname = $1 and tablename = 'version'`,
    version: `select max(version)::text as version from ${tables.version}`,
    hasSchema: 'select nspname::text from pg_namespace where nspname = $1',
  };
}
