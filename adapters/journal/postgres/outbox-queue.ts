import { randomUUID } from 'node:crypto';
import type PgBoss from 'pg-boss';
import type { NextJob, OutboxJob } from '../../../src/journal/outbox.js';
import type { Database, Query } from './database.js';
import { digest, lockKey } from './keys.js';
import { loadPeer } from './peer.js';

/** Jobs in Postgres, kept by pg-boss. Each call is part of the transaction that its `query` is of. Times are milliseconds since the epoch. */
export interface JobQueue {
  add(query: Query, jobs: readonly NextJob[]): Promise<void>;
  /** Those that are due at a time, or by the database's own clock. */
  take(query: Query, options: { readonly limit: number; readonly leaseMs: number; readonly now: number }): Promise<OutboxJob[]>;
  /** Lets those be taken again whose lease is over. Returns when the next lease ends. */
  free(query: Query, now: number): Promise<number | undefined>;
  /** How many of them were there. */
  end(query: Query, ids: readonly string[]): Promise<number>;
}

const QUEUE = 'webhooks';

/** A job waits for as long as it takes, however often a process dies over it: pg-boss drops none of its own accord. */
const KEPT = {
  retryLimit: 2 ** 31 - 1,
  // Sixty years. Some more, in seconds, are no `integer` of Postgres.
  retentionMinutes: 60 * 365 * 24 * 60,
};

/** The schema that pg-boss has to itself: it takes names of at most 50 letters, and writes them without quotes. */
export function jobSchema(schema: string): string {
  const name = `${schema}_jobs`;
  return name.length <= 50 ? name : `${schema.slice(0, 28)}_${digest(schema).slice(0, 16)}_jobs`;
}

/** Makes pg-boss' tables where they are missing, and the queue. Rejects with `ConfigError` (`missing_dependency`) where pg-boss is not installed. */
export async function prepareJobs(database: Database, schema: string): Promise<void> {
  const key = lockKey(schema, 'tables');
  await database.connection('tables', async (query) => {
    const boss = await bossOf(schema, executeOn(query));
    // pg-boss has a lock of its own, and yet fails where several begin at once: its statements come in one message, which sees names as they were.
    await query('select pg_advisory_lock($1::bigint)::text', [key]);
    await boss.start();
    // Looked at first: a user who may write the tables may have no right to more.
    if ((await boss.getQueue(QUEUE)) === null) await boss.createQueue(QUEUE, { name: QUEUE, ...KEPT });
    await query('select pg_advisory_unlock($1::bigint)::text', [key]);
  });
}

/**
 * Jobs in tables that exist. pg-boss asks the database's clock, and fixes leases when a job is written; who delivers has a clock of their own,
 * and says when they take it. What lies between is set in the columns that pg-boss reads.
 */
export function jobsIn(schema: string): JobQueue {
  let loading: Promise<PgBoss> | undefined;
  const boss = () => (loading ??= bossOf(schema, () => Promise.reject(new Error('Every statement belongs to a transaction.'))));
  const jobs = `"${schema}".job`;
  const past = `now() - interval '1 millisecond'`;
  // Rows that somebody else is at are theirs.
  const ready = `update ${jobs} set start_after = ${past} where name = $1 and id in (
    select id from ${jobs} where name = $1 and state < 'active' and start_after between now() and $2 for update skip locked)`;
  const free = `with freed as (
      update ${jobs} set state = 'retry', start_after = ${past} where name = $1 and id in (
        select id from ${jobs} where name = $1 and state = 'active' and started_on + expire_in <= $2 for update skip locked))
    select (extract(epoch from min(started_on + expire_in)) * 1000)::text as next from ${jobs}
    where name = $1 and state = 'active' and started_on + expire_in > $2`;
  const lease = `with leased as (
      update ${jobs} set started_on = $3, expire_in = $4::float8 * interval '1 millisecond'
      where name = $1 and id = any ($2::uuid[]) returning id, data, priority, created_on)
    select id::text, data->>'job' as job from leased order by priority desc, created_on, id`;

  return {
    async add(query, next) {
      let inserted = 0;
      const executeSql: PgBoss.Db['executeSql'] = async (text, values) => {
        const rows = await query(/\breturning\b/i.test(text) ? text : `${text} returning id::text`, values);
        inserted += rows.length;
        return { rows };
      };
      await (await boss()).insert(next.map(insertOf), { db: { executeSql } });
      // pg-boss drops without a word what is for a queue that it does not know.
      if (inserted !== next.length)
        throw new Error(`pg-boss took ${inserted} of ${next.length} jobs: see that "${schema}".queue has a row of the name ${QUEUE}.`);
    },
    async take(query, { limit, leaseMs, now }) {
      await query(ready, [QUEUE, timeOf(now)]);
      const found = await fetched(await boss(), query, limit);
      if (found.length === 0) return [];
      const rows = await query(lease, [QUEUE, found, timeOf(now), leaseMs]);
      return rows.map(({ id = '', job = 'null' }) => ({ ...jobOf(job), id }));
    },
    async free(query, now) {
      const [row] = await query(free, [QUEUE, timeOf(now)]);
      return row?.['next'] === undefined ? undefined : Number(row['next']);
    },
    async end(query, ids) {
      // Removed instead of completed: a job that is done is of no more use, and nobody has to clear it away.
      const ended: unknown = await (await boss()).deleteJob(QUEUE, [...ids], { db: { executeSql: executeOn(query) } });
      return typeof ended === 'object' && ended !== null && 'affected' in ended ? Number(ended.affected) : 0;
    },
  };
}

/** One that opens no connections, sets no timers and prints nothing: it is asked for single statements. */
async function bossOf(schema: string, executeSql: PgBoss.Db['executeSql']): Promise<PgBoss> {
  const { default: Boss } = await loadPeer('pg-boss', () => import('pg-boss'));
  return new Boss({ schema, db: { executeSql }, supervise: false, schedule: false });
}

function executeOn(query: Query): PgBoss.Db['executeSql'] {
  return async (text, values) => ({ rows: await query(text, values) });
}

async function fetched(boss: PgBoss, query: Query, batchSize: number): Promise<string[]> {
  const failures: unknown[] = [];
  const executeSql: PgBoss.Db['executeSql'] = async (text, values) => {
    try {
      return { rows: await query(text, values) };
    } catch (error) {
      failures.push(error);
      throw error;
    }
  };
  const jobs = await boss.fetch(QUEUE, { batchSize, db: { executeSql } });
  // pg-boss takes a database that fails for one that has nothing to do.
  if (failures.length > 0) throw failures[0];
  return jobs.map(({ id }) => id);
}

function insertOf(job: NextJob, place: number): PgBoss.JobInsert {
  return {
    name: QUEUE,
    // As text within: `jsonb` would refuse a part of what strings may hold.
    data: { job: JSON.stringify(job) },
    startAfter: timeOf(job.dueAt),
    priority: urgencyOf(job),
    id: idOf(job, place),
  };
}

function jobOf(text: string): NextJob {
  // Written from a job, above.
  return JSON.parse(text) as NextJob;
}

const ORIGIN = Date.UTC(2026, 0);

/** pg-boss gives what is most urgent first: what is due first, to the second. An `integer` of Postgres has room for 68 years each way. */
function urgencyOf({ dueAt }: NextJob): number {
  const most = 2 ** 31 - 1;
  return Math.max(-most, Math.min(most, Math.floor((ORIGIN - dueAt) / 1000)));
}

/** Of equally urgent ones it gives what was written first; and of those that were written together, the lowest id: what is due first, in their order. */
function idOf({ dueAt }: NextJob, place: number): string {
  const time = Math.max(0, Math.floor(dueAt)).toString(16).padStart(12, '0');
  const order = (place % 4096).toString(16).padStart(3, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${order}-${randomUUID().slice(19)}`;
}

/** As Postgres reads it, whatever the time zone of its session. */
function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}
