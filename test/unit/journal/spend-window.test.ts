import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createSpendWindow } from '../../../src/journal/spend-window.js';

describe('a tally', () => {
  it('of nothing is nothing', () => {
    const tally = createSpendWindow();
    expect([tally.after(0), tally.after(-Infinity)]).toEqual([0n, 0n]);
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
        const tally = createSpendWindow();
        let model: { at: number; one: bigint }[] = [];
        const sum = (from: number) =>
          model.filter(({ at }) => at > from).reduce((all, { one }) => all + one, 0n);
        for (const { at, amount, back, which, look } of steps) {
          const gone = model[which % Math.max(1, model.length)];
          if (back && gone !== undefined) {
            tally.subtract(gone.at, gone.one);
            model = model.filter((one) => one !== gone);
          } else {
            tally.add(at, BigInt(amount));
            model.push({ at, one: BigInt(amount) });
          }
          expect(tally.after(look)).toEqual(sum(look));
          expect(tally.after(-Infinity)).toEqual(sum(-Infinity));
          expect(tally.size).toBe(model.length);
        }
      }),
    );
  });

  it('stays exact over thousands that come and go', () => {
    const tally = createSpendWindow();
    for (let at = 0; at < 5_000; at += 1) tally.add(at, BigInt(at));
    for (let at = 0; at < 4_900; at += 1) tally.subtract(at, BigInt(at));
    tally.add(10, 3n);
    expect(tally.size).toBe(101);
    expect(tally.after(9)).toBe(tally.after(-Infinity));
    expect(tally.after(10)).toBe(tally.after(-Infinity) - 3n);
    expect(tally.after(4_949)).toBe(248_725n);
  });
});
