import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createSpentSums, type SpentSums } from '../../../src/journal/spending.js';
import { DAY_MS, NOW } from '../../helpers/attempts.js';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** How much longer than its window an amount may count: the period of amounts of that age. */
function longest(windowMs: number): number {
  if (windowMs < 2 * MINUTE_MS) return 1_000;
  if (windowMs < 2 * HOUR_MS) return MINUTE_MS;
  if (windowMs < 2 * DAY_MS) return 15 * MINUTE_MS;
  return windowMs < 64 * DAY_MS ? 6 * HOUR_MS : 8 * DAY_MS;
}

interface Spent {
  readonly at: number;
  readonly value: bigint;
}

const sumOf = (amounts: readonly Spent[], after: number) =>
  amounts.reduce((sum, { at, value }) => (at > after ? sum + value : sum), 0n);

describe('the sum of spent amounts', () => {
  it('is zero and empty when nothing was spent', () => {
    const sums = createSpentSums();
    expect([sums.since(0), sums.since(-Infinity), sums.isEmpty]).toEqual([0n, 0n, true]);
  });

  it.each([
    ['a minute', 60_000, 1_000],
    ['an hour', HOUR_MS, MINUTE_MS],
    ['a day', DAY_MS, 15 * MINUTE_MS],
  ])(
    'counts an amount for at least a window of %s, and at most a period longer',
    (_, windowMs, period) => {
      const sums = createSpentSums();
      const amounts: Spent[] = [];
      for (let index = 0; index < 5_000; index += 1) {
        const entry = { at: NOW + index * 37_123, value: BigInt(1 + (index % 7)) };
        sums.add(entry.at, entry.value);
        amounts.push(entry);
        const since = entry.at - windowMs;
        const used = sums.since(since);
        expect(used >= sumOf(amounts, since), `${index}`).toBe(true);
        expect(used <= sumOf(amounts, since - period), `${index}`).toBe(true);
      }
      expect(sums.periods().length).toBeLessThan(600);
      expect(sums.since(-Infinity)).toBe(sumOf(amounts, -Infinity));
    },
  );

  it('subtracts amounts at any time and in any order, and stays within its bounds', () => {
    const step = fc.record({
      after: fc.integer({ min: -3 * HOUR_MS, max: 5 * HOUR_MS }),
      amount: fc.integer({ min: 1, max: 1_000 }),
      back: fc.boolean(),
      which: fc.nat(1_000),
      window: fc.constantFrom(1_000, MINUTE_MS, HOUR_MS, DAY_MS, 3 * DAY_MS),
    });
    const run = (steps: readonly (typeof step extends fc.Arbitrary<infer T> ? T : never)[]) => {
      const sums = createSpentSums();
      let amounts: Spent[] = [];
      let now = NOW;
      for (const { after, amount, back, which, window } of steps) {
        now += after;
        const removed = amounts[which % Math.max(1, amounts.length)];
        if (back && removed !== undefined) {
          sums.subtract(removed.at, removed.value);
          amounts = amounts.filter((entry) => entry !== removed);
        } else {
          // Enough amounts that periods are merged.
          for (let count = 0; count < 20; count += 1) {
            const entry = { at: now + count * 1_111, value: BigInt(amount) };
            sums.add(entry.at, entry.value);
            amounts.push(entry);
          }
        }
        const latest = Math.max(...amounts.map(({ at }) => at), NOW);
        const used = sums.since(latest - window);
        expect(used >= sumOf(amounts, latest - window)).toBe(true);
        expect(used <= sumOf(amounts, latest - window - longest(window + 1))).toBe(true);
        expect(sums.since(-Infinity)).toBe(sumOf(amounts, -Infinity));
      }
      for (const { at, value } of amounts) sums.subtract(at, value);
      expect([sums.isEmpty, sums.since(-Infinity)]).toEqual([true, 0n]);
    };
    fc.assert(fc.property(fc.array(step, { maxLength: 60 }), run), { numRuns: 60 });
  });

  it('counts periods that another program wrote, which begin and end at any time', () => {
    const sums = createSpentSums();
    sums.restore({ after: NOW + 1_499, until: NOW + 1_500, value: 5n });
    sums.restore({ after: NOW + 2_700, until: NOW + 9_100, value: 7n });
    sums.restore({ after: NOW + 2_200, until: NOW + 3_300, value: 11n });
    sums.add(NOW + 1_200, 3n);
    sums.add(NOW + 2_100, 1n);
    const amounts = [
      { at: NOW + 1_500, value: 5n },
      { at: NOW + 9_100, value: 7n },
      { at: NOW + 3_300, value: 11n },
      { at: NOW + 1_200, value: 3n },
      { at: NOW + 2_100, value: 1n },
    ];
    for (let moment = NOW; moment < NOW + 10_000; moment += 50)
      expect(sums.since(moment) >= sumOf(amounts, moment), `${moment - NOW}`).toBe(true);
    expect([sums.since(NOW), sums.since(NOW + 10_000)]).toEqual([27n, 0n]);
    const ends = sums.periods().flatMap(({ after, until }) => [after, until]);
    expect(ends).toEqual([...ends].sort((a, b) => a - b));
  });

  it('counts the same after its periods are restored in a copy', () => {
    const copyOf = (sums: SpentSums) => {
      const copy = createSpentSums();
      sums.periods().forEach(copy.restore);
      return copy;
    };
    const sums = createSpentSums();
    for (let index = 0; index < 1_000; index += 1) sums.add(NOW + index * 61_000, 3n);
    const copy = copyOf(sums);
    expect(copy.periods()).toEqual(sums.periods());
    for (const moment of [-Infinity, NOW, NOW + 5_000_000, NOW + 60_000_000, Infinity])
      expect(copy.since(moment)).toBe(sums.since(moment));
    copy.subtract(NOW + 61_000, 3n);
    expect(copy.since(-Infinity)).toBe(2_997n);
  });
});
