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
  const one = withOutbox(
    postgresJournal({ connectionString: address, outbox: true, ...over } as PostgresJournalOptions),
  );
  closings.push(() => one.close());
  return one;
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
/** Ids of the attempts that a job tells of. */
const toldOf = async () => (await jobsIn()).map(({ event }) => event.data.id);
const stateOf = async (id: string) =>
  (await listOf(journal.attempts(owner))).find((one) => one.id === id)?.state;

async function reserved(
  over: Partial<Attempt> = {},
  one: PostgresJournal = journal,
): Promise<Attempt> {
  const attempt = attemptOf(over);
  expect(await one.reserve(attempt, [])).toBeUndefined();
  return attempt;
}

/** Adds as many jobs as asked for, which are due. */
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
  one: Outbox = outbox,
): Promise<OutboxJob[]> {
  return one.take({ limit: 1_000, leaseMs: LEASE_MS, now: Date.now(), ...over });
}

interface Member {
  readonly child: ChildProcess;
  /** What it tells next; undefined once it has ended. */
  told(): Promise<unknown>;
  readonly exit: Promise<unknown>;
  /** What it said besides. */
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
  describe('several processes on one database', { timeout: 120_000 }, () => {
    it('never share one of 2,000 jobs, and end all of them', async () => {
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

    it('make what is missing once, when they begin at the same time', async () => {
      const members = Array.from({ length: 4 }, () => startMember({ what: 'start' }));
      for (const { told } of members) expect(await told()).toBe('ready');
      for (const { child } of members) child.stdin?.write('go\n');
      expect(await Promise.all(members.map(({ told }) => told()))).toEqual([[], [], [], []]);
      expect(await Promise.all(members.map(({ exit }) => exit))).toEqual([0, 0, 0, 0]);
      expect(members.map(({ errors }) => errors())).toEqual(['', '', '', '']);
    });

    it.each([true, false])(
      'end by themselves when they have no more to do, and print nothing; journal closed: %s',
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

unsampled('a listener that asks to be called', () => {
  it('hears of what others add, also once a connection was lost', async () => {
    const other = open();
    let calls = 0;
    const stop = other.outbox.onAdded(() => (calls += 1));
    const called = async (times: number) =>
      until('it is called', () => (calls > times ? true : undefined));
    // By what it may have missed before it listened.
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
  describe('a process that is killed', { timeout: 120_000 }, () => {
    it.each([
      ['before', 'reserved', false],
      ['after', 'abandoned', true],
    ] as const)(
      'one step %s the commit leaves the attempt %s, and told: %s',
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

    it('while it writes leaves a job for each attempt that it wrote, and none for another', async () => {
      const { child, told, exit } = startMember({ what: 'write' });
      const ids = [];
      while (ids.length < 150) ids.push(await told());
      child.kill('SIGKILL');
      await exit;
      // What it had sent is done or undone once its connections are gone.
      await ask(
        `select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
      );
      const written = (await listOf(journal.attempts(owner)))
        .filter(({ state }) => state === 'abandoned')
        .map(({ id }) => id);
      expect(written).toEqual(expect.arrayContaining(ids));
      expect((await toldOf()).sort()).toEqual([...written].sort());
    });

    it('leaves what it had taken to others, once its lease is over', async () => {
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

unsampled('a write that fails', () => {
  it('for want of its job leaves the attempt as it was', async () => {
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

  it('since pg-boss drops its job, for want of a queue, leaves the attempt as it was', async () => {
    const { id } = await reserved();
    await ask(`delete from exact_change_jobs.queue`);
    await failureOf(journal.release(id), 'journal_unavailable');
    expect([await stateOf(id), await jobsIn()]).toEqual(['reserved', []]);
  });

  it('for want of its attempt leaves no job', async () => {
    const attempt = await reserved();
    // Refused when all else is done, at the very end of the transaction.
    await ask(
      `create function refuse() returns trigger language plpgsql as $$ begin raise 'no'; end $$`,
    );
    await ask(`create constraint trigger refuse after update or delete on exact_change.attempts deferrable initially deferred
      for each row execute function refuse()`);
    let calls = 0;
    outbox.onAdded(() => (calls += 1));
    // By what it may have missed before it listened.
    await until('it is called', () => (calls > 0 ? true : undefined));
    await failureOf(journal.put({ ...attempt, state: 'abandoned' }), 'journal_unavailable');
    await failureOf(journal.release(attempt.id), 'journal_unavailable');
    expect([await jobsIn(), calls]).toEqual([[], 1]);
    expect(await listOf(journal.attempts(owner))).toEqual([attempt]);
  });

  it('for want of a job of that name fails alone, of many that are ended at once', async () => {
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

  it('while a job is replaced leaves it as it was', async () => {
    await add(1);
    const [job] = await take();
    await ask('alter table exact_change_jobs.job add constraint full_disk check (false) not valid');
    await failureOf(outbox.finish(job!, [job!]), 'journal_unavailable');
    await failureOf(take({ now: Date.now() + LEASE_MS }), 'journal_unavailable');
    await ask('alter table exact_change_jobs.job drop constraint full_disk');
    expect(await take({ now: Date.now() + LEASE_MS })).toEqual([job]);
  });
});

unsampled(
  'a database',
  () => {
    const endpoint: Endpoint = {
      id: 'one',
      url: 'https://a.test/',
      events: ['payment.failed'],
      caller: '',
      secrets: [],
      createdAt: 1,
    };
    /** Every call that an outbox adds to the journal, or changes. */
    const callsOf = (one: Told, job: OutboxJob): (() => Promise<unknown>)[] => [
      () => one.put(attemptOf()),
      () => one.release('one'),
      () => take({}, one.outbox),
      () => one.outbox.finish(job, []),
      () => one.outbox.endpoints(),
      () => one.outbox.addEndpoint(endpoint, 1),
      () => one.outbox.changeEndpoint('nobody', () => undefined),
      () => one.outbox.removeEndpoint('nobody'),
    ];
    const aJob = async (): Promise<OutboxJob> => {
      await add(2);
      const [job] = await take({ limit: 1 });
      return job!;
    };

    it('that ends and comes back has lost nothing: no endpoint, no job, and no event of what was said to be written', async () => {
      const job = await aJob();
      await outbox.addEndpoint(endpoint, 1);
      const attempts = await Promise.all(Array.from({ length: 60 }, () => reserved()));
      const busy = attempts.map((one) =>
        journal.put({ ...one, state: 'abandoned' }).then(() => one.id),
      );
      await Promise.race(busy);
      await postgres.kill();
      const outcomes = await Promise.allSettled(busy);
      for (const one of outcomes)
        if (one.status === 'rejected')
          expect(one.reason).toMatchObject({ code: 'journal_unavailable' });
      for (const call of callsOf(journal, job)) await failureOf(call(), 'journal_unavailable');
      await postgres.start();

      const written = (await listOf(journal.attempts(owner)))
        .filter(({ state }) => state === 'abandoned')
        .map(({ id }) => id);
      expect(written).toEqual(
        expect.arrayContaining(
          outcomes.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : [])),
        ),
      );
      const jobs = await jobsIn();
      expect(
        jobs
          .filter((one) => one.endpoint === undefined)
          .map(({ event }) => event.data.id)
          .sort(),
      ).toEqual([...written].sort());
      expect(jobs.filter((one) => one.endpoint !== undefined)).toHaveLength(2);
      expect(await outbox.endpoints()).toEqual([endpoint]);
      expect(await take()).toHaveLength(written.length + 1);
      await outbox.finish(job, []);
    });

    it('that falls silent makes each call fail in time, and works again once it speaks', async () => {
      const wire = await wireTo(address);
      closings.push(() => wire.close());
      const far = open({ connectionString: wire.address, timeoutMs: 1_000 });
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

    it('may fall silent before there are tables', async () => {
      const wire = await wireTo(address);
      closings.push(() => wire.close());
      const far = open({ connectionString: wire.address, timeoutMs: 1_000, schema: 'fresh' });
      wire.silence();
      await failureOf(far.outbox.endpoints(), 'journal_unavailable');
      wire.speak();
      expect(await take({}, far.outbox)).toEqual([]);
    });

    it('is left by close() once the calls under way are done, and is gone for those after it', async () => {
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
  },
  60_000,
);

unsampled('a journal without an outbox', () => {
  it.each(['before', 'after'] as const)(
    'that is used %s another one of its schema has an outbox tells of all that it writes from then on',
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

  it('is heard by a listener that asks to be called', async () => {
    let calls = 0;
    outbox.onAdded(() => (calls += 1));
    await until('it is called', () => (calls > 0 ? true : undefined));
    const plain = postgresJournal({ connectionString: address });
    closings.push(() => plain.close());
    const before = calls;
    await plain.release((await reserved({}, plain)).id);
    await until('it is called', () => (calls > before ? true : undefined));
  });

  it('keeps none when no journal does', async () => {
    const plain = postgresJournal({ connectionString: address });
    closings.push(() => plain.close());
    await plain.put({ ...(await reserved({}, plain)), state: 'abandoned' });
    await plain.release('nobody');
    expect(
      await ask(`select nspname from pg_namespace where nspname like 'exact_change_%'`),
    ).toEqual([]);
  });
});

unsampled('tables', () => {
  it('are made if a journal without an outbox was before, whose attempts are told of from then on', async () => {
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

  it('of one schema know nothing of those of another, however long their names are', async () => {
    const names = ['a'.repeat(63), `${'a'.repeat(62)}b`, 'a'.repeat(45), 'user'];
    const journals = names.map((schema) => open({ schema }));
    await Promise.all(journals.map(async (one) => one.release((await reserved({}, one)).id)));
    for (const one of journals) expect(await take({}, one.outbox)).toHaveLength(1);
    const schemas = (
      await ask(`select nspname from pg_namespace where nspname like '%\\_jobs'`)
    ).map(({ nspname }) => String(nspname));
    expect(schemas).toHaveLength(4);
    for (const name of schemas) expect(name.length).toBeLessThanOrEqual(50);
  });

  it('serve a user that may not make any', async () => {
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

  it('may be reached over a pool of the caller, with two connections and types of its own', async () => {
    // Text for all there is, and what some have for numbers.
    const types = {
      getTypeParser: (type: number) => (text: string) => (type === 20 ? BigInt(text) : text),
    };
    const pool = new pg.Pool({ connectionString: address, max: 2, types });
    closings.push(() => pool.end());
    const borrowed = open({ pool, connectionString: undefined });
    const { claims } = borrowed.coordination(owner);
    await claims.take(['one']);
    const attempts = await Promise.all(Array.from({ length: 20 }, () => reserved({}, borrowed)));
    await Promise.all(attempts.map((one) => borrowed.put({ ...one, state: 'abandoned' })));
    const jobs = await take({}, borrowed.outbox);
    expect(jobs.map(({ event }) => event.data.id).sort()).toEqual(
      attempts.map(({ id }) => id).sort(),
    );
    await Promise.all(jobs.map((job) => borrowed.outbox.finish(job, [])));
    expect(await jobsIn()).toEqual([]);
    await borrowed.close();
  });
});

unsampled('what waits', () => {
  it('is kept as it was given, also if the database takes not all text', async () => {
    const attempts = ['\0', '\ud800', "'; drop table exact_change.attempts; --"].map((method) =>
      attemptOf({ method }),
    );
    for (const one of attempts) {
      await journal.reserve(one, []);
      await journal.release(one.id);
    }
    expect((await take()).map(({ event }) => event.data.method)).toEqual(
      attempts.map(({ method }) => method),
    );
  });

  it('is dropped neither for its age, nor for the number of its tries, nor by the upkeep of pg-boss', async () => {
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
      // A lease that is long over, by the clock of the database too.
      expect(await take({ now: Date.now() - 1_000, leaseMs: 1, limit: 1 })).toHaveLength(1);
      await boss.maintain();
    }
    await boss.stop({ graceful: false });
    expect(await jobsIn()).toHaveLength(3);
    expect((await take({ now: Date.now() + LEASE_MS })).map(({ id }) => id)).toContain(first?.id);
    expect(await jobsIn()).toHaveLength(3);
  });
});

unsampled('an outbox', () => {
  it.each(['yes', 1, null])('is asked for by true or false, not by %j', (outboxOption) => {
    const options: object = {
      connectionString: 'postgres://user:a-secret-word@localhost/payments',
      outbox: outboxOption,
    };
    const error = errorOf(() => postgresJournal(options as PostgresJournalOptions));
    expect(error).toMatchObject({ code: 'invalid_option', details: { option: 'outbox' } });
    expect(String(error)).not.toContain('a-secret-word');
  });

  it('without the package pg-boss makes the first call say what to install, before anything is written; when no journal asked for it, it is not missed', async () => {
    await open({ schema: 'told' }).outbox.endpoints();
    const missing = {
      name: 'ConfigError',
      code: 'missing_dependency',
      message: expect.stringContaining('npm install pg-boss'),
      details: { packages: ['pg-boss'] },
    };
    const hook = `export const resolve = (name, context, next) => {
      if (name === 'pg-boss') throw Object.assign(new Error('not there'), { code: 'ERR_MODULE_NOT_FOUND' });
      return next(name, context);
    };`;
    const script = `
      import { register } from 'node:module';
      register('data:text/javascript,' + encodeURIComponent(${JSON.stringify(hook)}));
      const { postgresJournal } = await import('./adapters/journals/postgres.ts');
      const { attemptOf } = await import('./test/helpers/attempts.ts');
      const told = [];
      // The last finds a schema whose events another journal keeps.
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
