import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createTally, nothingTaken, plus, type Taken } from '../../../src/journal/tally.js';

const taken = (amount: number): Taken => ({ amount: BigInt(amount), microUsd: BigInt(2 * amount), payments: 1n });

describe('a tally', () => {
  it('of nothing is nothing', () => {
    const tally = createTally();
    expect([tally.total, tally.after(0), tally.after(-Infinity)]).toEqual([nothingTaken, nothingTaken, nothingTaken]);
  });

  it('sums up as a walk would, whatever comes in whatever order, and goes again', () => {
    const step = fc.record({
      at: fc.nat(30),
      amount: fc.nat(1_000),
      back: fc.boolean(),
      which: fc.nat(1_000),
      look: fc.integer({ min: -1, max: 31 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const tally = createTally();
        let model: { at: number; one: Taken }[] = [];
        const sum = (from: number) => model.filter(({ at }) => at > from).reduce((all, { one }) => plus(all, one), nothingTaken);
        for (const { at, amount, back, which, look } of steps) {
          const gone = model[which % Math.max(1, model.length)];
          if (back && gone !== undefined) {
            tally.subtract(gone.at, gone.one);
            model = model.filter((one) => one !== gone);
          } else {
            tally.add(at, taken(amount));
            model.push({ at, one: taken(amount) });
          }
          expect(tally.after(look)).toEqual(sum(look));
          expect(tally.total).toEqual(sum(-Infinity));
        }
      }),
    );
  });

  it('stays exact over thousands that come and go', () => {
    const tally = createTally();
    for (let at = 0; at < 5_000; at += 1) tally.add(at, taken(at));
    for (let at = 0; at < 4_900; at += 1) tally.subtract(at, taken(at));
    tally.add(10, taken(3));
    expect(tally.total.payments).toBe(101n);
    expect(tally.after(9).payments).toBe(101n);
    expect(tally.after(10).payments).toBe(100n);
    expect(tally.after(4_949)).toEqual({ amount: 248_725n, microUsd: 497_450n, payments: 50n });
  });
});
