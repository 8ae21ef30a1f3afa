import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { postgresJournal, type PostgresJournal } from 'exact-change/journal/postgres';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { attemptOf, dayCap, idsOf, NOW } from '../helpers/attempts.js';
import { until } from '../helpers/chain.js';
import { startPostgres, withClient, type Postgres } from '../helpers/postgres.js';
import { seenSince } from '../helpers/seen-since.js';
import { programOf } from '../helpers/program.js';

const program = programOf(fileURLToPath(new URL('./journal-postgres.child.ts', import.meta.url)));
const owner = { wallet: 'wallet', network: 'network' };

let postgres: Postgres;
let address: string;
let journal: PostgresJournal;
const children = new Set<ChildProcess>();

beforeAll(async () => {
  postgres = await startPostgres();
});
afterAll(() => postgres.stop());
beforeEach(async () => {
  address = await postgres.createDatabase();
  journal = postgresJournal({ connectionString: address });
});
afterEach(async () => {
  for (const child of children) child.kill('SIGKILL');
  await journal.close();
});

interface Member {
  readonly child: ChildProcess;
  /** What it tells next; rejects if it ends before. */
  told(): Promise<unknown>;
  readonly exit: Promise<unknown>;
}

function startMember(task: object): Member {
  const child = spawn(process.execPath, [program.path, address, JSON.stringify(task)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  children.add(child);
  const exit = once(child, 'exit').then(([code]: unknown[]) => {
    children.delete(child);
    return code;
  });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  return {
    child,
    exit,
    async told() {
      const { value, done } = await lines.next();
      if (done === true) throw new Error('The process ended before it told anything.');
      return JSON.parse(value);
    },
  };
}

describe('four processes that share a wallet', { timeout: 120_000 }, () => {
  const LIMIT = 3_005_000n;
  interface Told {
    readonly reserved: number;
    readonly winners: readonly string[];
    readonly taken: number;
    readonly numbers: readonly number[];
  }

  it('never spend more than a cap at any instant, give a key to one payment, promise no balance twice, and count no number twice', async () => {
    const { ledger } = journal.coordination(owner);
    await ledger.see('account', { amount: 505n, at: NOW });
    const members = Array.from({ length: 4 }, (_, index) =>
      startMember({
        what: 'race',
        name: `process ${index}`,
        reserves: 200,
        limit: String(LIMIT),
        keys: 20,
        takes: 40,
      }),
    );
    for (const { told } of members) expect(await told()).toBe('ready');

    let over = false;
    const looks: bigint[] = [];
    // Of the attempts themselves, on a connection of its own.
    const observed = withClient(address, async (client) => {
      const text =
        "select coalesce(sum(cost), 0)::text as used from exact_change.attempts, unnest(units, costs) as u (unit, cost) where unit = 'USD'";
      while (!over) looks.push(BigInt((await client.query<{ used: string }>(text)).rows[0]!.used));
    });
    for (const { child } of members) child.stdin?.write('go\n');
    const told = (await Promise.all(members.map((member) => member.told()))) as Told[];
    over = true;
    await observed;
    expect(await Promise.all(members.map(({ exit }) => exit))).toEqual([0, 0, 0, 0]);

    expect(told.reduce((sum, { reserved }) => sum + reserved, 0)).toBe(300);
    expect(Math.max(...told.map(({ reserved }) => reserved))).toBeLessThanOrEqual(200);
    expect(looks.filter((used) => used > LIMIT)).toEqual([]);
    expect(looks.some((used) => used > 0n && used < 3_000_000n)).toBe(true);
    expect(await journal.used(owner, [dayCap(0n)], NOW)).toEqual([3_000_000n]);

    for (const { winners } of told) expect(winners).toEqual(told[0]!.winners);
    expect(new Set(told[0]!.winners).size).toBe(20);

    expect(told.reduce((sum, { taken }) => sum + taken, 0)).toBe(50);
    expect([await ledger.held('account'), await ledger.available('account', seenSince(0))]).toEqual(
      [500n, 5n],
    );

    expect(told.flatMap(({ numbers }) => numbers).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 80 }, (_, index) => index + 1),
    );
  });
});

describe('a process that is killed', { timeout: 120_000 }, () => {
  it('between its reservation and its payment leaves its lock and its claim free, and its reservation to be released', async () => {
    const { claims, locks } = journal.coordination(owner);
    const attempt = attemptOf({ idempotencyKey: 'key' });
    const member = startMember({ what: 'hold', id: attempt.id });
    expect(await member.told()).toBe('holding');

    expect(await claims.live([attempt.id, 'another'])).toEqual(new Set([attempt.id]));
    expect(await journal.reserve(attemptOf({ idempotencyKey: 'key' }), [])).toEqual({
      taken: attempt,
    });
    let entered = false;
    const waiting = locks.hold(['swap'], async () => (entered = true));
    await locks.hold(['another'], async () => undefined);
    expect(entered).toBe(false);

    member.child.kill('SIGKILL');
    expect(await waiting).toBe(true);
    await until('the claim is gone', async () =>
      (await claims.live([attempt.id])).size === 0 ? true : undefined,
    );
    expect(await idsOf(journal.attempts(owner, { state: 'reserved' }))).toEqual([attempt.id]);
    expect(await journal.used(owner, [dayCap(0n)], NOW)).toEqual([10_000n]);

    await journal.release(attempt.id);
    expect(await journal.used(owner, [dayCap(0n)], NOW)).toEqual([0n]);
    expect(
      await journal.reserve(attemptOf({ idempotencyKey: 'key' }), [dayCap(10_000n)]),
    ).toBeUndefined();
    await expect(journal.put({ ...attempt, state: 'signed' })).rejects.toThrow('released');
  });
});

describe('a process that has no more to do', { timeout: 120_000 }, () => {
  it.each([true, false])('ends by itself; journal closed: %s', async (close) => {
    const member = startMember({ what: 'use', close });
    expect(await member.told()).toBe(1);
    expect(await member.exit).toBe(0);
    const { claims, locks } = journal.coordination(owner);
    await until('the claim is gone', async () =>
      (await claims.live(['one'])).size === 0 ? true : undefined,
    );
    expect(await locks.hold(['swap'], async () => 'free')).toBe('free');
  });
});

describe('journals that find no tables', () => {
  it('make them once, when twenty begin at the same time', async () => {
    const journals = Array.from({ length: 20 }, () =>
      postgresJournal({ connectionString: address }),
    );
    const results = await Promise.all(
      journals.map((one) => one.reserve(attemptOf(), [dayCap(1_000_000n)])),
    );
    expect(results).toEqual(journals.map(() => undefined));
    expect(await journal.used(owner, [dayCap(0n)], NOW)).toEqual([200_000n]);
    await Promise.all(journals.map((one) => one.close()));
  });
});
