import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  ceilDiv,
  formatUiAmount,
  maxAmount,
  minAmount,
  parseAmount,
  parseUiAmount,
  toAmount,
  U64_MAX,
} from '../../src/amount.js';
import {
  BAD_TEXTS as bad,
  GOOD_AMOUNTS as good,
  NO_TEXTS as notText,
} from '../fixtures/amounts.js';

describe('an amount in base units', () => {
  it.each(good)('accepts %s as text and as an argument', (text, amount) => {
    expect(parseAmount(text)).toBe(amount);
    expect(toAmount(text)).toBe(amount);
    expect(toAmount(amount)).toBe(amount);
  });

  it('refuses every other text and every value that is not text', () => {
    expect(bad.length).toBeGreaterThanOrEqual(120);
    expect(new Set(bad).size).toBe(bad.length);
    expect(
      bad.filter((text) => parseAmount(text) !== undefined || toAmount(text) !== undefined),
    ).toEqual([]);
    expect(notText.filter((value) => parseAmount(value) !== undefined)).toEqual([]);
    // JavaScript callers pass anything; only a bigint in range passes.
    const asArgument = notText
      .filter((value) => value !== 1n)
      .filter((value) => toAmount(value) !== undefined);
    expect(asArgument).toEqual([]);
    expect([toAmount(-1n), toAmount(U64_MAX + 1n)]).toEqual([undefined, undefined]);
  });

  it('reads back every u64, and refuses negative and larger integers', () => {
    fc.assert(
      fc.property(fc.bigInt(0n, U64_MAX), (amount) => parseAmount(amount.toString()) === amount),
    );
    fc.assert(
      fc.property(
        fc.bigInt({ min: U64_MAX + 1n }),
        (amount) => parseAmount(amount.toString()) === undefined,
      ),
    );
    fc.assert(
      fc.property(
        fc.bigInt({ max: -1n }),
        (amount) => parseAmount(amount.toString()) === undefined,
      ),
    );
  });

  it('accepts only text that BigInt itself would write', () => {
    const texts = fc.oneof(
      fc.string(),
      fc.string({
        unit: fc.constantFrom('0', '1', '9', ' ', '-', '+', '.', 'e', 'x', '_', '\n', '\u0661'),
      }),
    );
    fc.assert(
      fc.property(texts, (text) => {
        const amount = parseAmount(text);
        if (amount !== undefined) expect(amount.toString()).toBe(text);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('a decimal amount', () => {
  it.each([
    ['0', 6, 0n],
    ['0.0', 6, 0n],
    ['1', 6, 1_000_000n],
    ['0.25', 6, 250_000n],
    ['0.000001', 6, 1n],
    ['2.500000', 6, 2_500_000n],
    ['1', 0, 1n],
    ['18446744073709.551615', 6, U64_MAX],
    ['0.000000000000000001', 18, 1n],
  ] as const)('reads %s with %d decimals as %s base units', (text, decimals, amount) => {
    expect(parseUiAmount(text, decimals)).toBe(amount);
  });

  it.each([
    ['0.0000001', 6],
    ['1.0000000', 6],
    ['1.0', 0],
    ['1.', 6],
    ['.5', 6],
    ['01', 6],
    ['-1', 6],
    ['+1', 6],
    ['1e3', 6],
    ['1,5', 6],
    ['1.5.5', 6],
    [' 1', 6],
    ['1\n', 6],
    ['', 6],
    ['0x1', 6],
    ['\u0661', 6],
    ['1_0', 6],
    ['1'.repeat(21), 6],
    [`0.${'0'.repeat(18)}1`, 30],
  ] as const)('refuses %j with %d decimals', (text, decimals) => {
    expect(parseUiAmount(text, decimals)).toBeUndefined();
  });

  it('refuses every value that is not text', () => {
    expect(notText.filter((value) => parseUiAmount(value, 6) !== undefined)).toEqual([]);
  });

  it('drops trailing zeros when formatted', () => {
    expect([
      formatUiAmount(2_500_000n, 6),
      formatUiAmount(1n, 6),
      formatUiAmount(0n, 6),
      formatUiAmount(5n, 0),
      formatUiAmount(-1_500_000n, 6),
    ]).toEqual(['2.5', '0.000001', '0', '5', '-1.5']);
  });

  it('reads back the formatted text for any decimals from 0 to 18', () => {
    fc.assert(
      fc.property(fc.bigInt(0n, U64_MAX), fc.integer({ min: 0, max: 18 }), (amount, decimals) => {
        const text = formatUiAmount(amount, decimals);
        expect(parseUiAmount(text, decimals)).toBe(amount);
        expect(text).toMatch(/^(0|[1-9]\d*)(\.\d*[1-9])?$/);
      }),
    );
  });

  it('keeps the order of amounts after formatting', () => {
    const pair = fc.tuple(fc.bigInt(0n, U64_MAX), fc.bigInt(0n, U64_MAX));
    fc.assert(
      fc.property(pair, fc.integer({ min: 0, max: 9 }), ([a, b], decimals) => {
        const read = (amount: bigint) =>
          parseUiAmount(formatUiAmount(amount, decimals), decimals) ?? -1n;
        expect(read(a) < read(b)).toBe(a < b);
      }),
    );
  });
});

describe('amount arithmetic', () => {
  it('rounds a quotient up to the next unit', () => {
    const positive = fc.bigInt(1n, U64_MAX);
    fc.assert(
      fc.property(positive, positive, (numerator, denominator) => {
        const up = ceilDiv(numerator, denominator);
        expect(up * denominator).toBeGreaterThanOrEqual(numerator);
        expect((up - 1n) * denominator).toBeLessThan(numerator);
      }),
    );
  });

  it('returns the larger amount from maxAmount and the smaller from minAmount', () => {
    expect([
      maxAmount(1n, 2n),
      maxAmount(2n, 1n),
      minAmount(1n, 2n),
      minAmount(2n, 1n),
      minAmount(3n, 3n),
    ]).toEqual([2n, 2n, 1n, 1n, 3n]);
  });
});
