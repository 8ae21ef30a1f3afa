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

const good: readonly (readonly [string, bigint])[] = [
  ['0', 0n],
  ['1', 1n],
  ['9', 9n],
  ['10', 10n],
  ['100', 100n],
  ['10000', 10_000n],
  ['1000000', 1_000_000n],
  ['4294967295', 4_294_967_295n],
  ['4294967296', 4_294_967_296n],
  ['9007199254740991', 9_007_199_254_740_991n],
  ['9007199254740992', 9_007_199_254_740_992n],
  ['9007199254740993', 9_007_199_254_740_993n],
  ['9223372036854775807', 2n ** 63n - 1n],
  ['9223372036854775808', 2n ** 63n],
  ['10000000000000000000', 10n ** 19n],
  ['18446744073709551614', U64_MAX - 1n],
  ['18446744073709551615', U64_MAX],
];

/**
 * What security.md P1 warns of: BigInt, Number or Python would take many of these, each for another
 * amount.
 */
const bad: readonly string[] = [
  // beyond the range
  '18446744073709551616',
  '18446744073709551620',
  '18446744073709551621',
  '36893488147419103232',
  '99999999999999999999',
  '100000000000000000000',
  '340282366920938463463374607431768211456',
  '1'.repeat(21),
  '9'.repeat(1_000),
  '0'.repeat(21),
  // nothing, or not only digits
  '',
  ' ',
  '\u0000',
  '-',
  '+',
  '.',
  ',',
  '_',
  'n',
  'e',
  'x',
  // signs
  '-0',
  '-1',
  '+0',
  '+1',
  '--1',
  '-18446744073709551615',
  '\u22121',
  '\uff0d1',
  '1-',
  '(1)',
  // spaces, which BigInt and Number strip
  ' 1',
  '1 ',
  ' 12 ',
  '\t1',
  '1\t',
  '1\n',
  '\n1',
  '1\r',
  '1\r\n',
  '1\u000b',
  '1\u000c',
  '\u00a01',
  '1\u00a0',
  '\u20031',
  '1\u2028',
  '1\u2029',
  '\ufeff1',
  '1\ufeff',
  '\u200b1',
  '1\u200b',
  '1 000',
  '1\u00a0000',
  // leading zeros
  '00',
  '01',
  '007',
  '0000001',
  '000000000000000000001',
  // other bases
  '0x10',
  '0X10',
  '0x',
  '0xg',
  '0b1',
  '0B1',
  '0o7',
  '0O7',
  '1h',
  'ff',
  '0x1p3',
  // fractions and exponents
  '1.0',
  '1.',
  '.1',
  '0.1',
  '1.5',
  '1,0',
  '1,000',
  "1'000",
  '1e3',
  '1E3',
  '1e+3',
  '1e-3',
  '1e0',
  '0e0',
  '1.0e3',
  '1/2',
  '1%',
  // separators that a language takes
  '1_000',
  '_1',
  '1_',
  '1__0',
  '1n',
  '0n',
  '1L',
  '1u',
  '1f',
  // words
  'NaN',
  'nan',
  'Infinity',
  '-Infinity',
  'inf',
  'null',
  'undefined',
  'true',
  'false',
  'none',
  'zero',
  '[object Object]',
  '[]',
  '{}',
  '[1]',
  '"1"',
  "'1'",
  // digits of other scripts, which Python and some parsers take
  '\u0661',
  '\u06f1',
  '\u0967',
  '\u0e51',
  '\uff11',
  '\uff11\uff10',
  '\u00b2',
  '\u2460',
  '\u0be7',
  '\ud835\udfcf',
  '1\u0660',
  '\u00bd',
  // hidden and direction characters between digits
  '1\u202e2',
  '1\u200d2',
  '1\u00ad2',
  '1\u03490',
  '1\u20e3',
  // more than one number, or a unit
  '1 2',
  '1,2',
  '1;2',
  '1 USDC',
  '$1',
  '1$',
  '\u20ac1',
  '1\u00a2',
  '1lamports',
  '#1',
  '1#',
  '\\u0031',
  '%31',
  '&#49;',
  '1\u0000',
  '1\u0000000',
  '1//',
  '1;DROP',
];

const notText: readonly unknown[] = [
  0,
  1,
  10_000,
  -1,
  0.5,
  NaN,
  Infinity,
  1n,
  10n ** 20n,
  true,
  false,
  null,
  undefined,
  [],
  ['1'],
  [1],
  {},
  { toString: () => '1' },
  new String('1'),
  new Number(1),
  Symbol('1'),
  () => '1',
  new Date(0),
  new Uint8Array([49]),
];

describe('an amount in base units', () => {
  it.each(good)('%s is taken', (text, amount) => {
    expect(parseAmount(text)).toBe(amount);
    expect(toAmount(text)).toBe(amount);
    expect(toAmount(amount)).toBe(amount);
  });

  it('is nothing else', () => {
    expect(bad.length).toBeGreaterThanOrEqual(120);
    expect(new Set(bad).size).toBe(bad.length);
    expect(
      bad.filter((text) => parseAmount(text) !== undefined || toAmount(text) !== undefined),
    ).toEqual([]);
    expect(notText.filter((value) => parseAmount(value) !== undefined)).toEqual([]);
    // Arguments come past the types; only a bigint in range passes.
    const asArgument = notText
      .filter((value) => value !== 1n)
      .filter((value) => toAmount(value as string) !== undefined);
    expect(asArgument).toEqual([]);
    expect([toAmount(-1n), toAmount(U64_MAX + 1n)]).toEqual([undefined, undefined]);
  });

  it('reads back as it was written, for every u64, and for nothing beyond', () => {
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

  it('is text exactly as BigInt writes it: whatever else is taken for a number is refused', () => {
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

describe('an amount for people', () => {
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
  ] as const)('%s with %d decimals is %s', (text, decimals, amount) => {
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
  ] as const)('%j with %d decimals is none', (text, decimals) => {
    expect(parseUiAmount(text, decimals)).toBeUndefined();
  });

  it('is never a number', () => {
    expect(notText.filter((value) => parseUiAmount(value, 6) !== undefined)).toEqual([]);
  });

  it('is written without needless digits', () => {
    expect([
      formatUiAmount(2_500_000n, 6),
      formatUiAmount(1n, 6),
      formatUiAmount(0n, 6),
      formatUiAmount(5n, 0),
      formatUiAmount(-1_500_000n, 6),
    ]).toEqual(['2.5', '0.000001', '0', '5', '-1.5']);
  });

  it('reads back as it was written, with any decimals that a mint has', () => {
    fc.assert(
      fc.property(fc.bigInt(0n, U64_MAX), fc.integer({ min: 0, max: 18 }), (amount, decimals) => {
        const text = formatUiAmount(amount, decimals);
        expect(parseUiAmount(text, decimals)).toBe(amount);
        expect(text).toMatch(/^(0|[1-9]\d*)(\.\d*[1-9])?$/);
      }),
    );
  });

  it('keeps the order of amounts', () => {
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

describe('arithmetic', () => {
  it('rounds up, to the unit', () => {
    const positive = fc.bigInt(1n, U64_MAX);
    fc.assert(
      fc.property(positive, positive, (numerator, denominator) => {
        const up = ceilDiv(numerator, denominator);
        expect(up * denominator).toBeGreaterThanOrEqual(numerator);
        expect((up - 1n) * denominator).toBeLessThan(numerator);
      }),
    );
  });

  it('picks the larger and the smaller', () => {
    expect([
      maxAmount(1n, 2n),
      maxAmount(2n, 1n),
      minAmount(1n, 2n),
      minAmount(2n, 1n),
      minAmount(3n, 3n),
    ]).toEqual([2n, 2n, 1n, 1n, 3n]);
  });
});
