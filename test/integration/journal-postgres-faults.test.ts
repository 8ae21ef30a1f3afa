import { inspect } from 'node:util';
import { postgresJournal, type PostgresJournal } from 'exact-change/journal/postgres';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { attemptOf, dayCap, listOf, NOW, signedSwapOf } from '../helpers/attempts.js';
import { until } from '../helpers/chain.js';
import { failureOf } from '../helpers/payer.js';
import { poolerOf, type Next, type Pooler } from '../helpers/pooler.js';
import {
  startPostgres,
  wireTo,
  withClient,
  type Postgres,
  type Wire,
} from '../helpers/postgres.js';
import { seenSince } from '../helpers/seen-since.js';

const owner = { wallet: 'wallet', network: 'network' };

let postgres: Postgres;
let address: string;
let wire: Wire;
/** Reaches the database over the wire. */
let journal: PostgresJournal;
/** Reaches the database directly. */
let other: PostgresJournal;

beforeAll(async () => {
  postgres = await startPostgres();
});
afterAll(() => postgres.stop());
beforeEach(async () => {
  address = await postgres.createDatabase();
  wire = await wireTo(address);
  journal = postgresJournal({ connectionString: wire.address, timeoutMs: 4_000 });
  other = postgresJournal({ connectionString: address });
  // The other journal creates the tables: a busy machine may need longer.
  for (const opened of [other, journal]) await opened.used(owner, [], NOW);
});
afterEach(async () => {
  await Promise.all([journal.close(), other.close()]);
  await wire.close();
});

/** Returns every call of a journal, with its name. */
function callsOf(opened: PostgresJournal): [string, () => Promise<unknown>][] {
  const { ledger, locks, claims, next } = opened.coordination(owner);
  const attempt = attemptOf();
  return [
    ['reserve', () => opened.reserve(attempt, [dayCap(1_000_000n)])],
    ['put', () => opened.put({ ...attempt, state: 'signed' })],
    ['release', () => opened.release(attempt.id)],
    ['similar', () => opened.similar(owner, 'fingerprint', undefined)],
    ['attempts', () => listOf(opened.attempts(owner))],
    ['used', () => opened.used(owner, [dayCap(0n)], NOW)],
    ['ledger.available', () => ledger.available('account', seenSince(0))],
    ['ledger.see', () => ledger.see('account', { amount: 1n, at: 0 })],
    ['ledger.take', () => ledger.take('account', 'one', 1n, seenSince(0))],
    ['locks.hold', () => locks.hold(['a', 'b'], async () => 'held')],
    ['claims.take', () => claims.take(['one'])],
    ['claims.live', () => claims.live(['one'])],
    ['claims.drop', () => claims.drop(['one'])],
    ['next', () => next('name')],
  ];
}

async function works(opened: PostgresJournal): Promise<void> {
  for (const [, call] of callsOf(opened)) await call();
}

describe('a database that stops answering', () => {
  it('fails each call in time, and serves calls again once it answers', async () => {
    await works(journal);
    wire.silence();
    const failures = await Promise.all(
      callsOf(journal).map(([, call]) => failureOf(call(), 'journal_unavailable')),
    );
    expect(failures.map(({ funds, retry }) => [funds, retry])).toEqual(
      failures.map(() => ['untouched', 'fresh']),
    );
    wire.speak();
    await works(journal);
  });

  it('fails queued calls in time too', async () => {
    wire.silence();
    const calls = Array.from({ length: 60 }, () => journal.reserve(attemptOf(), []));
    await Promise.all(calls.map((call) => failureOf(call, 'journal_unavailable')));
    wire.speak();
    await works(journal);
  });

  it('does not keep close() from ending', async () => {
    const { claims } = journal.coordination(owner);
    await works(journal);
    await claims.take(['one']);
    wire.silence();
    const call = failureOf(journal.used(owner, [], NOW), 'journal_unavailable');
    await journal.close();
    await call;
  });

  it('fails each call in time before its tables exist', async () => {
    // Enough time to create the tables, also on a busy machine.
    const timeoutMs = 8_000;
    const connectionString = wire.address;
    const fresh = postgresJournal({ connectionString, timeoutMs, schema: 'fresh' });
    wire.silence();
    await Promise.all(callsOf(fresh).map(([, call]) => failureOf(call(), 'journal_unavailable')));
    wire.speak();
    // A call that joins a look for the tables from before fails with that look.
    await until('the tables are there', () => fresh.used(owner, [], NOW).catch(() => undefined));
    await works(fresh);
    await fresh.close();
  });
});

describe('a lost connection', () => {
  it('fails no later call if it was idle', async () => {
    await works(journal);
    wire.cut();
    // The pool may hand out a connection before it sees that it has ended.
    await until('a connection is there again', () =>
      journal.used(owner, [], NOW).catch(() => undefined),
    );
    await works(journal);
  });

  it.each(['own', "caller's"])(
    'fails only its call if it ends as the %s pool gets it',
    async (whose) => {
      const connectionString = wire.address;
      const pool = new pg.Pool({ connectionString });
      const opened = postgresJournal(whose === 'own' ? { connectionString } : { pool });
      wire.refuseNext();
      // Without a listener, the error would end the process.
      await failureOf(opened.used(owner, [], NOW), 'journal_unavailable');
      expect(await opened.used(owner, [], NOW)).toEqual([]);
      await opened.close();
      await pool.end();
    },
  );

  it.each([
    ['comes back by itself with its claims and locks', 'cut'],
    ['comes back with them although the database did not notice the loss', 'vanish'],
  ] as const)('%s', async (_, loss) => {
    const { claims, locks } = journal.coordination(owner);
    const theirs = other.coordination(owner);
    await claims.take(['one']);
    const order: string[] = [];
    let finish = (): void => undefined;
    const working = new Promise<void>((resolve) => (finish = resolve));
    let begin = (): void => undefined;
    const begun = new Promise<void>((resolve) => (begin = resolve));
    const held = locks.hold(['swap'], async () => {
      begin();
      await working;
      order.push('first');
    });
    await begun;
    const before = await holdersOf(address);
    await wire[loss]();
    await until('another connection has them', async () => {
      const now = await holdersOf(address);
      return now.length === before.length && now.join() !== before.join() ? true : undefined;
    });
    expect(await theirs.claims.live(['one'])).toEqual(new Set(['one']));
    const after = theirs.locks.hold(['swap'], async () => order.push('second'));
    // One round trip of the other journal, so that its try for the lock is over.
    await theirs.locks.hold(['another'], async () => undefined);
    finish();
    await Promise.all([held, after]);
    expect(order).toEqual(['first', 'second']);
  });

  it('fails the calls under way when the database stops, and later calls find the database again', async () => {
    const attempt = attemptOf({ idempotencyKey: 'key' });
    await journal.reserve(attempt, [dayCap(20_000n)]);
    const { claims, locks } = journal.coordination(owner);
    await claims.take([attempt.id]);
    const busy = Array.from({ length: 50 }, () =>
      other.reserve(attemptOf({ wallet: 'another' }), []).catch((error: unknown) => error),
    );
    await postgres.kill();
    const unwritten = (await Promise.all(busy)).filter((outcome) => outcome !== undefined);
    for (const error of unwritten) expect(error).toMatchObject({ code: 'journal_unavailable' });
    for (const [, call] of callsOf(journal)) await failureOf(call(), 'journal_unavailable');
    await postgres.start();
    await until('the claim is back', async () => {
      const live = await other
        .coordination(owner)
        .claims.live([attempt.id])
        .catch(() => undefined);
      return live?.has(attempt.id);
    });
    expect(await listOf(journal.attempts(owner))).toEqual([attempt]);
    expect(await journal.reserve(attemptOf(), [dayCap(20_000n)])).toBeUndefined();
    expect(await journal.reserve(attemptOf(), [dayCap(20_000n)])).toMatchObject({
      used: 20_000n,
    });
    expect(await locks.hold(['swap'], async () => 'held')).toBe('held');
    await journal.put({ ...attempt, state: 'signed' });
    // Every write that succeeded is there; writes that failed may be there too.
    const kept = await listOf(other.attempts({ ...owner, wallet: 'another' }));
    expect(kept.length).toBeGreaterThanOrEqual(50 - unwritten.length);
  });
});

describe('a database that ends idle sessions', () => {
  it('leaves a journal its locks and claims', async () => {
    const name = new URL(address).pathname.slice(1);
    await withClient(address, (client) =>
      client.query(`alter database ${name} set idle_session_timeout = '3s'`),
    );
    const opened = postgresJournal({ connectionString: address });
    await opened.coordination(owner).locks.hold(['swap'], async () => {
      const before = await holdersOf(address);
      const idle = new pg.Client({ connectionString: address });
      idle.on('error', () => undefined);
      await idle.connect();
      // It was idle after the journal was.
      await new Promise<void>((resolve) => idle.on('end', () => resolve()));
      expect(before.length).toBeGreaterThan(0);
      expect(await holdersOf(address)).toEqual(before);
    });
    await opened.close();
  });
});

describe('a database whose commits do not wait for its disk', () => {
  it('has each signed swap or payment on record when it ends as by a power failure', async () => {
    const name = new URL(address).pathname.slice(1);
    await withClient(address, (client) =>
      client.query(`alter database ${name} set synchronous_commit = off`),
    );
    // Otherwise the database may write a commit by itself before it ends.
    await withClient(address, (client) =>
      client.query('alter system set wal_writer_delay = 10000'),
    );
    await withClient(address, (client) => client.query('select pg_reload_conf()'));
    const opened = postgresJournal({ connectionString: address });
    const end = async () => {
      await postgres.kill();
      await postgres.start();
    };
    try {
      const attempts = ['put', 'raised'].map((id) => attemptOf({ id }));
      const [put, raised] = attempts.map((attempt) => ({ ...attempt, swap: signedSwapOf() }));
      for (const attempt of attempts) await opened.reserve(attempt, []);
      await opened.put(put!);
      // A raise has a transaction of several statements, as a write with events does.
      await opened.raise(raised!, [dayCap(1_000_000n)]);
      await end();
      expect(await listOf(other.attempts(owner))).toEqual([put, raised]);
      const reserved = attemptOf({ id: 'reserved', swap: signedSwapOf() });
      await opened.reserve(reserved, [dayCap(1_000_000n)]);
      await end();
      expect(await listOf(other.attempts(owner))).toEqual([put, raised, reserved]);
    } finally {
      await opened.close();
      await withClient(address, (client) => client.query('alter system reset wal_writer_delay'));
    }
  });
});

describe('a pooler before the database', () => {
  let pooler: Pooler;
  let journals: PostgresJournal[];
  const open = async (size: number, next: Next) => {
    pooler = await poolerOf(address, size, next);
    journals = [1, 2].map(() => postgresJournal({ connectionString: pooler.address }));
    return journals;
  };
  afterEach(async () => {
    await Promise.all(journals.map((opened) => opened.close()));
    await pooler.close();
  });
  const refused = async (call: () => Promise<unknown>) => {
    const error = await failureOf(call(), 'invalid_option');
    expect(error).toMatchObject({ funds: 'untouched', details: { option: 'connectionString' } });
    expect(error.message).toContain('session mode');
  };

  it.each<[number, Next]>([
    [1, 'last'],
    [2, 'first'],
    [5, 'last'],
    [5, 'first'],
  ])(
    'is refused before anything is written or held if %i connections serve all; next: %s',
    async (size, next) => {
      const opened = await open(size, next);
      pooler.share();
      for (const each of opened) {
        const { claims, locks } = each.coordination(owner);
        const attempt = attemptOf();
        await refused(() => locks.hold(['swap'], async () => 'held'));
        await refused(() => claims.take(['one']));
        await refused(() => each.reserve(attempt, [], { claim: [attempt.id] }));
      }
      expect(await listOf(other.attempts(owner))).toEqual([]);
      expect(await holdersOf(address)).toEqual([]);
    },
  );

  it('is refused when it begins to share the connections of a journal that is open', async () => {
    const [first] = await open(5, 'last');
    const { claims, locks } = first!.coordination(owner);
    await claims.take(['one']);
    expect(await locks.hold(['swap'], async () => 'held')).toBe('held');
    pooler.share();
    await refused(() => locks.hold(['swap'], async () => 'held'));
    await refused(() => claims.take(['two']));
  });

  it('serves journals that exclude each other if it keeps their sessions', async () => {
    const [first, second] = await open(5, 'last');
    const order: string[] = [];
    let after: Promise<unknown> | undefined;
    await first!.coordination(owner).locks.hold(['swap'], async () => {
      const { locks } = second!.coordination(owner);
      after = locks.hold(['swap'], async () => order.push('second'));
      await locks.hold(['another'], async () => undefined);
      order.push('first');
    });
    await after;
    expect(order).toEqual(['first', 'second']);
  });
});

describe('the errors and objects of a journal', () => {
  it.each([
    ['a wrong password', (url: URL) => (url.password = 'another-secret-word')],
    ['a missing server', (url: URL) => (url.port = '1')],
    ['an unreadable address', (url: URL) => (url.pathname = '/%zz')],
    ['a missing database', (url: URL) => (url.pathname = '/nowhere')],
  ])('holds no address or password after %s', async (_, change) => {
    const url = new URL(address);
    change(url);
    const failing = postgresJournal({ connectionString: url.href, timeoutMs: 5_000 });
    const error = await failureOf(failing.reserve(attemptOf(), []));
    const seen = [failing, error, failing.coordination(owner)]
      .map((thing) => inspect(thing, { depth: Infinity, showHidden: true }))
      .join();
    for (const secret of [url.password, url.href]) expect(seen).not.toContain(secret);
    expect(JSON.stringify(error)).not.toContain(url.password);
    await failing.close();
  });
});

/** Returns the database processes that hold session locks, by their process ids. */
function holdersOf(database: string): Promise<string[]> {
  return withClient(database, async (client) => {
    const text = `select l.pid::text from pg_locks l join pg_database d on d.oid = l.database
      where d.datname = current_database() and locktype = 'advisory' order by 1`;
    return (await client.query<{ pid: string }>(text)).rows.map(({ pid }) => pid);
  });
}
