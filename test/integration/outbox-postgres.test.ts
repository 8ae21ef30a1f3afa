import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { isExactChangeError } from 'exact-change';
import {
  postgresJournal,
  type PostgresJournal,
  type PostgresJournalOptions,
} from 'exact-change/journal/postgres';
import pg from 'pg';
import PgBoss from 'pg-boss';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Endpoint, NextJob, Outbox, OutboxJob } from '../../src/outbox/outbox.js';
import type { Attempt } from '../../src/journal/types.js';
import { withOutbox } from '../contract/outbox-contract.js';
import { attemptOf, listOf } from '../helpers/attempts.js';
import { until } from '../helpers/chain.js';
import { failureOf } from '../helpers/payer.js';
import { startPostgres, wireTo, withClient, type Postgres } from '../helpers/postgres.js';
import { programOf } from '../helpers/program.js';
import { inChaos, unsampled } from '../helpers/sampled.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const program = programOf(fileURLToPath(new URL('./outbox-postgres.child.ts', import.meta.url)));
const owner = { wallet: 'wallet', network: 'network' };
const LEASE_MS = 30_000;

type Told = PostgresJournal & { readonly outbox: Outbox };

let postgres: Postgres;
let address: string;
let journal: Told;
let outbox: Outbox;
const children = new Set<ChildProcess>();
const closings: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  postgres = await startPostgres();
});
afterAll(() => postgres.stop());
beforeEach(async () => {
  address = await postgres.createDatabase();
  journal = open();
  ({ outbox } = journal);
});
afterEach(async () => {
  for (const child of children) child.kill('SIGKILL');
  for (const close of closings.splice(0)) await close();
});

function open(over: Partial<PostgresJournalOptions> = {}): Told {
  const opened = withOutbox(
    postgresJournal({ connectionString: address, outbox: true, ...over } as PostgresJournalOptions),
  );
  closings.push(() => opened.close());
  return opened;
}

function ask(text: string, values?: unknown[]): Promise<Record<string, unknown>[]> {
  return withClient(
    address,
    async (client) => (await client.query<Record<string, unknown>>(text, values)).rows,
  );
}

const jobsIn = (schema = 'exact_change_jobs') =>
  ask(`select data->>'job' as job from ${schema}.job`).then((rows) =>
    rows.map(({ job }) => JSON.parse(String(job)) as NextJob),
  );
/** Ids of attempts with a job for an event of theirs. */
const toldOf = async () => (await jobsIn()).map(({ event }) => event.data.id);
const stateOf = async (id: string) =>
  (await listOf(journal.attempts(owner))).find((attempt) => attempt.id === id)?.state;

async function reserved(
  over: Partial<Attempt> = {},
  into: PostgresJournal = journal,
): Promise<Attempt> {
  const attempt = attemptOf(over);
  expect(await into.reserve(attempt, [])).toBeUndefined();
  return attempt;
}

/** Adds so many jobs, which are due. */
async function add(count: number): Promise<void> {
  const { id } = await reserved();
  await journal.release(id);
  const [job] = await take();
  if (job === undefined) throw new Error('Nothing was written.');
  const { id: _id, ...next } = job;
  await outbox.finish(
    job,
    Array.from({ length: count }, (_, place) => ({ ...next, endpoint: `${place}` })),
  );
}

function take(
  over: Partial<Parameters<Outbox['take']>[0]> = {},
  from: Outbox = outbox,
): Promise<OutboxJob[]> {
  return from.take({ limit: 1_000, leaseMs: LEASE_MS, now: Date.now(), ...over });
}

interface Member {
  readonly child: ChildProcess;
  /** Returns its next message, or undefined once it has ended. */
  told(): Promise<unknown>;
  readonly exit: Promise<unknown>;
  /** Returns what it wrote to standard error. */
  errors(): string;
}

function startMember(task: object): Member {
  const child = spawn(process.execPath, [program.path, address, JSON.stringify(task)], {
    stdio: 'pipe',
  });
  children.add(child);
  const exit = once(child, 'exit').then(([code]: unknown[]) => {
    children.delete(child);
    return code;
  });
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  return {
    child,
    exit,
    errors: () => errors,
    async told() {
      const { value, done } = await lines.next();
      return done === true ? undefined : JSON.parse(value);
    },
  };
}

if (inChaos)
  describe('several processes on one database', () => {
    it('finish 2,000 jobs, each in one process', async () => {
      await add(2_000);
      const members = Array.from({ length: 2 }, () => startMember({ what: 'deliver' }));
      for (const { told } of members) expect(await told()).toBe('ready');
      for (const { child } of members) child.stdin?.write('go\n');
      const ended = (await Promise.all(members.map(({ told }) => told()))) as string[][];
      expect(await Promise.all(members.map(({ exit }) => exit))).toEqual([0, 0]);
      for (const ids of ended) expect(ids.length).toBeGreaterThan(0);
      expect(ended.flat()).toHaveLength(2_000);
      expect(new Set(ended.flat()).size).toBe(2_000);
      expect([await jobsIn(), await ask('select from exact_change_jobs.archive')]).toEqual([
        [],
        [],
      ]);
    });

    it('create the missing tables once when they start at the same time', async () => {
      const members = Array.from({ length: 4 }, () => startMember({ what: 'start' }));
      for (const { told } of members) expect(await told()).toBe('ready');
      for (const { child } of members) child.stdin?.write('go\n');
      expect(await Promise.all(members.map(({ told }) => told()))).toEqual([[], [], [], []]);
      expect(await Promise.all(members.map(({ exit }) => exit))).toEqual([0, 0, 0, 0]);
      expect(members.map(({ errors }) => errors())).toEqual(['', '', '', '']);
    });

    it.each([true, false])(
      'end by themselves without output when they have no more work; journal closed: %s',
      async (close) => {
        const { told, exit, errors } = startMember({ what: 'use', close });
        expect([await told(), await told(), await exit, errors()]).toEqual([
          true,
          undefined,
          0,
          '',
        ]);
        expect(await jobsIn()).toEqual([]);
      },
    );
  });

unsampled('a listener of the outbox', () => {
  it('is called for events of other journals, also after a lost connection', async () => {
    const other = open();
    let calls = 0;
    const stop = other.outbox.onAdded(() => (calls += 1));
    const called = async (times: number) =>
      until('it is called', () => (calls > times ? true : undefined));
    // The first call comes for events that it may have missed before it listened.
    await called(0);
    const before = calls;
    await journal.release((await reserved()).id);
    await called(before);
    await journal.put({ ...(await reserved()), state: 'signed' });
    const quiet = calls;
    await ask(
      'select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
    );
    await called(quiet);
    const again = calls;
    const { id } = await until('there is a connection', () => reserved().catch(() => undefined));
    await journal.release(id);
    await called(again);
    stop();
    const last = calls;
    await journal.release((await reserved()).id);
    await other.outbox.endpoints();
    expect(calls).toBe(last);
  });
});

if (inChaos)
  describe('a killed process', () => {
    it.each([
      ['before', 'reserved', false],
      ['after', 'abandoned', true],
    ] as const)(
      'leaves, one step %s the commit, its attempt %s, with its event written: %s',
      async (when, state, isTold) => {
        const id = randomUUID();
        const { child, told, exit } = startMember({ what: 'stop', id, when });
        expect(await told()).toBe('standing');
        child.kill('SIGKILL');
        await exit;
        expect(await stateOf(id)).toBe(state);
        expect(await toldOf()).toEqual(isTold ? [id] : []);
        await journal.release(id);
        expect(await toldOf()).toEqual([id]);
      },
    );

    it('leaves exactly a job for each written attempt if killed while it writes', async () => {
      const { child, told, exit } = startMember({ what: 'write' });
      const ids = [];
      while (ids.length < 150) ids.push(await told());
      child.kill('SIGKILL');
      await exit;
      // Its last statements are done or undone once its connections are gone.
      await ask(
        `select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
      );
      const written = (await listOf(journal.attempts(owner)))
        .filter(({ state }) => state === 'abandoned')
        .map(({ id }) => id);
      expect(written).toEqual(expect.arrayContaining(ids));
      expect((await toldOf()).sort()).toEqual([...written].sort());
    });

    it('leaves its taken jobs to other processes once its lease is over', async () => {
      await add(3);
      const now = Date.now();
      const { child, told, exit } = startMember({ what: 'take', leaseMs: LEASE_MS, now });
      const taken = await told();
      expect(taken).toHaveLength(3);
      expect(await take({ now })).toEqual([]);
      child.kill('SIGKILL');
      await exit;
      expect(await take({ now: now + LEASE_MS - 1 })).toEqual([]);
      expect(await take({ now: now + LEASE_MS })).toEqual(taken);
    });
  });

unsampled('a failed write', () => {
  it('leaves the attempt as it was when the job cannot be written', async () => {
    const [put, released] = [await reserved(), await reserved()];
    await ask('alter table exact_change_jobs.job add constraint full_disk check (false) not valid');
    const error = await failureOf(
      journal.put({ ...put, state: 'abandoned' }),
      'journal_unavailable',
    );
    expect([error.funds, error.retry]).toEqual(['untouched', 'fresh']);
    await failureOf(journal.release(released.id), 'journal_unavailable');
    expect(await listOf(journal.attempts(owner))).toEqual([put, released]);
    await ask('alter table exact_change_jobs.job drop constraint full_disk');
    await journal.put({ ...put, state: 'abandoned' });
    await journal.release(released.id);
    expect(await toldOf()).toEqual([put.id, released.id]);
  });

  it('leaves the attempt as it was when pg-boss drops its job without a queue', async () => {
    const { id } = await reserved();
    await ask(`delete from exact_change_jobs.queue`);
    await failureOf(journal.release(id), 'journal_unavailable');
    expect([await stateOf(id), await jobsIn()]).toEqual(['reserved', []]);
  });

  it('leaves no job when the attempt cannot be written', async () => {
    const attempt = await reserved();
    // The trigger refuses at the very end of the transaction, when all else is done.
    await ask(
      `create function refuse() returns trigger language plpgsql as $$ begin raise 'no'; end $$`,
    );
    await ask(`create constraint trigger refuse after update or delete on exact_change.attempts deferrable initially deferred
      for each row execute function refuse()`);
    let calls = 0;
    outbox.onAdded(() => (calls += 1));
    // The first call comes for events that it may have missed before it listened.
    await until('it is called', () => (calls > 0 ? true : undefined));
    await failureOf(journal.put({ ...attempt, state: 'abandoned' }), 'journal_unavailable');
    await failureOf(journal.release(attempt.id), 'journal_unavailable');
    expect([await jobsIn(), calls]).toEqual([[], 1]);
    expect(await listOf(journal.attempts(owner))).toEqual([attempt]);
  });

  it('fails alone for a job with an invalid id, among many that finish at once', async () => {
    await add(50);
    const jobs = await take();
    const bad = { ...jobs[0]!, id: 'no uuid' };
    const outcomes = await Promise.allSettled(
      [...jobs.slice(0, 20), bad, ...jobs.slice(20)].map((job) => outbox.finish(job, [])),
    );
    expect(outcomes.flatMap(({ status }, place) => (status === 'rejected' ? [place] : []))).toEqual(
      [20],
    );
    expect(outcomes[20]).toMatchObject({ reason: { code: 'journal_unavailable' } });
    expect(await jobsIn()).toEqual([]);
  });

  it('leaves the replaced job as it was', async () => {
    await add(1);
    const [job] = await take();
    await ask('alter table exact_change_jobs.job add constraint full_disk check (false) not valid');
    // First the call that skips rows in use: Postgres tells of a failure before it frees the rows.
    await failureOf(take({ now: Date.now() + LEASE_MS }), 'journal_unavailable');
    await failureOf(outbox.finish(job!, [job!]), 'journal_unavailable');
    await ask('alter table exact_change_jobs.job drop constraint full_disk');
    expect(await take({ now: Date.now() + LEASE_MS })).toEqual([job]);
  });

  it('searches again at once for expired leases that a failed take ended in vain', async () => {
    await add(1);
    const jobs = await take();
    const now = Date.now() + LEASE_MS;
    await ask(`alter table exact_change_jobs.job add check (state <> 'active') not valid`);
    await failureOf(take({ now }), 'journal_unavailable');
    await ask('alter table exact_change_jobs.job drop constraint job_state_check');
    expect(await take({ now })).toEqual(jobs);
  });
});

unsampled('a database with an outbox', () => {
  const endpoint: Endpoint = {
    id: 'one',
    url: 'https://a.test/',
    events: ['payment.failed'],
    caller: '',
    secrets: [],
    createdAt: 1,
  };
  /** Returns every call that an outbox adds to the journal, or changes. */
  const callsOf = (target: Told, job: OutboxJob): (() => Promise<unknown>)[] => [
    () => target.put(attemptOf()),
    () => target.release('one'),
    () => take({}, target.outbox),
    () => target.outbox.finish(job, []),
    () => target.outbox.endpoints(),
    () => target.outbox.addEndpoint(endpoint, 1),
    () => target.outbox.changeEndpoint('nobody', () => undefined),
    () => target.outbox.removeEndpoint('nobody'),
  ];
  const aJob = async (): Promise<OutboxJob> => {
    await add(2);
    // No lease may end during a test, however long a restart of the database takes.
    const [job] = await take({ limit: 1, leaseMs: 20 * LEASE_MS });
    return job!;
  };

  it('keeps every confirmed endpoint, job and event through a kill', async () => {
    const job = await aJob();
    await outbox.addEndpoint(endpoint, 1);
    const attempts = await Promise.all(Array.from({ length: 60 }, () => reserved()));
    const busy = attempts.map((attempt) =>
      journal.put({ ...attempt, state: 'abandoned' }).then(() => attempt.id),
    );
    await Promise.race(busy);
    await postgres.kill();
    const outcomes = await Promise.allSettled(busy);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected')
        expect(outcome.reason).toMatchObject({ code: 'journal_unavailable' });
    for (const call of callsOf(journal, job)) await failureOf(call(), 'journal_unavailable');
    await postgres.start();

    const written = (await listOf(journal.attempts(owner)))
      .filter(({ state }) => state === 'abandoned')
      .map(({ id }) => id);
    expect(written).toEqual(
      expect.arrayContaining(
        outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : [])),
      ),
    );
    const jobs = await jobsIn();
    expect(
      jobs
        .filter((queued) => queued.endpoint === undefined)
        .map(({ event }) => event.data.id)
        .sort(),
    ).toEqual([...written].sort());
    expect(jobs.filter((queued) => queued.endpoint !== undefined)).toHaveLength(2);
    expect(await outbox.endpoints()).toEqual([endpoint]);
    expect(await take()).toHaveLength(written.length + 1);
    await outbox.finish(job, []);
  });

  it('fails each call in time while it is silent, and works once it answers', async () => {
    const wire = await wireTo(address);
    closings.push(() => wire.close());
    const far = open({ connectionString: wire.address, timeoutMs: 6_000 });
    const job = await aJob();
    await far.outbox.endpoints();
    wire.silence();
    const failures = await Promise.all(
      callsOf(far, job).map((call) => failureOf(call(), 'journal_unavailable')),
    );
    expect(failures.map(({ funds, retry }) => [funds, retry])).toEqual(
      failures.map(() => ['untouched', 'fresh']),
    );
    wire.speak();
    for (const call of callsOf(far, job).slice(1)) await call();
    expect(await jobsIn()).toHaveLength(1);
  });

  it('fails calls while it is silent before its tables exist, and works later', async () => {
    const wire = await wireTo(address);
    closings.push(() => wire.close());
    const far = open({ connectionString: wire.address, timeoutMs: 8_000, schema: 'fresh' });
    wire.silence();
    await failureOf(far.outbox.endpoints(), 'journal_unavailable');
    wire.speak();
    // A call that joins a look for the tables from before fails with that look.
    await until('the tables are there', () => far.outbox.endpoints().catch(() => undefined));
    expect(await take({}, far.outbox)).toEqual([]);
  });

  it('lets close() finish the calls under way, and refuses calls after it', async () => {
    const job = await aJob();
    const many = Array.from({ length: 3 }, () => [
      reserved(),
      outbox.finish({ ...job, id: randomUUID() }, []),
    ]);
    const late = [
      outbox.finish(job, [job]),
      outbox.addEndpoint(endpoint, 1),
      take(),
      ...many.flat(),
    ];
    await journal.close();
    await Promise.all(late);
    for (const call of callsOf(journal, job))
      expect((await failureOf(call(), 'journal_unavailable')).message).toContain('closed');
    await until('its connections are gone', async () => {
      const left = await ask(
        'select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
      );
      return left.length === 0 ? true : undefined;
    });
  });
});

unsampled('a journal without an outbox', () => {
  it.each(['before', 'after'] as const)(
    'writes events as soon as its schema has an outbox, if it is first used %s that',
    async (when) => {
      const plain = postgresJournal({ connectionString: address });
      closings.push(() => plain.close());
      if (when === 'before') await plain.release((await reserved({}, plain)).id);
      await outbox.endpoints();
      const [released, abandoned, open] = [
        await reserved({}, plain),
        await reserved({}, plain),
        await reserved({}, plain),
      ];
      await plain.release(released.id);
      await plain.put({ ...abandoned, state: 'abandoned' });
      await plain.put({ ...open, state: 'signed' });
      await plain.release('nobody');
      expect(plain.outbox).toBeUndefined();
      expect(await toldOf()).toEqual([released.id, abandoned.id]);
      expect(await stateOf(open.id)).toBe('signed');
    },
  );

  it('notifies a listener of the outbox', async () => {
    let calls = 0;
    outbox.onAdded(() => (calls += 1));
    await until('it is called', () => (calls > 0 ? true : undefined));
    const plain = postgresJournal({ connectionString: address });
    closings.push(() => plain.close());
    const before = calls;
    await plain.release((await reserved({}, plain)).id);
    await until('it is called', () => (calls > before ? true : undefined));
  });

  it('keeps no events if no journal of its schema has an outbox', async () => {
    const plain = postgresJournal({ connectionString: address });
    closings.push(() => plain.close());
    await plain.put({ ...(await reserved({}, plain)), state: 'abandoned' });
    await plain.release('nobody');
    expect(
      await ask(`select nspname from pg_namespace where nspname like 'exact_change_%'`),
    ).toEqual([]);
  });
});

unsampled('the tables of an outbox', () => {
  it('are created after a journal without an outbox, and keep later events', async () => {
    const plain = postgresJournal({ connectionString: address });
    expect(plain.outbox).toBeUndefined();
    const [before, after] = [await reserved({}, plain), await reserved({}, plain)];
    await plain.release(before.id);
    await plain.close();
    expect(
      await ask(`select nspname from pg_namespace where nspname like 'exact_change_%'`),
    ).toEqual([]);
    await journal.release(after.id);
    expect(await toldOf()).toEqual([after.id]);
  });

  it('share no job between schemas, however long the names of the schemas are', async () => {
    const names = ['a'.repeat(63), `${'a'.repeat(62)}b`, 'a'.repeat(45), 'user'];
    const journals = names.map((schema) => open({ schema }));
    await Promise.all(
      journals.map(async (opened) => opened.release((await reserved({}, opened)).id)),
    );
    for (const opened of journals) expect(await take({}, opened.outbox)).toHaveLength(1);
    const schemas = (
      await ask(`select nspname from pg_namespace where nspname like '%\\_jobs'`)
    ).map(({ nspname }) => String(nspname));
    expect(schemas).toHaveLength(4);
    for (const name of schemas) expect(name.length).toBeLessThanOrEqual(50);
  });

  it('serve a user without the right to create tables', async () => {
    await add(1);
    const name = `user_${new URL(address).pathname.slice(1)}`;
    await ask(`create role ${name} login password 'plain'`);
    await ask(`grant usage on schema exact_change, exact_change_jobs to ${name}`);
    await ask(
      `grant select, insert, update, delete on all tables in schema exact_change to ${name}`,
    );
    await ask(`grant select, insert, update, delete on exact_change_jobs.job to ${name}`);
    await ask(`grant select on exact_change_jobs.version, exact_change_jobs.queue to ${name}`);
    const user = open({
      connectionString: Object.assign(new URL(address), { username: name, password: 'plain' }).href,
    });
    await user.release((await reserved({}, user)).id);
    for (const job of await take({}, user.outbox)) await user.outbox.finish(job, []);
    expect(await jobsIn()).toEqual([]);
  });

  it('may be reached over a pool with two connections and types of its own', async () => {
    // Some callers parse every type as text, and 64-bit integers as bigints.
    const types = {
      getTypeParser: (type: number) => (text: string) => (type === 20 ? BigInt(text) : text),
    };
    const pool = new pg.Pool({ connectionString: address, max: 2, types });
    closings.push(() => pool.end());
    const borrowed = open({ pool, connectionString: undefined });
    const { claims } = borrowed.coordination(owner);
    await claims.take(['one']);
    const attempts = await Promise.all(Array.from({ length: 20 }, () => reserved({}, borrowed)));
    await Promise.all(attempts.map((attempt) => borrowed.put({ ...attempt, state: 'abandoned' })));
    const jobs = await take({}, borrowed.outbox);
    expect(jobs.map(({ event }) => event.data.id).sort()).toEqual(
      attempts.map(({ id }) => id).sort(),
    );
    await Promise.all(jobs.map((job) => borrowed.outbox.finish(job, [])));
    expect(await jobsIn()).toEqual([]);
    await borrowed.close();
  });
});

unsampled('a waiting job', () => {
  it('keeps its text, also text that the database itself refuses', async () => {
    const attempts = ['\0', '\ud800', "'; drop table exact_change.attempts; --"].map((method) =>
      attemptOf({ method }),
    );
    for (const attempt of attempts) {
      await journal.reserve(attempt, []);
      await journal.release(attempt.id);
    }
    expect((await take()).map(({ event }) => event.data.method)).toEqual(
      attempts.map(({ method }) => method),
    );
  });

  it('is given again at once if a process leased it while its clock had jumped ahead', async () => {
    await add(1);
    const [job] = await take({ now: Date.now() + 24 * 3_600_000 });
    expect((await take()).map(({ id }) => id)).toEqual([job?.id]);
  });

  it('is not dropped for its age, for its tries, or by pg-boss maintenance', async () => {
    await add(3);
    const [first] = await take({ limit: 1 });
    await ask(`update exact_change_jobs.job set created_on = created_on - interval '10 years', start_after = start_after - interval '10 years',
      keep_until = keep_until - interval '10 years', retry_count = 1000000`);
    const boss = new PgBoss({
      connectionString: address,
      schema: 'exact_change_jobs',
      supervise: false,
      schedule: false,
    });
    await boss.start();
    for (let round = 0; round < 4; round += 1) {
      // This lease is long over, also by the clock of the database.
      expect(await take({ now: Date.now() - 1_000, leaseMs: 1, limit: 1 })).toHaveLength(1);
      await boss.maintain();
    }
    await boss.stop({ graceful: false });
    expect(await jobsIn()).toHaveLength(3);
    expect((await take({ now: Date.now() + LEASE_MS })).map(({ id }) => id)).toContain(first?.id);
    expect(await jobsIn()).toHaveLength(3);
  });
});

unsampled('the outbox of postgresJournal', () => {
  it.each(['yes', 1, null])('accepts true or false for the option, not %j', (outboxOption) => {
    const options: object = {
      connectionString: 'postgres://user:a-secret-word@localhost/payments',
      outbox: outboxOption,
    };
    const error = errorOf(() => postgresJournal(options as PostgresJournalOptions));
    expect(error).toMatchObject({ code: 'invalid_option', details: { option: 'outbox' } });
    expect(String(error)).not.toContain('a-secret-word');
  });

  it.each([
    ['without pg-boss', undefined],
    [
      'with pg-boss 11',
      'export default class { static getConstructionPlans() { return "expire_seconds int"; } }',
    ],
    ['with pg-boss 12', 'export class PgBoss {}'],
  ])('fails the first call %s if a journal of the schema needs it', async (_, installed) => {
    await open({ schema: 'told' }).outbox.endpoints();
    const missing = {
      name: 'ConfigError',
      code: 'missing_dependency',
      message: expect.stringContaining('npm install pg-boss@10'),
      details: { packages: ['pg-boss@10'] },
    };
    const found =
      installed === undefined
        ? `throw Object.assign(new Error('not there'), { code: 'ERR_MODULE_NOT_FOUND' })`
        : `return { shortCircuit: true, url: 'data:text/javascript,' + encodeURIComponent(${JSON.stringify(installed)}) }`;
    const hook = `export const resolve = (name, context, next) => {
      if (name === 'pg-boss') ${found};
      return next(name, context);
    };`;
    const script = `
      import { register } from 'node:module';
      register('data:text/javascript,' + encodeURIComponent(${JSON.stringify(hook)}));
      const { postgresJournal } = await import('./adapters/journals/postgres.ts');
      const { attemptOf } = await import('./test/helpers/attempts.ts');
      const told = [];
      // The last journal finds a schema with a journal that keeps events.
      for (const [outbox, schema] of [[true, 'fresh'], [false, 'fresh'], [false, 'told']]) {
        const journal = postgresJournal({ connectionString: process.argv[1], outbox, schema });
        await journal.reserve(attemptOf(), []).then(() => told.push('written'), ({ name, code, message, details }) => told.push({ name, code, message, details }));
        await journal.close();
      }
      console.log(JSON.stringify(told));`;
    const flags = ['--import', 'tsx', '--input-type=module', '--eval', script, address];
    const { stdout, stderr } = spawnSync(process.execPath, flags, { cwd: ROOT, encoding: 'utf8' });
    expect({ told: JSON.parse(stdout || 'null') as unknown, stderr }).toMatchObject({
      told: [missing, 'written', missing],
      stderr: '',
    });
  });
});

function errorOf(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    if (isExactChangeError(error)) return error;
    throw error;
  }
  throw new Error('Nothing was thrown.');
}
