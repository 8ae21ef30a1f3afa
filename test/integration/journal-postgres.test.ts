import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { isExactChangeError, type ExactChangeError } from 'exact-change';
import { postgresJournal, type PostgresJournalOptions } from 'exact-change/journal/postgres';
import pg from 'pg';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { attemptOf, dayCap, idsOf, listOf, NOW } from '../helpers/attempts.js';
import { until } from '../helpers/chain.js';
import { createDatabase } from '../helpers/database.js';
import { failureOf } from '../helpers/payer.js';
import { withClient } from '../helpers/postgres.js';
import { seenSince } from '../helpers/seen-since.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const owner = { wallet: 'wallet', network: 'network' };

let address: string;

const useFreshDatabase = () =>
  beforeEach(async () => {
    address = await createDatabase();
  });

function ask(text: string, values?: unknown[]): Promise<Record<string, unknown>[]> {
  return withClient(
    address,
    async (client) => (await client.query<Record<string, unknown>>(text, values)).rows,
  );
}

describe('options', () => {
  const connectionString = 'postgres://user:a-secret-word@localhost/payments';
  const pool = new pg.Pool();

  it.each<[string, string, unknown]>([
    ['no place', 'connectionString', {}],
    ['two places', 'connectionString', { connectionString, pool }],
    [
      'an address of another protocol',
      'connectionString',
      { connectionString: 'https://user:a-secret-word@localhost/' },
    ],
    ['an empty address', 'connectionString', { connectionString: '' }],
    ['an address that is no text', 'connectionString', { connectionString: 5 }],
    ['no time', 'timeoutMs', { connectionString, timeoutMs: 0 }],
    ['endless time', 'timeoutMs', { connectionString, timeoutMs: Infinity }],
    ['time as text', 'timeoutMs', { connectionString, timeoutMs: '1; drop table attempts' }],
    ['an empty schema', 'schema', { connectionString, schema: '' }],
    [
      'a schema that ends its quotes',
      'schema',
      { connectionString, schema: 'a"; drop table attempts; --' },
    ],
    ['a schema in capitals', 'schema', { connectionString, schema: 'Payments' }],
    ['a schema of the database itself', 'schema', { connectionString, schema: 'pg_catalog' }],
    ['a schema whose name would be cut', 'schema', { connectionString, schema: 'a'.repeat(64) }],
    ['a schema that is no text', 'schema', { connectionString, schema: ['payments'] }],
  ])('are refused at once, without the address in the error, for %s', (_, option, options) => {
    // Callers in plain JavaScript may give anything.
    const error = errorOf(() => postgresJournal(options as PostgresJournalOptions));
    expect(error).toMatchObject({ code: 'invalid_option', details: { option } });
    expect(error.message).not.toContain('a-secret-word');
  });

  it('open no connection before the first call', async () => {
    let connections = 0;
    const silent = {
      connect: () => Promise.reject(new Error(`${(connections += 1)}`)),
      on: () => undefined,
      removeListener: () => undefined,
    };
    const journal = postgresJournal({ pool: silent });
    journal.coordination(owner);
    await journal.close();
    expect(connections).toBe(0);
  });
});

/** Waits until a number of sessions wait for locks. */
function untilWaiting(sessions: number): Promise<unknown> {
  const text = `select count(*)::int as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  return until(`${sessions} sessions wait`, async () =>
    (await ask(text))[0]?.['n'] === sessions ? true : undefined,
  );
}

function untilLocked(account: string): Promise<unknown> {
  const text = 'select from exact_change.books where account = $1 for update skip locked';
  return until(`another session holds ${account}`, () =>
    withClient(address, async (client) =>
      (await client.query(text, [account])).rowCount === 0 ? true : undefined,
    ),
  );
}

function errorOf(work: () => unknown): ExactChangeError {
  try {
    work();
  } catch (error) {
    if (isExactChangeError(error)) return error;
    throw error;
  }
  throw new Error('Nothing was thrown.');
}

describe('tables', () => {
  useFreshDatabase();

  it('share no attempts, claims or locks between schemas', async () => {
    const [first, second] = ['one', 'two'].map((schema) =>
      postgresJournal({ connectionString: address, schema }),
    );
    const attempt = attemptOf({ idempotencyKey: 'key' });
    await first!.reserve(attempt, []);
    expect(await listOf(second!.attempts(owner))).toEqual([]);
    expect(
      await second!.reserve(attemptOf({ idempotencyKey: 'key' }), [dayCap(10_000n)]),
    ).toBeUndefined();
    await first!.coordination(owner).claims.take([attempt.id]);
    expect(await second!.coordination(owner).claims.live([attempt.id])).toEqual(new Set());
    await first!
      .coordination(owner)
      .locks.hold(['swap'], () =>
        second!.coordination(owner).locks.hold(['swap'], async () => undefined),
      );
    await Promise.all([first!.close(), second!.close()]);
  });

  it('stay unchanged if they are of a newer version', async () => {
    const first = postgresJournal({ connectionString: address });
    await first.reserve(attemptOf(), []);
    await first.close();
    await ask('update exact_change.version set version = 6');
    const journal = postgresJournal({ connectionString: address });
    const error = await failureOf(journal.reserve(attemptOf(), []), 'invalid_option');
    expect(error.message).toContain('version 6');
    await failureOf(
      journal.coordination(owner).locks.hold(['swap'], async () => undefined),
      'invalid_option',
    );
    await journal.close();
    expect(await ask('select count(*)::int as n from exact_change.attempts')).toEqual([{ n: 1 }]);
  });

  it.each([2, 3, 4])(
    'are migrated from version %i by the first of the processes that find them',
    async (version) => {
      const before = postgresJournal({ connectionString: address });
      const attempt = attemptOf();
      await before.reserve(attempt, []);
      await before.close();
      if (version === 2)
        await ask(`
        drop function exact_change.reserve, exact_change.put, exact_change.release;
        drop function exact_change.along, exact_change.book_held, exact_change.book_freed, exact_change.book_spent;
        create function exact_change.reserve(text) returns text language sql as $$ select '' $$`);
      await ask(
        'create or replace function exact_change.tally() returns trigger language plpgsql as $$ begin return null; end $$',
      );
      await ask('update exact_change.version set version = $1', [version]);
      const journals = Array.from({ length: 3 }, () =>
        postgresJournal({ connectionString: address }),
      );
      await Promise.all(journals.map((journal) => journal.reserve(attemptOf(), [dayCap(40_000n)])));
      expect(
        await ask(
          "select count(*)::int as n from exact_change.spent where cost = 40000 and unit = 'USD'",
        ),
      ).toEqual([{ n: 1 }]);
      await journals[0]!.put({ ...attempt, state: 'signed' });
      expect(await idsOf(journals[1]!.attempts(owner, { state: 'signed' }))).toEqual([attempt.id]);
      await Promise.all(journals.map((journal) => journal.close()));
      expect(await ask('select version from exact_change.version')).toEqual([{ version: 5 }]);
    },
  );

  it('serve a user without the right to create tables', async () => {
    const maker = postgresJournal({ connectionString: address });
    await maker.reserve(attemptOf(), []);
    await maker.close();
    const name = `user_${new URL(address).pathname.slice(1)}`;
    await ask(`create role ${name} login password 'plain'`);
    await ask(`grant usage on schema exact_change to ${name}`);
    await ask(
      `grant select, insert, update, delete on all tables in schema exact_change to ${name}`,
    );
    const url = Object.assign(new URL(address), { username: name, password: 'plain' });
    const journal = postgresJournal({ connectionString: url.href });
    const { ledger, locks, claims, next } = journal.coordination(owner);
    expect(await journal.reserve(attemptOf(), [dayCap(20_000n)])).toBeUndefined();
    await ledger.see('account', { amount: 5n, at: 0 });
    await claims.take(['one']);
    expect([
      await locks.hold(['swap'], () => next('name')),
      await ledger.available('account', seenSince(0)),
    ]).toEqual([1, 5n]);
    await journal.close();
  });

  it('refuse a database with an isolation level that hides earlier commits', async () => {
    const maker = postgresJournal({ connectionString: address });
    await maker.used(owner, [], NOW);
    await maker.close();
    await ask(
      `alter database ${new URL(address).pathname.slice(1)} set default_transaction_isolation = 'repeatable read'`,
    );
    const journal = postgresJournal({ connectionString: address });
    const error = await failureOf(journal.reserve(attemptOf(), []), 'journal_unavailable');
    expect(String(error.cause)).toContain('read committed');
    await journal.close();
  });

  it('keep correct sums when attempts are changed by hand', async () => {
    const journal = postgresJournal({ connectionString: address });
    const attempts = Array.from({ length: 6 }, (_, index) =>
      attemptOf({ state: 'settled', at: NOW - index * 1_800_000, microUsd: String(index + 1) }),
    );
    for (const attempt of attempts) await journal.reserve(attempt, []);
    await ask('delete from exact_change.attempts where 2 = any (costs)');
    await ask(
      'update exact_change.attempts set costs = array_replace(costs, 3, 30) where 3 = any (costs)',
    );
    await ask(`update exact_change.attempts set units = '{}', costs = '{}' where 4 = any (costs)`);
    const caps = [
      dayCap(0n),
      dayCap(0n, { windowMs: 3_600_000 }),
      dayCap(0n, { unit: 'payments' }),
    ];
    expect(await journal.used(owner, caps, NOW)).toEqual([42n, 1n, 4n]);
    await journal.close();
  });

  it('let two writes that change the sums of several hosts run without a deadlock', async () => {
    const journal = postgresJournal({ connectionString: address, timeoutMs: 100_000 });
    const reserve = (host: string) => journal.reserve(attemptOf({ host, payTo: host }), []);
    await Promise.all(['a', 'b'].map(reserve));
    await withClient(address, async (client) => {
      const give = (host: string) =>
        client.query(
          `update exact_change.attempts set units = '{}', costs = '{}' where host = $1 and id = (select min(id) from exact_change.attempts where host = $1)`,
          [host],
        );
      await client.query('begin');
      await give('a');
      // The first reservation goes alone, the next two in one statement.
      const reserved = ['c', 'b', 'a'].map(reserve);
      await untilWaiting(1);
      await give('b');
      await client.query('commit');
      expect(await Promise.all(reserved)).toEqual([undefined, undefined, undefined]);
    });
    await journal.close();
    const text = `select deadlocks::int from pg_stat_database where datname = current_database()`;
    expect(await ask(text)).toEqual([{ deadlocks: 0 }]);
  });

  it('make a change again as often as Postgres rolls it back to undo a deadlock', async () => {
    const journal = postgresJournal({ connectionString: address, timeoutMs: 100_000 });
    const { ledger } = journal.coordination(owner);
    const accounts = ['a', 'b'];
    for (const account of accounts) await ledger.hold(account, 'id', 5n);
    await withClient(address, async (client) => {
      const lock = (account: string) =>
        client.query('select from exact_change.books where account = $1 for update', [account]);
      // The release waits for 'b' last, so it finds the deadlock, unless this session looks later.
      await client.query("set deadlock_timeout = '1h'; begin");
      await lock('b');
      await client.query('savepoint without_a');
      await lock('a');
      const released = journal.release('id', { free: accounts });
      for (const _ of [1, 2]) {
        await untilWaiting(1);
        await client.query('rollback to without_a');
        await untilLocked('a');
        await lock('a');
      }
      await client.query('commit');
      await released;
    });
    expect(await Promise.all(accounts.map(ledger.held))).toEqual([0n, 0n]);
    await journal.close();
    const text = `select deadlocks >= 2 as enough from pg_stat_database where datname = current_database()`;
    expect(await ask(text)).toEqual([{ enough: true }]);
  });

  it.each(['reserve', 'put'] as const)(
    'keep no %s that was still waiting for a lock when its call failed',
    async (step) => {
      const pool = new pg.Pool({ connectionString: address, max: 1 });
      // Long, because a tenth of what is left after the wait for a connection is for the way there.
      const timeoutMs = 4_000;
      const journal = postgresJournal({ pool, timeoutMs });
      const patient = postgresJournal({ connectionString: address });
      const attempt = attemptOf();
      if (step === 'put') await patient.reserve(attempt, []);
      else await patient.used(owner, [], NOW);
      const before = await listOf(patient.attempts(owner));
      await withClient(address, async (client) => {
        await client.query('begin; lock table exact_change.attempts');
        // The call spends most of its time before its statement reaches the database.
        const busy = await pool.connect();
        setTimeout(() => busy.release(), (timeoutMs * 3) / 4);
        const signed = { ...attempt, state: 'signed' as const };
        const call = step === 'put' ? journal.put(signed) : journal.reserve(attempt, []);
        await failureOf(call, 'journal_unavailable');
        // A busy database may begin its wait late. A wait for the whole time of the call would not
        // be over by then.
        await new Promise((resolve) => setTimeout(resolve, timeoutMs / 2));
        await client.query('commit');
      });
      await until('the database has done all statements', async () => {
        const text = `select count(*)::int as n from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and state = 'active'`;
        return (await ask(text))[0]?.['n'] === 0 ? true : undefined;
      });
      expect(await listOf(patient.attempts(owner))).toEqual(before);
      await Promise.all([journal.close(), patient.close()]);
      await pool.end();
    },
  );

  it('delete counters that are a day old when a new counter is made', async () => {
    const journal = postgresJournal({ connectionString: address });
    const { next } = journal.coordination(owner);
    expect([await next('old'), await next('old'), await next('young')]).toEqual([1, 2, 1]);
    await ask(
      `update exact_change.counters set used_at = now() - interval '25 hours' where name = 'old'`,
    );
    expect(await next('newest')).toBe(1);
    expect(await ask('select name from exact_change.counters order by name')).toEqual([
      { name: 'newest' },
      { name: 'young' },
    ]);
    await journal.close();
  });

  it('answer every query by an index, however many attempts there are', async () => {
    const journal = postgresJournal({ connectionString: address });
    await journal.used(owner, [], NOW);
    await ask(
      `insert into exact_change.attempts (id, wallet, network, state, keep, at, host, bare_host, pay_to, mint, units, costs, request, record)
       select n, 'wallet', 'network', 'settled', true, $1::float8 - n * 4320, 'a', 'a', 'b', 'c', '{USD,payments}', '{1,1}', n, '{}' from generate_series(1, 20000) n`,
      [NOW],
    );
    await ask('vacuum analyze exact_change.attempts');
    const scans = async () => {
      const text = `select idx_scan::int as found, seq_tup_read::int as read from pg_stat_user_tables where schemaname = 'exact_change' and relname = 'attempts'`;
      return (await ask(text))[0] as { found: number; read: number };
    };
    const before = await scans();
    const attempt = attemptOf({ idempotencyKey: 'key' });
    await journal.reserve(attempt, [dayCap(10n ** 9n)]);
    await journal.put({ ...attempt, state: 'signed' });
    expect(await journal.similar(owner, 'fingerprint', undefined)).toHaveLength(1);
    expect(await journal.similar(owner, '', 'key')).toHaveLength(1);
    expect(await idsOf(journal.attempts(owner, { state: 'signed' }))).toEqual([attempt.id]);
    // Sessions report their counts when they end.
    await journal.close();
    const after = await until('the counts are there', async () => {
      const counts = await scans();
      return counts.found >= before.found + 5 ? counts : undefined;
    });
    expect(after.read).toBe(before.read);
  });
});

describe('the fields of an attempt', () => {
  useFreshDatabase();

  it('may contain text that the database itself refuses', async () => {
    const journal = postgresJournal({ connectionString: address });
    const odd = [
      '\0',
      '\ud800',
      '\udc00',
      'x'.repeat(10_000),
      "'; drop table exact_change.attempts; --",
    ];
    const attempts = odd.map((text) =>
      attemptOf({ idempotencyKey: text, fingerprint: text, url: `https://api.test/${text}` }),
    );
    for (const attempt of attempts) expect(await journal.reserve(attempt, [])).toBeUndefined();
    expect(await listOf(journal.attempts(owner))).toEqual(attempts);
    for (const [index, text] of odd.entries()) {
      expect(await journal.similar(owner, text, undefined)).toEqual([attempts[index]]);
      expect(await journal.similar(owner, '', text)).toEqual([attempts[index]]);
      expect(await journal.reserve(attemptOf({ idempotencyKey: text }), [])).toEqual({
        taken: attempts[index],
      });
    }
    const { claims } = journal.coordination(owner);
    for (const text of odd) await claims.take([text]);
    expect(await claims.live(odd)).toEqual(new Set(odd));
    await journal.close();
  });
});

describe('reservations in one statement', () => {
  useFreshDatabase();

  it('fail alone if an attempt is invalid, and count toward the caps of later ones', async () => {
    const journal = postgresJournal({ connectionString: address });
    const first = attemptOf();
    await journal.reserve(first, []);
    const attempts = Array.from({ length: 70 }, (_, index) =>
      index === 5 || index === 15 ? first : attemptOf({ idempotencyKey: `${index % 35}` }),
    );
    const cap = dayCap(260_000n);
    const results = await Promise.allSettled(
      attempts.map((attempt) => journal.reserve(attempt, [cap])),
    );
    const failed = results.filter(({ status }) => status === 'rejected');
    const values = results.flatMap((result) =>
      result.status === 'fulfilled' ? [result.value] : [],
    );
    expect(failed).toHaveLength(2);
    expect(values.slice(0, 25)).toEqual(Array.from({ length: 25 }, () => undefined));
    for (const value of values.slice(25)) expect(value).toEqual(expect.anything());
    expect(await journal.used(owner, [cap], NOW)).toEqual([260_000n]);
    await journal.close();
  });
});

describe('the statements of a payment', () => {
  useFreshDatabase();

  it('take one round trip for each step, and none for a balance that was read before', async () => {
    const pool = new pg.Pool({ connectionString: address });
    const clients: { readonly mock: { readonly calls: readonly unknown[] } }[] = [];
    pool.on('connect', (client) => void clients.push(vi.spyOn(client, 'query')));
    const statements = () => clients.flatMap(({ mock }) => mock.calls).length;
    const journal = postgresJournal({ pool });
    const { ledger, claims } = journal.coordination(owner);
    await claims.take(['before']);
    await ledger.see('account', { amount: 30_000n, at: NOW, slot: 7 });
    const attempt = attemptOf({ amount: '10000' });
    const signed = { ...attempt, state: 'signed' as const };
    const hold = { account: 'account', fresh: seenSince(0), unless: 'swap' };
    const steps: readonly (readonly [() => Promise<unknown>, unknown, number])[] = [
      [() => journal.similar(owner, 'fingerprint', undefined), [], 1],
      [() => ledger.available('account', seenSince(0)), 30_000n, 0],
      [
        () => journal.reserve(attempt, [dayCap(20_000n)], { claim: [attempt.id] }, hold),
        { before: { amount: 30_000n, slot: 7 } },
        1,
      ],
      [() => journal.put(signed, { claim: ['its body'] }), undefined, 1],
      [
        () => journal.put({ ...signed, delivered: true }, { drop: [attempt.id, 'its body'] }),
        undefined,
        1,
      ],
      [
        () =>
          journal.put(
            { ...signed, state: 'settled', delivered: true },
            { spend: { account: 'account', slot: 8 } },
          ),
        undefined,
        1,
      ],
      [() => ledger.available('account', seenSince(0)), 20_000n, 1],
    ];
    for (const [step, result, count] of steps) {
      const before = statements();
      expect([await step(), statements() - before]).toEqual([result, count]);
    }
    expect(await ledger.held('account')).toBe(0n);
    expect(await claims.live([attempt.id, 'its body', 'before'])).toEqual(new Set(['before']));
    await journal.close();
    await pool.end();
  });
});

describe('connections', () => {
  useFreshDatabase();

  const connectionsOf = () =>
    ask(
      'select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() order by pid',
    );

  it('are as few for a hundred locks as for one, and none remains after close()', async () => {
    const journal = postgresJournal({ connectionString: address });
    const { locks, claims } = journal.coordination(owner);
    const useOnce = async () => {
      await locks.hold(['a', 'b'], () => claims.take(['one']));
      await claims.drop(['one']);
    };
    await useOnce();
    const before = await connectionsOf();
    for (let round = 0; round < 100; round += 1) await useOnce();
    // The pool may have closed one that was idle.
    expect((await connectionsOf()).length).toBeLessThanOrEqual(before.length);
    expect(before.length).toBeLessThanOrEqual(2);
    await journal.close();
    await journal.close();
    expect(await ask('select id from exact_change.claims')).toEqual([]);
  });

  it('may come from a pool of the caller, which stays open', async () => {
    const pool = new pg.Pool({ connectionString: address, max: 2 });
    const journal = postgresJournal({ pool, timeoutMs: 100_000 });
    const { locks, claims, ledger } = journal.coordination(owner);
    const attempts = Array.from({ length: 20 }, () => attemptOf());
    await claims.take(['one']);
    await locks.hold(['swap'], () =>
      Promise.all(attempts.map((attempt) => journal.reserve(attempt, [dayCap(150_000n)]))),
    );
    await ledger.see('account', { amount: 1n, at: 0 });
    expect(await journal.used(owner, [dayCap(0n)], NOW)).toEqual([150_000n]);
    // No other code listens to errors of this pool.
    await ask(
      'select pg_terminate_backend(pid, 60000) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
    );
    await journal.used(owner, [], NOW).catch(() => undefined);
    expect(await claims.live(['none'])).toEqual(new Set());
    await journal.close();
    expect(pool.listenerCount('error')).toBe(0);
    expect((await pool.query<{ n: number }>('select 1 as n')).rows).toEqual([{ n: 1 }]);
    await pool.end();
  });

  it('refuse calls after close()', async () => {
    const journal = postgresJournal({ connectionString: address });
    const attempt = attemptOf();
    await journal.reserve(attempt, []);
    const late = journal.put({ ...attempt, state: 'signed' });
    await journal.close();
    await late;
    const { claims, locks } = journal.coordination(owner);
    const calls = [
      journal.used(owner, [], NOW),
      listOf(journal.attempts(owner)),
      claims.take(['one']),
      locks.hold(['a'], async () => 'held'),
    ];
    for (const call of calls)
      expect((await failureOf(call, 'journal_unavailable')).message).toContain('closed');
  });
});

describe('postgresJournal, without the package pg', () => {
  it('fails a call with the name of the package to install', () => {
    const hook = `export const resolve = (name, context, next) => {
      if (name === 'pg') throw Object.assign(new Error('not there'), { code: 'ERR_MODULE_NOT_FOUND' });
      return next(name, context);
    };`;
    const script = `
      import { register } from 'node:module';
      register('data:text/javascript,' + encodeURIComponent(${JSON.stringify(hook)}));
      const { postgresJournal } = await import('./adapters/journals/postgres.ts');
      const journal = postgresJournal({ connectionString: 'postgres://localhost/payments' });
      try { await journal.release('one'); } catch ({ name, code, message, details }) { console.log(JSON.stringify({ name, code, message, details })); }
      await journal.close();`;
    const { stdout, stderr } = spawnSync(
      process.execPath,
      ['--import', 'tsx', '--input-type=module', '--eval', script],
      {
        cwd: ROOT,
        encoding: 'utf8',
      },
    );
    expect({ told: JSON.parse(stdout || 'null') as unknown, stderr }).toMatchObject({
      told: {
        name: 'ConfigError',
        code: 'missing_dependency',
        message: expect.stringContaining('npm install pg@8'),
        details: { packages: ['pg@8'] },
      },
      stderr: '',
    });
  });
});
