/**
 * A journal in Postgres, for processes and machines that share a wallet.
 *
 * @module exact-change/journal/postgres
 */
import { randomUUID } from 'node:crypto';
import { loadOnce } from '../../src/internal/load-once.js';
import { refuse, refuseUnknown } from '../../src/internal/options.js';
import { ledgerOver } from '../../src/journal/balance-ledger.js';
import type { Coordination, Journal, Owner } from '../../src/journal/types.js';
import { attemptsIn } from './postgres/attempts.js';
import { balancesIn } from './postgres/balances.js';
import { sharedClaims } from './postgres/claims.js';
import { createDatabase, guarded, queryOf } from './postgres/database.js';
import { digest, lockKey, ownerParts } from './postgres/keys.js';
import { advisoryLocks, type AdvisoryLocks } from './postgres/locks.js';
import { outboxIn } from './postgres/outbox.js';
import { hasOutbox, prepareEndpoints } from './postgres/outbox-endpoints.js';
import { jobSchema, jobsIn, prepareJobs } from './postgres/outbox-queue.js';
import {
  borrowPool,
  ignored,
  openPool,
  sharedPool,
  type OpenPool,
  type PostgresClient,
  type PostgresPool,
} from './postgres/pool.js';
import { prepareTables } from './postgres/schema.js';
import { tablesIn } from './postgres/tables.js';
import { createSession } from './postgres/session.js';
import { statementsOf } from './postgres/statements.js';

export type { PostgresClient, PostgresPool };

/** The database of the journal, and how long a call may wait for it. */
export type PostgresJournalOptions = PostgresPlace & {
  /**
   * Schema of the journal's tables; made if it is missing. At most 63 lower-case letters, digits
   * and underscores. Default `exact_change`.
   */
  readonly schema?: string | undefined;
  /** The longest that a call waits for the database, in milliseconds. Default 10000. */
  readonly timeoutMs?: number | undefined;
  /**
   * Whether the journal keeps events for webhooks. It writes each event in one transaction with the
   * change that the event reports. Default false.
   *
   * Needs the package `pg-boss` 10.4, which needs Node 20. `pg-boss` gets its own schema: the name
   * of this schema with `_jobs`. A process that delivers events keeps one connection, over which
   * the other processes notify it.
   *
   * If false, the journal still writes events once another journal of the schema keeps events.
   * Every process that writes needs `pg-boss` then; without it, calls reject with
   * `missing_dependency`.
   */
  readonly outbox?: boolean | undefined;
};

/**
 * The address of a database, or the caller's own pool of the package `pg`. The pool needs room for
 * at least two connections. A pooler at the address must be in session mode: often port 5432, not
 * 6543.
 */
export type PostgresPlace =
  | { readonly connectionString: string; readonly pool?: undefined }
  | { readonly pool: PostgresPool; readonly connectionString?: undefined };

/** A journal in Postgres. */
export interface PostgresJournal extends Journal {
  coordination(owner: Owner): Coordination;
  /**
   * Waits for the running calls. Releases the claims and locks of this journal, even if work under
   * them still runs. Ends its connections, but leaves the caller's pool open.
   */
  close(): Promise<void>;
}

/**
 * Returns a journal in Postgres, for processes and machines that share a wallet: caps, holds and
 * locks count for all of them. The first call loads the package `pg`, opens a connection, and makes
 * the tables if they are missing. The journal keeps one connection for locks, so a proxy before the
 * database must keep sessions. A pooler in transaction or statement mode is refused.
 *
 * Calls reject with `TransportError` (`journal_unavailable`) if the database fails, or does not
 * answer within `timeoutMs`. They reject with `ConfigError` (`missing_dependency`) if `pg` is not
 * installed, or if an outbox needs `pg-boss` 10 and it is not installed. They reject with
 * `ConfigError` (`invalid_option`) if a pooler does not keep the session.
 *
 * @throws `ConfigError` (`invalid_option`).
 *
 * @example
 * const journal = postgresJournal({ connectionString: 'postgres://db.example.com/payments' });
 * const client = createClient({ walletSecretKey, journal });
 * // and at the end
 * await client.close();
 * await journal.close();
 */
export function postgresJournal(options: PostgresJournalOptions): PostgresJournal {
  refuseUnknown(options, ['connectionString', 'pool', 'schema', 'timeoutMs', 'outbox']);
  const { schema = 'exact_change', timeoutMs = 10_000, outbox: keepsEvents = false } = options;
  const tables = tablesIn(schema);
  const text = statementsOf(tables);
  if (!Number.isInteger(timeoutMs) || timeoutMs < 1 || timeoutMs > MOST_MS) {
    throw refuse('timeoutMs', `must be whole milliseconds from 1 to ${MOST_MS}.`);
  }
  if (typeof keepsEvents !== 'boolean') throw refuse('outbox', 'must be true or false.');
  const { pool, closePool } = sharedPool(opener(options, timeoutMs));
  const direct = createDatabase(pool, timeoutMs);
  const prepare = loadOnce(async () => {
    await prepareTables(direct, tables);
    if (!keepsEvents && !(await hasOutbox(queryOf(direct, 'tables'), tables))) return;
    // Check pg-boss before any write: a process that cannot report a payment must not make it.
    await prepareJobs(direct, jobSchema(schema));
    await prepareEndpoints(direct, tables);
  });
  const { database, closeGate } = guarded(createDatabase(() => prepare().then(pool), timeoutMs));
  const channel = `exact_change_${digest(schema).slice(0, 16)}`;
  const events = outboxIn(database, tables, jobsIn(jobSchema(schema)), {
    tell: (query) => query('select pg_notify($1, $2)::text', [channel, JOBS]),
    listen: () => session.revive(),
  });
  const session = createSession(database, tables, {
    channel,
    option: options.pool === undefined ? 'connectionString' : 'pool',
    async restore(query, holder, pid) {
      await locks.restore(query, pid);
      await claims.restore(query, holder);
      events.heard();
    },
    notified: (payload) => (payload === JOBS ? events.heard() : locks.freed(payload)),
    lost() {
      locks.lost();
      session.revive();
    },
    needed: () => locks.any || claims.any || events.listens,
  });
  const locks: AdvisoryLocks = advisoryLocks(session, channel, tables, (name) =>
    lockKey(schema, 'lock', name),
  );
  const claims = sharedClaims(session, database, tables, randomUUID());
  const balances = balancesIn(database, tables);
  let closing: Promise<void> | undefined;

  return {
    ...attemptsIn(database, tables, {
      telling: { adding: events.adding, always: keepsEvents },
      claims,
      balances,
    }),
    ...(keepsEvents && { outbox: events.outbox }),
    coordination: (owner) => ({
      ledger: ledgerOver(balances.of(owner)),
      locks: locks.of(owner),
      claims: { take: claims.take, drop: claims.drop, live: claims.live },
      async next(name) {
        const [row] = await database.query('next', text.next, [...ownerParts(owner), name]);
        const number = Number(row?.['number']);
        // Delete counters that were unused for a day: names are blockhashes, valid for minutes.
        if (number === 1) await database.query('next', text.forgetCounters);
        return number;
      },
    }),
    close() {
      closing ??= (async () => {
        locks.close();
        await closeGate();
        await claims.clear(direct).catch(ignored);
        await session.close();
        await closePool();
      })();
      return closing;
    },
  };
}

/** The payload that notifies of new jobs. Other payloads on the channel are keys of free locks. */
const JOBS = 'jobs';

/** The longest time that `setTimeout` and Postgres both take. Milliseconds. */
const MOST_MS = 2 ** 31 - 1;

/**
 * Returns a function that opens the pool. Errors do not quote the address, because it holds a
 * password.
 */
function opener(
  { connectionString, pool }: PostgresPlace,
  timeoutMs: number,
): () => Promise<OpenPool> {
  if ((connectionString === undefined) === (pool === undefined))
    throw refuse('connectionString', 'or pool must be given, and not both.');
  if (pool !== undefined) return () => Promise.resolve(borrowPool(pool));
  if (
    typeof connectionString !== 'string' ||
    !/^(postgres(ql)?:\/\/|socket:|\/)./.test(connectionString)
  ) {
    throw refuse(
      'connectionString',
      'must be the address of a Postgres database such as "postgres://user@localhost/payments".',
    );
  }
  return () => openPool(connectionString, timeoutMs);
}
