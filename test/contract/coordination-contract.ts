import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Coordination, Owner } from '../../src/journal/types.js';
import { attemptOf } from '../helpers/attempts.js';
import { reopened, type OpenJournal } from './journal-contract.js';
import { seenSince } from '../helpers/seen-since.js';

/**
 * The contract of the state that payers in several processes share. Two journals that are open on
 * one store at once stand for two processes.
 */
export function coordinationContract(name: string, open: () => Promise<OpenJournal>): void {
  describe(`coordination of processes by ${name}`, () => {
    let here: OpenJournal;
    let there: OpenJournal;
    let owner: Owner;
    let mine: Coordination;
    let theirs: Coordination;

    beforeEach(async () => {
      here = await open();
      there = await reopened(here);
      owner = { wallet: randomUUID(), network: 'network' };
      mine = coordinationOf(here, owner);
      theirs = coordinationOf(there, owner);
    });

    afterEach(async () => {
      await there.close();
      await here.close();
    });

    const reserved = async () => {
      const attempt = attemptOf(owner);
      await here.journal.reserve(attempt, []);
      return attempt;
    };

    describe('the ledger', () => {
      it('shows both journals the same balances and holds', async () => {
        expect(await theirs.ledger.available('account', seenSince(0))).toBeUndefined();
        await mine.ledger.see('account', { amount: 100n, at: 1_000, slot: 7 });
        expect(await theirs.ledger.available('account', seenSince(1_000))).toBe(100n);
        expect(await theirs.ledger.available('account', seenSince(1_001))).toBeUndefined();
        await theirs.ledger.hold('account', 'one', 30n);
        expect([
          await mine.ledger.available('account', seenSince(0)),
          await mine.ledger.held('account'),
        ]).toEqual([70n, 30n]);
        await mine.ledger.spend('account', 'one', 8);
        expect([
          await theirs.ledger.available('account', seenSince(0)),
          await theirs.ledger.held('account'),
        ]).toEqual([70n, 0n]);
        await theirs.ledger.forget('account');
        expect(await mine.ledger.available('account', seenSince(0))).toBeUndefined();
      });

      it('keeps the newer balance when the other payer reads an earlier slot late', async () => {
        const late = (at: number) => theirs.ledger.see('account', { amount: 40n, at, slot: 6 });
        await mine.ledger.see('account', { amount: 100n, at: 1_000, slot: 7 });
        await late(31_000);
        expect(await mine.ledger.available('account', seenSince(0))).toBe(100n);
        await late(31_001);
        expect(await mine.ledger.available('account', seenSince(0))).toBe(40n);
      });

      it('promises no amount twice, however many payers take at once', async () => {
        await mine.ledger.see('account', { amount: 105n, at: 0 });
        const takes = Array.from({ length: 40 }, async (_, index) => {
          const { id } = await reserved();
          return (index % 2 === 0 ? mine : theirs).ledger.take('account', id, 10n, seenSince(0));
        });
        expect((await Promise.all(takes)).filter((taken) => taken !== undefined)).toHaveLength(10);
        expect([
          await mine.ledger.available('account', seenSince(0)),
          await theirs.ledger.held('account'),
        ]).toEqual([5n, 100n]);
      });

      it('takes nothing of a balance that was read too long ago', async () => {
        await mine.ledger.see('account', { amount: 100n, at: 1_000 });
        const { id } = await reserved();
        expect(await theirs.ledger.take('account', id, 1n, seenSince(1_001))).toBeUndefined();
        expect(await theirs.ledger.take('account', id, 101n, seenSince(1_000))).toBeUndefined();
        expect(await theirs.ledger.take('account', id, 100n, seenSince(1_000))).toEqual({
          before: undefined,
        });
      });

      it('ends a hold once, whichever payer ends it', async () => {
        await mine.ledger.see('account', { amount: 100n, at: 0 });
        await mine.ledger.hold('account', 'one', 10n);
        await mine.ledger.hold('account', 'two', 20n);
        await Promise.all([
          mine.ledger.spend('account', 'one', 7),
          theirs.ledger.spend('account', 'one', 7),
        ]);
        await Promise.all([
          mine.ledger.release('account', 'two'),
          theirs.ledger.spend('account', 'no such hold'),
        ]);
        await theirs.ledger.hold('account', 'one', 10n);
        expect([
          await mine.ledger.available('account', seenSince(0)),
          await mine.ledger.held('account'),
        ]).toEqual([90n, 0n]);
      });

      it('keeps exact amounts of any size, with the amounts that moved meanwhile', async () => {
        const huge = 10n ** 25n;
        await mine.ledger.see('account', { amount: huge, at: 0 });
        await theirs.ledger.hold('account', 'one', 1n);
        await theirs.ledger.see('account', { amount: huge + 4n, at: 1 }, 5n);
        expect(await mine.ledger.available('account', seenSince(1))).toBe(huge + 4n);
      });

      it('keeps each account and each owner apart', async () => {
        await mine.ledger.see('account', { amount: 100n, at: 0 });
        await mine.ledger.hold('account', 'one', 10n);
        const strangers = [{ wallet: randomUUID() }, { network: 'another' }].map((over) =>
          coordinationOf(there, { ...owner, ...over }),
        );
        expect(await theirs.ledger.available('other', seenSince(0))).toBeUndefined();
        for (const { ledger } of strangers) {
          expect(await ledger.available('account', seenSince(0))).toBeUndefined();
          expect(await ledger.held('account')).toBe(0n);
        }
      });

      it('outlives the journal that wrote it', async () => {
        await mine.ledger.see('account', { amount: 100n, at: 0 });
        await mine.ledger.hold('account', 'one', 10n);
        await here.close();
        expect([
          await theirs.ledger.available('account', seenSince(0)),
          await theirs.ledger.held('account'),
        ]).toEqual([90n, 10n]);
      });
    });

    describe('locks', () => {
      it('are held by one holder at a time', async () => {
        let inside = 0;
        const most: number[] = [];
        const work = async () => {
          most.push((inside += 1));
          await mine.next('turns');
          inside -= 1;
        };
        await Promise.all(
          Array.from({ length: 20 }, (_, index) =>
            (index % 2 === 0 ? mine : theirs).locks.hold(['a', 'b'], work),
          ),
        );
        expect(most).toEqual(Array.from({ length: 20 }, () => 1));
      });

      it('never deadlock in any order of names, and return the result of the work', async () => {
        const orders = [
          ['a', 'b', 'c'],
          ['c', 'b', 'a'],
          ['b', 'a'],
          ['c', 'a', 'c'],
        ];
        const work = Array.from({ length: 20 }, (_, index) =>
          (index % 2 === 0 ? mine : theirs).locks.hold(
            orders[index % orders.length] ?? [],
            async () => {
              await theirs.next('turns');
              return index;
            },
          ),
        );
        expect(await Promise.all(work)).toEqual(Array.from({ length: 20 }, (_, index) => index));
      });

      it('keep the other journal waiting until they are freed, by name', async () => {
        const held = holding(mine, ['x']);
        await held.begun;
        let entered = false;
        const waiting = theirs.locks.hold(['x'], async () => (entered = true));
        await theirs.locks.hold(['y'], async () => undefined);
        expect(entered).toBe(false);
        held.finish();
        await held.ended;
        expect(await waiting).toBe(true);
      });

      it('are freed when the work fails', async () => {
        await expect(
          mine.locks.hold(['x'], () => Promise.reject(new Error('failed'))),
        ).rejects.toThrow('failed');
        expect(await theirs.locks.hold(['x'], async () => 'free')).toBe('free');
      });

      it('let a payer stop waiting by a signal, but not once the work runs', async () => {
        const held = holding(mine, ['x']);
        await held.begun;
        const controller = new AbortController();
        const left = theirs.locks.hold(['a', 'x'], () => Promise.reject(new Error('ran')), [
          undefined,
          controller.signal,
        ]);
        controller.abort('enough');
        await expect(left).rejects.toBe('enough');
        await expect(
          theirs.locks.hold(['y'], () => Promise.reject(new Error('ran')), [
            AbortSignal.abort('before'),
          ]),
        ).rejects.toBe('before');
        // The process that left keeps neither lock.
        await mine.locks.hold(['a', 'y'], async () => undefined);
        const later = new AbortController();
        held.finish();
        await held.ended;
        const work = async () => {
          later.abort('during');
          return theirs.next('turns');
        };
        expect(await theirs.locks.hold(['x'], work, [later.signal])).toEqual(expect.any(Number));
      });

      it('belong to an owner alone', async () => {
        const held = holding(mine, ['x']);
        await held.begun;
        for (const over of [{ wallet: randomUUID() }, { network: 'another' }])
          expect(
            await coordinationOf(there, { ...owner, ...over }).locks.hold(
              ['x'],
              async () => 'free',
            ),
          ).toBe('free');
        held.finish();
        await held.ended;
      });

      it('are freed when the journal of their holder closes', async () => {
        const held = holding(mine, ['x']);
        await held.begun;
        held.ended.catch(() => undefined);
        const waiting = theirs.locks.hold(['x'], async () => 'free');
        await here.close();
        expect(await waiting).toBe('free');
        held.finish();
      });
    });

    describe('claims', () => {
      it('are visible to both journals until they are dropped', async () => {
        await mine.claims.take(['one']);
        await theirs.claims.take(['two']);
        for (const { claims } of [mine, theirs])
          expect(await claims.live(['one', 'two', 'three'])).toEqual(new Set(['one', 'two']));
        expect(await theirs.claims.live(['two'])).toEqual(new Set(['two']));
        expect(await theirs.claims.live([])).toEqual(new Set());
        await mine.claims.drop(['one']);
        await mine.claims.drop(['never taken']);
        expect(await theirs.claims.live(['one', 'two'])).toEqual(new Set(['two']));
      });

      it('end with the journal that took them, and no claim of another journal ends', async () => {
        await mine.claims.take(['one']);
        await theirs.claims.take(['two']);
        await here.close();
        expect(await theirs.claims.live(['one', 'two'])).toEqual(new Set(['two']));
      });
    });

    describe('counters', () => {
      it('counts up under each name, and never returns a number twice', async () => {
        const numbers = await Promise.all(
          Array.from({ length: 60 }, (_, index) => (index % 2 === 0 ? mine : theirs).next('name')),
        );
        expect(new Set(numbers).size).toBe(60);
        for (const number of numbers)
          expect(Number.isSafeInteger(number) && number >= 0).toBe(true);
        const [first, second] = [await mine.next('name'), await theirs.next('name')];
        expect(first).toBeGreaterThan(Math.max(...numbers));
        expect(second).toBeGreaterThan(first);
        const [other, next] = [await theirs.next('another name'), await mine.next('another name')];
        expect(next).toBeGreaterThan(other);
      });
    });
  });
}

function coordinationOf({ journal }: OpenJournal, owner: Owner): Coordination {
  const coordination = journal.coordination?.(owner);
  if (coordination === undefined)
    throw new Error('This journal has no coordination, so none can be tested.');
  return coordination;
}

/** Holds locks until `finish` is called. */
function holding({ locks }: Coordination, names: readonly string[]) {
  let finish = (): void => undefined;
  let begin = (): void => undefined;
  const begun = new Promise<void>((resolve) => (begin = resolve));
  const ended = locks.hold(names, () => {
    begin();
    return new Promise<void>((resolve) => (finish = resolve));
  });
  return { begun, ended, finish: () => finish() };
}
