import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createLedger } from '../../../src/journal/ledger.js';

const amountOf = (ledger: ReturnType<typeof createLedger>, account = 'a') => ledger.known(account, 0, Infinity)?.amount;

describe('what is known', () => {
  it('is as old as it may be, to the millisecond, and can be forgotten', () => {
    const ledger = createLedger();
    expect(ledger.known('a', 0, Infinity)).toBeUndefined();
    ledger.see('a', { amount: 5n, at: 1_000 });
    expect(ledger.known('a', 31_000, 30_000)).toEqual({ amount: 5n, at: 1_000 });
    expect(ledger.known('a', 31_001, 30_000)).toBeUndefined();
    ledger.see('a', { amount: 7n, at: 2_000 });
    expect(ledger.known('a', 31_001, 30_000)?.amount).toBe(7n);
    ledger.forget('a');
    expect(ledger.known('a', 2_000, 30_000)).toBeUndefined();
  });
});

describe('a hold', () => {
  it('is counted until it ends', () => {
    const ledger = createLedger();
    ledger.see('a', { amount: 100n, at: 0 });
    const [first, second] = [ledger.hold('a', 30n), ledger.hold('a', 50n)];
    expect([ledger.held('a'), ledger.held('b'), amountOf(ledger)]).toEqual([80n, 0n, 100n]);
    first.release();
    expect([ledger.held('a'), amountOf(ledger)]).toEqual([50n, 100n]);
    second.spend();
    expect([ledger.held('a'), amountOf(ledger)]).toEqual([0n, 50n]);
  });

  it.each([
    ['spend', 'spend', 70n],
    ['spend', 'release', 70n],
    ['release', 'spend', 100n],
    ['release', 'release', 100n],
  ] as const)('ends once: %s, then %s', (first, then, left) => {
    const ledger = createLedger();
    ledger.see('a', { amount: 100n, at: 0 });
    const other = ledger.hold('a', 5n);
    const hold = ledger.hold('a', 30n);
    hold[first]();
    hold[then]();
    expect([ledger.held('a'), amountOf(ledger)]).toEqual([5n, left]);
    other.release();
    expect(ledger.held('a')).toBe(0n);
  });

  it('spent takes no more than is known, and nothing where nothing is known', () => {
    const ledger = createLedger();
    ledger.hold('a', 30n).spend();
    expect(amountOf(ledger)).toBeUndefined();
    ledger.see('a', { amount: 10n, at: 9 });
    ledger.hold('a', 30n).spend();
    expect(ledger.known('a', 9, 0)).toEqual({ amount: 0n, at: 9 });
  });

  it('keeps its own account apart', () => {
    const ledger = createLedger();
    ledger.see('b', { amount: 10n, at: 0 });
    ledger.hold('a', 30n).spend();
    expect([amountOf(ledger, 'b'), ledger.held('b')]).toEqual([10n, 0n]);
  });

  it('leaves what is held equal to what is open, and what is known equal to what is left, in any order', () => {
    const action = fc.record({ amount: fc.bigInt(1n, 100n), end: fc.constantFrom('spend', 'release', 'keep'), pick: fc.nat() });
    fc.assert(
      fc.property(fc.array(action, { maxLength: 30 }), (actions) => {
        const ledger = createLedger();
        ledger.see('a', { amount: 10_000n, at: 0 });
        const holds = actions.map(({ amount }) => ledger.hold('a', amount));
        const order = holds.map((_, index) => index).sort((x, y) => (actions[x]?.pick ?? 0) - (actions[y]?.pick ?? 0));
        let [open, left] = [0n, 10_000n];
        for (const index of order) {
          const [hold, end] = [holds[index], actions[index]?.end];
          if (hold === undefined || end === undefined) continue;
          if (end === 'keep') open += hold.amount;
          else hold[end]();
          if (end === 'spend') left -= hold.amount;
        }
        expect([ledger.held('a'), amountOf(ledger)]).toEqual([open, left]);
      }),
    );
  });
});

describe('a balance that is read while payments are in flight', () => {
  const read = (amount: bigint, moved?: bigint) => {
    const ledger = createLedger();
    ledger.see('a', { amount: 100n, at: 0 });
    const holds = [ledger.hold('a', 10n), ledger.hold('a', 20n)];
    ledger.see('a', { amount, at: 1 }, moved);
    return { ledger, holds, free: () => (ledger.known('a', 1, 0)?.amount ?? 0n) - ledger.held('a') };
  };

  it.each([100n, 90n, 80n, 70n])('of %d is what was known, less what they will take, whichever of them have landed', (amount) => {
    const { holds, free } = read(amount);
    expect(free()).toBe(70n);
    holds.forEach((hold) => hold.spend());
    expect(free()).toBe(70n);
  });

  it('counts what is known to have come in besides', () => {
    for (const landed of [0n, 10n, 30n]) expect(read(150n - landed, 50n).free()).toBe(120n);
  });

  it.each([130n, 69n])('of %d is taken as it is: they do not explain it', (amount) => {
    expect(read(amount).ledger.known('a', 1, 0)?.amount).toBe(amount);
  });

  it('is forgotten at their end where nothing was known before: it may have had them in it', () => {
    const ledger = createLedger();
    const hold = ledger.hold('a', 40n);
    ledger.see('a', { amount: 60n, at: 1 });
    const later = ledger.hold('a', 5n);
    later.spend();
    expect(ledger.known('a', 1, 0)?.amount).toBe(55n);
    hold.spend();
    expect(ledger.known('a', 1, 0)).toBeUndefined();
    expect(ledger.held('a')).toBe(0n);
  });

  it.each([
    ['before it was read', 9, 60n],
    ['in the slot that was read', 10, 60n],
    ['after it was read', 11, 20n],
  ])('has them in it or not by the slot: they left %s', (_, slot, left) => {
    const ledger = createLedger();
    const hold = ledger.hold('a', 40n);
    ledger.see('a', { amount: 60n, at: 1, slot: 10 });
    hold.spend(slot);
    expect(ledger.known('a', 1, 0)?.amount).toBe(left);
  });

  it('is what was known, less what they took, where it was read before them, whatever the slot', () => {
    const ledger = createLedger();
    ledger.see('a', { amount: 100n, at: 0, slot: 50 });
    ledger.hold('a', 40n).spend(49);
    expect(ledger.known('a', 0, 0)?.amount).toBe(60n);
  });

  it('is exact again once they are over', () => {
    const { ledger, holds } = read(90n);
    holds[0]?.spend();
    holds[1]?.release();
    expect(ledger.known('a', 1, 0)?.amount).toBe(90n);
    ledger.see('a', { amount: 85n, at: 2 });
    expect(ledger.known('a', 2, 0)?.amount).toBe(85n);
  });
});
