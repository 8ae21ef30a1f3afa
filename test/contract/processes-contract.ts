import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Coordination, Journal, Owner } from 'exact-change';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { attemptOf, dayCap, idsOf, listOf, NOW } from '../helpers/attempts.js';
import { until } from '../helpers/chain.js';
import { programOf } from '../helpers/program.js';
import { seenSince } from '../helpers/seen-since.js';

/** The task of a process of `processes.child.ts`. */
export type Task =
  | {
      readonly what: 'race';
      /** How many of `reserves` it makes before it tells that it has begun, and waits. */
      readonly first: number;
      readonly reserves: number;
      readonly limit: string;
      readonly keys: number;
      readonly takes: number;
    }
  | { readonly what: 'pay'; readonly limit: string }
  | { readonly what: 'hold'; readonly id: string }
  | { readonly what: 'use'; readonly close: boolean };

export interface SharedJournal extends Journal {
  coordination(owner: Owner): Coordination;
  close(): Promise<void>;
}

/** A journal that several processes open at once. */
export interface SharedPlace {
  /** The address by which a process finds the journal. */
  readonly address: string;
  open(): SharedJournal;
  /** Returns the sum of all attempts in millionths of a dollar, without the journal if possible. */
  sum?(): Promise<bigint>;
}

const owner = { wallet: 'wallet', network: 'network' };
/** The price of an attempt, in millionths of a dollar and in base units. */
const PRICE = 10_000n;

interface Member {
  readonly child: ChildProcess;
  /** Returns its next message, or undefined once it has ended. */
  told(): Promise<unknown>;
  readonly exit: Promise<unknown>;
}

/** @param makePlace - Makes a new, empty place. */
export function processesContract(name: string, makePlace: () => Promise<SharedPlace>): void {
  const program = programOf(fileURLToPath(new URL('./processes.child.ts', import.meta.url)));
  const children = new Set<ChildProcess>();
  let place: SharedPlace;
  let journal: SharedJournal;

  const startMember = (task: Task): Member => {
    const child = spawn(process.execPath, [program.path, place.address, JSON.stringify(task)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    children.add(child);
    const exit = once(child, 'exit').then(([code]: unknown[]) => {
      children.delete(child);
      return code;
    });
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
    const told = async (): Promise<unknown> => {
      const { value, done } = await lines.next();
      return done === true ? undefined : JSON.parse(value);
    };
    return { child, exit, told };
  };

  describe(`${name}, as the journal of several processes`, () => {
    beforeEach(async () => {
      place = await makePlace();
      journal = place.open();
    });
    afterEach(async () => {
      for (const child of children) child.kill('SIGKILL');
      await journal.close();
    });

    const LIMIT = 3_005_000n;
    interface Told {
      readonly reserved: number;
      readonly winners: readonly string[];
      readonly taken: number;
      readonly numbers: readonly number[];
    }

    it('holds no tokens for an attempt that another payer has ended meanwhile', async () => {
      const attempt = attemptOf(owner);
      await journal.reserve(attempt, []);
      const another = place.open();
      const { ledger } = another.coordination(owner);
      await ledger.see('account', { amount: 5n, at: NOW });
      await ledger.hold('account', attempt.id, 5n);
      expect(await ledger.held('account')).toBe(5n);
      await journal.put({ ...attempt, state: 'unpaid', leftAt: NOW }, { free: ['account'] });
      await ledger.hold('account', attempt.id, 5n);
      // Without a cost, an attempt that ends is no longer on record.
      const released = attemptOf(owner);
      await journal.reserve(released, []);
      await journal.release(released.id, { free: ['account'] });
      for (const { id } of [attempt, released])
        expect(await ledger.take('account', id, 5n, seenSince(NOW))).toBeUndefined();
      expect(await ledger.held('account')).toBe(0n);
      await another.close();
    });

    it('keeps the tokens of an attempt that another payer has signed before its release', async () => {
      const attempt = attemptOf(owner);
      await journal.reserve(attempt, []);
      const another = place.open();
      const { ledger } = another.coordination(owner);
      await ledger.hold('account', attempt.id, 5n);
      await another.put({ ...attempt, state: 'signed' });
      await journal.release(attempt.id, { free: ['account'] });
      expect(await ledger.held('account')).toBe(5n);
      await another.put({ ...attempt, state: 'unsettled' }, { free: ['account'] });
      expect(await ledger.held('account')).toBe(0n);
      await another.close();
    });

    it('keeps caps, keys, balances and counters exact for racing processes', async () => {
      const { ledger } = journal.coordination(owner);
      await ledger.see('account', { amount: 505n, at: NOW });
      const members = Array.from({ length: 4 }, () =>
        startMember({
          what: 'race',
          first: 50,
          reserves: 200,
          limit: String(LIMIT),
          keys: 20,
          takes: 40,
        }),
      );
      for (const { told } of members) expect(await told()).toBe('ready');

      const used = async () => (await journal.used(owner, [dayCap(0n)], NOW))[0]!;
      const { sum = used } = place;
      let over = false;
      const looks: bigint[] = [];
      const observed = (async () => {
        while (!over) {
          looks.push(await sum());
          await new Promise(setImmediate);
        }
      })();
      const go = () => members.forEach(({ child }) => child.stdin?.write('go\n'));
      go();
      for (const { told } of members) expect(await told()).toBe('begun');
      expect(await sum()).toBe(2_000_000n);
      go();
      const told = (await Promise.all(members.map((member) => member.told()))) as Told[];
      over = true;
      await observed;
      expect(await Promise.all(members.map(({ exit }) => exit))).toEqual([0, 0, 0, 0]);

      expect(told.reduce((all, { reserved }) => all + reserved, 0)).toBe(300);
      expect(Math.max(...told.map(({ reserved }) => reserved))).toBeLessThanOrEqual(200);
      expect(looks.filter((look) => look > LIMIT)).toEqual([]);
      expect(await used()).toBe(3_000_000n);

      for (const { winners } of told) expect(winners).toEqual(told[0]!.winners);
      expect(new Set(told[0]!.winners).size).toBe(20);

      expect(told.reduce((all, { taken }) => all + taken, 0)).toBe(50);
      expect([
        await ledger.held('account'),
        await ledger.available('account', seenSince(0)),
      ]).toEqual([500n, 5n]);

      expect(told.flatMap(({ numbers }) => numbers).sort((a, b) => a - b)).toEqual(
        Array.from({ length: 80 }, (_, index) => index + 1),
      );
    });

    it('keeps caps, balances and signed payments when paying processes are killed', async () => {
      const PAYMENTS = 240;
      const limit = BigInt(PAYMENTS) * PRICE;
      const { ledger, claims } = journal.coordination(owner);
      await ledger.see('account', { amount: limit, at: NOW, slot: 7 });
      const cap = [dayCap(limit)];
      const left: unknown[] = [];
      const looks: bigint[] = [];
      // The number of payments after which each process is killed.
      for (const ends of [
        [5, 9, 17, 23],
        [2, 13, 21, 30],
        [Infinity, Infinity],
      ]) {
        const members = ends.map(() => startMember({ what: 'pay', limit: String(limit) }));
        await Promise.all(
          members.map(async ({ child, told, exit }, index) => {
            for (let count = -1; count < ends[index]!; count += 1) {
              const line = await told();
              if (line === undefined) break;
              if (line !== 'ready') left.push(line);
              looks.push((await journal.used(owner, cap, NOW))[0]!);
            }
            child.kill('SIGKILL');
            for (let line = await told(); line !== undefined; line = await told())
              if (line !== 'ready') left.push(line);
            await exit;
          }),
        );
      }
      const attempts = await listOf(journal.attempts(owner));
      const ids = attempts.map(({ id }) => id);
      expect(looks.filter((look) => look > limit)).toEqual([]);
      expect(attempts.filter(({ state }) => state !== 'settled')).toEqual([]);
      expect([ids.length, new Set(ids).size]).toEqual([PAYMENTS, PAYMENTS]);
      expect(new Set(left).size).toBe(left.length);
      expect(ids).toEqual(expect.arrayContaining(left));
      expect(await journal.used(owner, cap, NOW)).toEqual([limit]);
      expect(await journal.reserve(attemptOf(), cap)).toMatchObject({ used: limit });
      expect([
        await ledger.held('account'),
        await ledger.available('account', seenSince(0)),
      ]).toEqual([0n, 0n]);
      expect(await claims.live(ids)).toEqual(new Set());
    });

    it('frees lock and claim of a process that is killed before it signs', async () => {
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
      expect(await journal.used(owner, [dayCap(0n)], NOW)).toEqual([PRICE]);

      await journal.release(attempt.id);
      expect(await journal.used(owner, [dayCap(0n)], NOW)).toEqual([0n]);
      expect(
        await journal.reserve(attemptOf({ idempotencyKey: 'key' }), [dayCap(PRICE)]),
      ).toBeUndefined();
      await expect(journal.put({ ...attempt, state: 'signed' })).rejects.toThrow('released');
    });

    it.each([true, false])(
      'lets a process without further work end by itself; journal closed: %s',
      async (close) => {
        const member = startMember({ what: 'use', close });
        expect(await member.told()).toBe(1);
        expect(await member.exit).toBe(0);
        const { claims, locks } = journal.coordination(owner);
        await until('the claim is gone', async () =>
          (await claims.live(['one'])).size === 0 ? true : undefined,
        );
        expect(await locks.hold(['swap'], async () => 'free')).toBe('free');
      },
    );

    it('creates its store once when twenty processes start at the same time', async () => {
      const journals = Array.from({ length: 20 }, () => place.open());
      const results = await Promise.all(
        journals.map((opened) => opened.reserve(attemptOf(), [dayCap(1_000_000n)])),
      );
      expect(results).toEqual(journals.map(() => undefined));
      expect(await journal.used(owner, [dayCap(0n)], NOW)).toEqual([200_000n]);
      await Promise.all(journals.map((opened) => opened.close()));
    });
  });
}
