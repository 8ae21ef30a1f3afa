import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { pinnedMint, SOLANA_MAINNET } from '../../../src/network.js';
import type { Cap } from '../../../src/policy/caps.js';
import type { LimitOptions } from '../../../src/policy/limits.js';
import { capsOf, parse, refusedOption } from './parse.js';

const USDC = pinnedMint(SOLANA_MAINNET, 'USDC')?.mint ?? '';
const BONK = 'DezXAZ8z7PnrnRJjz3wXBoRgixCa6xjnB7YaB1pPB263';
const PAYEE = '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin';

/** The cap of a single limit, over time or for a single payment. */
const read = (limit: LimitOptions): Cap | undefined => {
  return [...parse({ limits: [limit] }).perPayment, ...capsOf({ limits: [limit] }).slice(1)][0];
};

describe('a limit', () => {
  const cases: readonly (readonly [LimitOptions, Partial<Cap>])[] = [
    [
      { usd: '0.50', per: 'payment' },
      { unit: 'USD', limit: 500_000n, windowMs: 0 },
    ],
    [
      { usd: '0.50', per: 'minute' },
      { unit: 'USD', limit: 500_000n, windowMs: 60_000 },
    ],
    [
      { usd: '0.50', per: 'hour' },
      { unit: 'USD', limit: 500_000n, windowMs: 3_600_000 },
    ],
    [
      { usd: '0.50', per: 'day' },
      { unit: 'USD', limit: 500_000n, windowMs: 86_400_000 },
    ],
    [
      { usd: '0.50', per: 'total' },
      { unit: 'USD', limit: 500_000n },
    ],
    [
      { usd: '0', per: 'day', mint: 'USDC' },
      { unit: 'USD', limit: 0n, windowMs: 86_400_000, mint: USDC },
    ],
    [
      { amount: '5', mint: 'USDC', per: 'hour' },
      { unit: USDC, limit: 5n, windowMs: 3_600_000, mint: USDC },
    ],
    [
      { amount: 5n, mint: BONK, per: 'payment' },
      { unit: BONK, limit: 5n, windowMs: 0, mint: BONK },
    ],
    [
      { amount: 2n ** 64n - 1n, mint: BONK, per: 'total' },
      { unit: BONK, limit: 2n ** 64n - 1n, mint: BONK },
    ],
    [
      { payments: 30, per: 'minute' },
      { unit: 'payments', limit: 30n, windowMs: 60_000 },
    ],
    [
      { payments: 0, per: 'total', mint: BONK },
      { unit: 'payments', limit: 0n, mint: BONK },
    ],
    [
      { usd: '1', per: 'total', host: 'API.example.com.:8443' },
      { unit: 'USD', limit: 1_000_000n, host: 'api.example.com:8443' },
    ],
    [
      { usd: '1', per: 'total', payee: PAYEE },
      { unit: 'USD', limit: 1_000_000n, payTo: PAYEE },
    ],
    [
      { usd: '1', per: 'total', host: '*', payee: '*' },
      { unit: 'USD', limit: 1_000_000n, host: '*', payTo: '*' },
    ],
  ];
  it.each(
    cases.map(([limit, cap]) => [inspect(limit, { breakLength: Infinity }), limit, cap] as const),
  )('reads %s', (_, limit, cap) => {
    expect(read(limit)).toEqual({ name: 'limits[0]', ...cap });
  });

  it('is named by its position in the list, over time or for a single payment', () => {
    const { caps, perPayment } = parse({
      limits: [
        { payments: 1, per: 'day' },
        { usd: '1', per: 'payment' },
        { usd: '1', per: 'total' },
        { usd: '2', per: 'payment' },
      ],
    });
    expect(caps.map(({ name }) => name)).toEqual([
      'maxPerDay',
      'maxLamportsPerDay',
      'limits[0]',
      'limits[2]',
    ]);
    expect(perPayment.map(({ name }) => name)).toEqual(['limits[1]', 'limits[3]']);
  });

  it('treats an undefined field as left out', () => {
    const limit = {
      usd: '1',
      amount: undefined,
      payments: undefined,
      mint: undefined,
      per: 'day',
      host: undefined,
      payee: undefined,
    };
    expect(capsOf({ limits: [limit as unknown as LimitOptions] })[1]).toEqual({
      name: 'limits[0]',
      unit: 'USD',
      limit: 1_000_000n,
      windowMs: 86_400_000,
    });
  });

  it('adds a cap and keeps all other caps', () => {
    const limits: LimitOptions[] = [
      { usd: '1', per: 'day' },
      { usd: '1', per: 'day' },
    ];
    expect(capsOf({ maxPerDay: '1', limits })).toHaveLength(3);
  });
});

describe('a wrong limit', () => {
  const wrong: readonly (readonly [field: string, limit: unknown])[] = [
    ['', {}],
    ['', { per: 'day' }],
    ['', { usd: '1', payments: 1, per: 'day' }],
    ['', { amount: '1', payments: 1, mint: 'USDC', per: 'day' }],
    ['', null],
    ['', undefined],
    ['.per', { usd: '1' }],
    ['.per', { usd: '1', per: 'week' }],
    ['.per', { usd: '1', per: 'constructor' }],
    ['.per', { payments: 1, per: 'payment' }],
    ['.usd', { usd: null, per: 'day' }],
    ['.usd', { usd: 1, per: 'day' }],
    ['.amount', { amount: 2n ** 64n, mint: 'USDC', per: 'day' }],
    ['.mint', { amount: '5', per: 'day' }],
    ['.mint', { amount: '5', mint: 'usdc', per: 'day' }],
    ['.mint', { usd: '5', mint: '*', per: 'day' }],
    ['.payments', { payments: -1, per: 'day' }],
    ['.payments', { payments: 0.5, per: 'day' }],
    ['.payments', { payments: 2 ** 53, per: 'day' }],
    ['.host', { usd: '1', per: 'day', host: '' }],
    ['.host', { usd: '1', per: 'day', host: 'https://a.test' }],
    ['.payee', { usd: '1', per: 'day', payee: '' }],
    ['.payee', { usd: '1', per: 'day', payee: PAYEE.slice(9) }],
    ['.payee', { usd: '1', per: 'day', payee: `1${PAYEE}` }],
    ['.payTo', { usd: '1', per: 'day', payTo: PAYEE }],
    ['.Usd', { Usd: '1', usd: '1', per: 'day' }],
    ['.__proto__', JSON.parse('{"usd":"1","per":"day","__proto__":1}')],
  ];
  it.each(
    wrong.map(
      ([field, limit]) => [inspect(limit, { breakLength: Infinity }), field, limit] as const,
    ),
  )('is refused by the name of its field: %s', (_, field, limit) => {
    expect(refusedOption({ limits: [{ usd: '1', per: 'day' }, limit] })).toBe(
      `policy.limits[1]${field}`,
    );
  });

  it.each([[{}], [null], ['1'], [new Set([{ usd: '1', per: 'day' }])], [{ length: 0 }]])(
    'is refused when the limits are not a list: %j',
    (limits) => {
      expect(refusedOption({ limits })).toBe('policy.limits');
    },
  );

  it('is refused when it is a hole in the list', () => {
    expect(refusedOption({ limits: Array(1) })).toBe('policy.limits[0]');
  });
});
