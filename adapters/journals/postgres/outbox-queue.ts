import { randomUUID } from 'node:crypto';
import type PgBoss from 'pg-boss';
import {
  LONGEST_PAUSE_MS,
  type NextJob,
  type OutboxJob,
  type TakeOptions,
} from '../../../src/outbox/outbox.js';
import { laneOf, ofCaller, type Lane } from '../../../src/outbox/turns.js';
import { asciiJson } from './attempt-rows.js';
import type { Database, Query } from './database.js';
import { digest, lockKey } from './keys.js';
import { loadPeer } from './peer.js';
import { LOCK } from './statements.js';

/**
 * Jobs in Postgres, in the tables of pg-boss. Each call belongs to the transaction of its `query`.
 * Times are milliseconds since the epoch.
 */
export interface JobQueue {
  add(query: Query, jobs: readonly NextJob[]): Promise<void>;
  /** Leases and returns jobs that are due at the given time, or by the database's clock. */
  take(query: Query, options: TakeOptions): Promise<OutboxJob[]>;
  /** Frees jobs with an expired lease. Returns when the next lease ends. */
  free(query: Query, now: number): Promise<number | undefined>;
  /** Removes jobs, and returns how many of them existed. */
  end(query: Query, ids: readonly string[]): Promise<number>;
  /** Removes the jobs beyond the limits (of one owner, in all), and returns how many they were. */
  trim(query: Query, most: { readonly ofOne: number; readonly inAll: number }): Promise<number>;
}

const QUEUE = 'webhooks';

/**
 * The column for the lane of a job: one half is a hash of the owner, the other a hash of the place.
 * pg-boss stores this column, and does not use it.
 */
const KEY = 'singleton_key collate "C"';
const HALF = 32;
/** Sorts after every place of an owner, because hashes are hex digits. */
const PAST = 'g';

/**
 * Settings that force the index. After a table has grown quickly, Postgres still plans for a small
 * table. It would then read the whole table for each step.
 */
const BY_INDEX = ['enable_seqscan', 'enable_bitmapscan', 'enable_sort', 'jit']
  .map((name) => `set local ${name} = off`)
  .join('; ');

function keyOf({ owner, place }: Lane): string {
  return ownerKey(owner) + placeKey(place);
}

function ownerKey(owner: string): string {
  return digest('owner', owner).slice(0, HALF);
}

function placeKey(place: string): string {
  return digest('place', place).slice(0, HALF);
}

/** Settings with which pg-boss never drops a job, however long it waits and fails. */
const KEPT = {
  retryLimit: 2 ** 31 - 1,
  // Sixty years: about the most that fits an `integer` of Postgres, in seconds.
  retentionMinutes: 60 * 365 * 24 * 60,
};

/**
 * Returns the name of pg-boss' own schema. pg-boss takes names of at most 50 letters, and writes
 * them without quotes.
 */
export function jobSchema(schema: string): string {
  const name = `${schema}_jobs`;
  return name.length <= 50 ? name : `${schema.slice(0, 28)}_${digest(schema).slice(0, 16)}_jobs`;
}

/**
 * Makes pg-boss' tables if they are missing, and the queue. Rejects with `ConfigError`
 * (`missing_dependency`) if pg-boss 10 is not installed.
 */
export async function prepareJobs(database: Database, schema: string): Promise<void> {
  const key = lockKey(schema, 'tables');
  await database.connection('tables', async (query) => {
    const boss = await bossOf(schema, executeOn(query));
    // pg-boss has its own lock, and still fails if several processes start it at once: it sends all
    // statements in one message, which does not see tables that were made meanwhile.
    await query('select pg_advisory_lock($1::bigint)::text', [key]);
    await boss.start();
    // Check first: the database user may write the tables, but may lack the right to create.
    if ((await boss.getQueue(QUEUE)) === null) {
      await boss.createQueue(QUEUE, { name: QUEUE, ...KEPT });
      await query(
        `create index on "${schema}".job (${KEY}, start_after, created_on, id) where state < 'active'`,
      );
    }
    await query('select pg_advisory_unlock($1::bigint)::text', [key]);
  });
}

/**
 * Returns the jobs in tables that exist. Jobs are taken without pg-boss, but in its columns.
 * pg-boss uses the database's clock, fixes the lease when a job is written, and returns the oldest
 * job. A worker has its own clock, sets the lease when it takes a job, and gives each caller its
 * turn.
 */
export function jobsIn(schema: string): JobQueue {
  let loading: Promise<PgBoss> | undefined;
  const boss = () =>
    (loading ??= bossOf(schema, () =>
      Promise.reject(new Error('Every statement belongs to a transaction.')),
    ));
  const jobs = `"${schema}".job`;
  /** Key after which the next `take` goes on, so that each `take` begins with another owner. */
  let cursor = '';
  /** When this process last took jobs. */
  let lastTake = Infinity;
  const setBack = `update ${jobs} set start_after = $2 where name = $1 and state < 'active'
    and start_after > greatest($2, now()) + ${LONGEST_PAUSE_MS} * interval '1 millisecond'`;
  // A lease that begins an hour ahead is of a worker with a clock that had jumped.
  const isOver = `(started_on + expire_in <= $2 or started_on > greatest($2, now()) + interval '1 hour')`;
  const free = `with freed as (
      update ${jobs} set state = 'retry' where name = $1 and id in (
        select id from ${jobs} where name = $1 and state = 'active' and ${isOver} for update skip locked))
    select (extract(epoch from min(started_on + expire_in)) * 1000)::text as next from ${jobs}
    where name = $1 and state = 'active' and not ${isOver}`;
  const next = (after: string, before = '') =>
    `(select ${KEY} from ${jobs} where name = $1 and state < 'active' and ${KEY} > ${after} ${before} order by ${KEY} limit 1)`;
  // The query goes by the index from each owner to the next, and from each place to the next: never
  // over all jobs. It visits as many owners as jobs are wanted, so that each owner has its turn. It
  // compares pairs, because an index of pg-boss begins with the time: with that index, Postgres
  // would search each place among all jobs.
  const take = `with recursive owners as (
      select left(${next('$2')}, ${HALF}) as owner, 1 as place
      union all
      select left(${next(`owner || '${PAST}'`)}, ${HALF}), place + 1 from owners where owner is not null and place < $3
    ), lanes as (
      select owner, key from owners, lateral (
        with recursive keys as (
          select ${next('owner', `and ${KEY} < owner || '${PAST}'`)} as key where owner <> all ($8) or cardinality($9::text[]) > 0
          union all
          select ${next('key', `and ${KEY} < owner || '${PAST}'`)} from keys where key is not null
        ) select key from keys where key is not null) as places
      where owner is not null and right(key, ${HALF}) <> all ($7) and (owner <> all ($8) or right(key, ${HALF}) = any ($9))
    ), found as (
      select one.*, right(key, ${HALF}) = '${placeKey('')}' as is_event,
        row_number() over (partition by owner order by start_after, created_on, id) as turn
      from lanes, lateral (
        select id, start_after, created_on from ${jobs} where name = $1 and state < 'active'
          and (${KEY}, start_after) >= (key, '-infinity'::timestamptz) and (${KEY}, start_after) <= (key, greatest($5, now()))
        order by ${KEY}, start_after, created_on, id limit case when right(key, ${HALF}) = '${placeKey('')}' then $3 else $4 end) as one
    ), chosen as (
      select * from found where turn <= $10 or is_event order by turn, start_after, created_on, id limit $3
    ), leased as (
      update ${jobs} set state = 'active', started_on = $5, expire_in = $6::float8 * interval '1 millisecond'
      where name = $1 and state < 'active' and id = any (array(select id from chosen)) returning id, data
    )
    select last, full_page, id, job from (select max(owner) as last, (count(owner) = $3)::text as full_page from owners) as page left join (
      select id::text, data->>'job' as job, turn, start_after, created_on from leased join chosen using (id)) as given on true
    order by turn, start_after, created_on, id`;
  const trim = `delete from ${jobs} where name = $1 and id in (
      select id from (
        select id, place, row_number() over (order by place, id) as overall from (
          select id, row_number() over (partition by left(${KEY}, ${HALF}) order by created_on desc, id desc) as place from ${jobs} where name = $1
        ) as ranked) as counted
      where place > $2 or overall > $3)
    returning id::text`;

  return {
    async add(query, next) {
      let inserted = 0;
      const executeSql: PgBoss.Db['executeSql'] = async (text, values) => {
        const rows = await query(
          /\breturning\b/i.test(text) ? text : `${text} returning id::text`,
          values,
        );
        inserted += rows.length;
        return { rows };
      };
      await (await boss()).insert(next.map(insertOf), { db: { executeSql } });
      // pg-boss silently drops jobs for a queue that it does not know.
      if (inserted !== next.length)
        throw new Error(
          `pg-boss took ${inserted} of ${next.length} jobs: see that "${schema}".queue has a row of the name ${QUEUE}.`,
        );
    },
    async take(
      query,
      { limit, leaseMs, now, perEndpoint = limit, perCaller = limit, without = {} },
    ) {
      const { callers = [], but = [], endpoints = [] } = without;
      const lists = [
        endpoints.map(placeKey),
        callers.map((caller) => ownerKey(ofCaller(caller))),
        but.map(placeKey),
      ];
      const taken: OutboxJob[] = [];
      if (now < lastTake) await query(setBack, [QUEUE, timeOf(now)]);
      lastTake = now;
      await query(BY_INDEX);
      // Only one process takes at a time: two processes would find the same jobs.
      await query(LOCK, [lockKey(schema, 'take')]);
      // Visit all owners once, from the owner at which the last `take` ended.
      for (let isRound = cursor === ''; ;) {
        const rows = await query(take, [
          QUEUE,
          cursor,
          limit - taken.length,
          perEndpoint,
          timeOf(now),
          leaseMs,
          ...lists,
          perCaller,
        ]);
        for (const { id, job } of rows)
          if (id !== undefined && job !== undefined) taken.push({ ...jobOf(job), id });
        const [page] = rows;
        cursor = page?.['full_page'] === 'true' ? `${page['last'] ?? ''}${PAST}` : '';
        if (taken.length >= limit || (cursor === '' && isRound)) return taken;
        isRound ||= cursor === '';
      }
    },
    async free(query, now) {
      const [row] = await query(free, [QUEUE, timeOf(now)]);
      return row?.['next'] === undefined ? undefined : Number(row['next']);
    },
    async end(query, ids) {
      // Delete instead of complete: completed jobs would pile up.
      const ended: unknown = await (
        await boss()
      ).deleteJob(QUEUE, [...ids], { db: { executeSql: executeOn(query) } });
      return typeof ended === 'object' && ended !== null && 'affected' in ended
        ? Number(ended.affected)
        : 0;
    },
    trim: async (query, { ofOne, inAll }) => (await query(trim, [QUEUE, ofOne, inAll])).length,
  };
}

/**
 * Returns a pg-boss that opens no connections, sets no timers and prints nothing. It only runs
 * single statements.
 */
async function bossOf(schema: string, executeSql: PgBoss.Db['executeSql']): Promise<PgBoss> {
  // Later majors have other columns, and an application may have one of them for itself.
  const { default: Boss } = await loadPeer(
    'pg-boss@10',
    () => import('pg-boss'),
    ({ default: Found }) =>
      typeof Found === 'function' && Found.getConstructionPlans(schema).includes('expire_in'),
  );
  return new Boss({ schema, db: { executeSql }, supervise: false, schedule: false });
}

function executeOn(query: Query): PgBoss.Db['executeSql'] {
  return async (text, values) => ({ rows: await query(text, values) });
}

function insertOf(job: NextJob, place: number): PgBoss.JobInsert {
  return {
    name: QUEUE,
    // The job is JSON text inside the data, because `jsonb` refuses some strings (such as NUL).
    data: { job: asciiJson(job) },
    startAfter: timeOf(job.dueAt),
    singletonKey: keyOf(laneOf(job)),
    id: idOf(job, place),
  };
}

function jobOf(text: string): NextJob {
  // `insertOf` wrote this JSON from a job.
  return JSON.parse(text) as NextJob;
}

/** Returns an id that sorts jobs of one `add` with the same due time in their order. */
function idOf({ dueAt }: NextJob, place: number): string {
  const time = Math.max(0, Math.floor(dueAt)).toString(16).padStart(12, '0');
  const order = (place % 65_536).toString(16).padStart(4, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-${order}-${randomUUID().slice(19)}`;
}

/** Returns a time as text that Postgres reads alike in every time zone of a session. */
function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}
