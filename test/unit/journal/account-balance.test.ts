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

type Change = (balance: AccountBalance) => AccountBalance;
const after = (...changes: Change[]) =>
  changes.reduce((balance, change) => change(balance), emptyBalance);
const seen =
  (amount: bigint, at = 0, slot?: number, moved?: bigint): Change =>
  (balance) =>
    see(balance, { amount, at, slot }, moved);
const held =
  (id: string, amount: bigint): Change =>
  (balance) =>
    hold(balance, id, amount);
const spent =
  (id: string, slot?: number): Change =>
  (balance) =>
    spend(balance, id, slot);
const released =
  (id: string): Change =>
  (balance) =>
    release(balance, id);
const known = (balance: AccountBalance) => balance.known?.amount;

describe('the available amount', () => {
  it('is known while the reading is recent enough, to the millisecond, and can be forgotten', () => {
    expect(availableIn(emptyBalance, seenSince(0))).toBeUndefined();
    const balance = after(seen(5n, 1_000));
    expect([
      availableIn(balance, seenSince(1_000)),
      availableIn(balance, seenSince(1_001)),
    ]).toEqual([5n, undefined]);
    expect(availableIn(see(balance, { amount: 7n, at: 2_000 }), seenSince(1_001))).toBe(7n);
    expect(availableIn(forget(balance), seenSince(0))).toBeUndefined();
  });

  it('is the known amount less all holds, and never below zero', () => {
    expect(availableIn(after(seen(100n), held('a', 30n), held('b', 50n)), seenSince(0))).toBe(20n);
    expect(availableIn(after(seen(100n), held('a', 130n)), seenSince(0))).toBe(0n);
  });
});

describe('a hold', () => {
  it.each([
    ['spent', 'spent', 70n],
    ['spent', 'released', 70n],
    ['released', 'spent', 100n],
    ['released', 'released', 100n],
  ] as const)('ends once when it is %s and then %s', (first, then, left) => {
    const ends = { spent, released };
    const balance = after(
      seen(100n),
      held('other', 5n),
      held('one', 30n),
      ends[first]('one'),
      ends[then]('one'),
    );
    expect([heldOf(balance), known(balance)]).toEqual([5n, left]);
  });

  it('can be made again after a release or an unproved spend, and not after the chain shows the spend', () => {
    expect(heldOf(after(held('one', 30n), released('one'), held('one', 30n)))).toBe(30n);
    expect(heldOf(after(held('one', 30n), spent('one', 5), held('one', 30n)))).toBe(0n);
    // The known amount must be read again, because the tokens may have left by now.
    const again = after(seen(100n), held('one', 30n), spent('one'), held('one', 30n));
    expect([heldOf(again), known(again)]).toEqual([30n, undefined]);
  });

  it('is made once, also when it is made again with another amount', () => {
    expect(heldOf(after(held('one', 30n), held('one', 40n)))).toBe(30n);
  });

  it('takes no more than the known amount when it is spent, and nothing when no amount is known', () => {
    expect(known(after(held('one', 30n), spent('one')))).toBeUndefined();
    expect(after(seen(10n, 9), held('one', 30n), spent('one')).known).toMatchObject({
      amount: 0n,
      at: 9,
    });
  });

  it('changes nothing at its end if it was never made', () => {
    const balance = after(seen(10n));
    expect([spend(balance, 'x'), release(balance, 'x')]).toEqual([balance, balance]);
  });

  it('keeps the held sum and the known amount exact for ends in any order', () => {
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
          .map((action, index) => ({ ...action, id: `${index}` }))
          .sort((x, y) => x.pick - y.pick);
        const ends = order.map(({ end, id }): Change =>
          end === 'keep' ? (balance) => balance : end === 'spend' ? spent(id) : released(id),
        );
        const balance = ends.reduce((last, change) => change(last), start);
        const sum = (end: string) =>
          actions
            .filter((action) => action.end === end)
            .reduce((total, { amount }) => total + amount, 0n);
        expect([heldOf(balance), known(balance)]).toEqual([sum('keep'), 10_000n - sum('spend')]);
      }),
    );
  });
});

describe('a balance that is read while payments are in flight', () => {
  const read = (amount: bigint, moved?: bigint) =>
    after(seen(100n), held('one', 10n), held('two', 20n), seen(amount, 1, undefined, moved));

  it.each([100n, 90n, 80n, 70n])(
    'counts as the known amount less all holds when it reads %d',
    (amount) => {
      const balance = read(amount);
      expect(availableIn(balance, seenSince(1))).toBe(70n);
      expect(availableIn(spend(spend(balance, 'one'), 'two'), seenSince(1))).toBe(70n);
    },
  );

  it('includes amounts that are known to have come in', () => {
    for (const landed of [0n, 10n, 30n])
      expect(availableIn(read(150n - landed, 50n), seenSince(1))).toBe(120n);
  });

  it.each([130n, 69n])(
    'replaces the known amount when payments in flight do not explain %d',
    (amount) => {
      expect(known(read(amount))).toBe(amount);
    },
  );

  it('is forgotten when a payment ends if no amount was known before, because it may include that payment', () => {
    const balance = after(held('one', 40n), seen(60n, 1), held('later', 5n), spent('later'));
    expect(known(balance)).toBe(55n);
    expect([known(spend(balance, 'one')), heldOf(spend(balance, 'one'))]).toEqual([undefined, 0n]);
  });

  it.each([
    ['before it was read', 9, 60n],
    ['in the slot that was read', 10, 60n],
    ['after it was read', 11, 20n],
  ])('decides by the slot if it includes a payment that left %s', (_what, slot, left) => {
    expect(known(after(held('one', 40n), seen(60n, 1, 10), spent('one', slot)))).toBe(left);
  });

  it('loses the amount of a payment that was held after the reading, whatever the slot', () => {
    expect(known(after(seen(100n, 0, 50), held('one', 40n), spent('one', 49)))).toBe(60n);
  });

  it('loses a payment that left in a later slot than the reading, also if the payment ended first', () => {
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

  it('keeps what is known when a reading of an earlier slot comes late, for half a minute', () => {
    const late = (at: number) => known(after(seen(100n, 0, 10), seen(40n, at, 9)));
    expect([late(-30_000), late(30_000), late(30_001)]).toEqual([100n, 100n, 40n]);
  });

  it('keeps what is known also when the reading is earlier than the last that it explains', () => {
    const swapped = [seen(20n, 0, 5), seen(70n, 1, 10, 50n)];
    expect(known(after(...swapped, seen(20n, 2, 7)))).toBe(70n);
    expect(known(after(...swapped, held('one', 40n), seen(30n, 2, 12), seen(20n, 3, 11)))).toBe(
      70n,
    );
    // A payment that an earlier reading may lack already is told by the slot of that reading.
    const doubtful = [held('one', 40n), seen(60n, 1, 10), seen(60n, 2, 12), spent('one', 11)];
    expect(known(after(...doubtful))).toBe(20n);
  });

  it('is exact again after the payments end', () => {
    const balance = after(() => read(90n), spent('one'), released('two'));
    expect(known(balance)).toBe(90n);
    expect(known(see(balance, { amount: 85n, at: 2 }))).toBe(85n);
  });
});

describe('the record of a balance', () => {
  it('stays small plain data, and remembers only the latest spends', () => {
    const many = Array.from({ length: 200 }, (_, index) => [
      held(`${index}`, 1n),
      spent(`${index}`, index),
    ]).flat();
    const balance = after(seen(1_000n), ...many);
    expect(balance.spent.length).toBeLessThan(50);
    expect([balance.holds, balance.made, known(balance)]).toEqual([[], 200, 800n]);
    expect(heldOf(hold(balance, '199', 1n))).toBe(0n);
  });
});
