import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  availableIn,
  emptyBalance,
  forget,
  heldOf,
  hold,
  release,
  see,
  spend,
  type AccountBalance,
} from '../../../src/journal/account-balance.js';
import { seenSince } from '../../helpers/seen-since.js';

type Change = (book: AccountBalance) => AccountBalance;
const after = (...changes: Change[]) =>
  changes.reduce((book, change) => change(book), emptyBalance);
const seen =
  (amount: bigint, at = 0, slot?: number, moved?: bigint): Change =>
  (book) =>
    see(book, { amount, at, slot }, moved);
const held =
  (id: string, amount: bigint): Change =>
  (book) =>
    hold(book, id, amount);
const spent =
  (id: string, slot?: number): Change =>
  (book) =>
    spend(book, id, slot);
const released =
  (id: string): Change =>
  (book) =>
    release(book, id);
const known = (book: AccountBalance) => book.known?.amount;

describe('what is known', () => {
  it('is as old as it may be, to the millisecond, and can be forgotten', () => {
    expect(availableIn(emptyBalance, seenSince(0))).toBeUndefined();
    const book = after(seen(5n, 1_000));
    expect([availableIn(book, seenSince(1_000)), availableIn(book, seenSince(1_001))]).toEqual([
      5n,
      undefined,
    ]);
    expect(availableIn(see(book, { amount: 7n, at: 2_000 }), seenSince(1_001))).toBe(7n);
    expect(availableIn(forget(book), seenSince(0))).toBeUndefined();
  });

  it('can be spent only as far as it is not promised, and never below nothing', () => {
    expect(availableIn(after(seen(100n), held('a', 30n), held('b', 50n)), seenSince(0))).toBe(20n);
    expect(availableIn(after(seen(100n), held('a', 130n)), seenSince(0))).toBe(0n);
  });
});

describe('a hold', () => {
  it('is counted until it ends', () => {
    const two = after(seen(100n), held('a', 30n), held('b', 50n));
    expect([heldOf(two), known(two)]).toEqual([80n, 100n]);
    const one = release(two, 'a');
    expect([heldOf(one), known(one)]).toEqual([50n, 100n]);
    const none = spend(one, 'b');
    expect([heldOf(none), known(none)]).toEqual([0n, 50n]);
  });

  it.each([
    ['spent', 'spent', 70n],
    ['spent', 'released', 70n],
    ['released', 'spent', 100n],
    ['released', 'released', 100n],
  ] as const)('ends once: %s, then %s', (first, then, left) => {
    const ends = { spent, released };
    const book = after(
      seen(100n),
      held('other', 5n),
      held('one', 30n),
      ends[first]('one'),
      ends[then]('one'),
    );
    expect([heldOf(book), known(book)]).toEqual([5n, left]);
  });

  it("is made again if it was released, or spent on its client's word alone, and not if the chain shows that it was spent", () => {
    expect(heldOf(after(held('one', 30n), released('one'), held('one', 30n)))).toBe(30n);
    expect(heldOf(after(held('one', 30n), spent('one', 5), held('one', 30n)))).toBe(0n);
    // What there is has to be read again: it may have left by now.
    const again = after(seen(100n), held('one', 30n), spent('one'), held('one', 30n));
    expect([heldOf(again), known(again)]).toEqual([30n, undefined]);
  });

  it('is made once, whatever amount it is made with again', () => {
    expect(heldOf(after(held('one', 30n), held('one', 40n)))).toBe(30n);
  });

  it('spent takes no more than is known, and nothing if nothing is known', () => {
    expect(known(after(held('one', 30n), spent('one')))).toBeUndefined();
    expect(after(seen(10n, 9), held('one', 30n), spent('one')).known).toMatchObject({
      amount: 0n,
      at: 9,
    });
  });

  it('that was never made ends in nothing', () => {
    const book = after(seen(10n));
    expect([spend(book, 'x'), release(book, 'x')]).toEqual([book, book]);
  });

  it('leaves what is held equal to what is open, and what is known equal to what is left, in any order', () => {
    const action = fc.record({
      amount: fc.bigInt(1n, 100n),
      end: fc.constantFrom('spend', 'release', 'keep'),
      pick: fc.nat(),
    });
    fc.assert(
      fc.property(fc.array(action, { maxLength: 30 }), (actions) => {
        const start = after(
          seen(10_000n),
          ...actions.map(({ amount }, index) => held(`${index}`, amount)),
        );
        const order = actions
          .map((one, index) => ({ ...one, id: `${index}` }))
          .sort((x, y) => x.pick - y.pick);
        const ends = order.map(({ end, id }): Change =>
          end === 'keep' ? (book) => book : end === 'spend' ? spent(id) : released(id),
        );
        const book = ends.reduce((last, change) => change(last), start);
        const sum = (end: string) =>
          actions.filter((one) => one.end === end).reduce((all, { amount }) => all + amount, 0n);
        expect([heldOf(book), known(book)]).toEqual([sum('keep'), 10_000n - sum('spend')]);
      }),
    );
  });
});

describe('a balance that is read while payments are in flight', () => {
  const read = (amount: bigint, moved?: bigint) =>
    after(seen(100n), held('one', 10n), held('two', 20n), seen(amount, 1, undefined, moved));

  it.each([100n, 90n, 80n, 70n])(
    'of %d is what was known, less what they will take, whichever of them have landed',
    (amount) => {
      const book = read(amount);
      expect(availableIn(book, seenSince(1))).toBe(70n);
      expect(availableIn(spend(spend(book, 'one'), 'two'), seenSince(1))).toBe(70n);
    },
  );

  it('counts what is known to have come in besides', () => {
    for (const landed of [0n, 10n, 30n])
      expect(availableIn(read(150n - landed, 50n), seenSince(1))).toBe(120n);
  });

  it.each([130n, 69n])('of %d is taken as it is: they do not explain it', (amount) => {
    expect(known(read(amount))).toBe(amount);
  });

  it('is forgotten at their end if nothing was known before: it may have had them in it', () => {
    const book = after(held('one', 40n), seen(60n, 1), held('later', 5n), spent('later'));
    expect(known(book)).toBe(55n);
    expect([known(spend(book, 'one')), heldOf(spend(book, 'one'))]).toEqual([undefined, 0n]);
  });

  it.each([
    ['before it was read', 9, 60n],
    ['in the slot that was read', 10, 60n],
    ['after it was read', 11, 20n],
  ])('has them in it or not by the slot: they left %s', (_what, slot, left) => {
    expect(known(after(held('one', 40n), seen(60n, 1, 10), spent('one', slot)))).toBe(left);
  });

  it('is what was known, less what they took, if it was read before them, whatever the slot', () => {
    expect(known(after(seen(100n, 0, 50), held('one', 40n), spent('one', 49)))).toBe(60n);
  });

  it('lacks what left in a later slot than it was read in, though its end came first', () => {
    expect(
      known(after(seen(100n), held('one', 40n), spent('one', 11), forget, seen(100n, 1, 10))),
    ).toBe(60n);
    expect(
      known(after(seen(100n), held('one', 40n), spent('one', 11), forget, seen(60n, 1, 11))),
    ).toBe(60n);
    expect(
      known(after(seen(100n), held('one', 40n), released('one'), forget, seen(100n, 1, 10))),
    ).toBe(100n);
  });

  it('is exact again once they are over', () => {
    const book = after(() => read(90n), spent('one'), released('two'));
    expect(known(book)).toBe(90n);
    expect(known(see(book, { amount: 85n, at: 2 }))).toBe(85n);
  });
});

describe('a book', () => {
  it('is plain data that stays small: it remembers what left last alone', () => {
    const many = Array.from({ length: 200 }, (_, index) => [
      held(`${index}`, 1n),
      spent(`${index}`, index),
    ]).flat();
    const book = after(seen(1_000n), ...many);
    expect(book.spent.length).toBeLessThan(50);
    expect([book.holds, book.made, known(book)]).toEqual([[], 200, 800n]);
    expect(heldOf(hold(book, '199', 1n))).toBe(0n);
  });
});
