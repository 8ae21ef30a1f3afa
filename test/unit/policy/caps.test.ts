import { describe, expect, it } from 'vitest';
import type { PolicyError } from '../../../src/errors.js';
import { pinnedMint, SOLANA_MAINNET } from '../../../src/network.js';
import { capUse } from '../../../src/policy/cap-use.js';
import { capsFor, capCounts, takenOf, type Cap, type Spend } from '../../../src/policy/caps.js';
import { capsForSpends } from '../../../src/policy/cap-use.js';
import { checkPayment } from '../../../src/policy/refusals.js';
import { overBudget } from '../../../src/policy/over-budget.js';
import { capsOf, parse } from './parse.js';

const USDC = pinnedMint(SOLANA_MAINNET, 'USDC')?.mint ?? '';
const BONK = 'DezXAZ8z7PnrnRJjz3wXBoRgixCa6xjnB7YaB1pPB263';
const PAYEE = '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin';
const OTHER = '4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU';
const MINUTE = 60_000;
const DAY = 86_400_000;

const summaryOf = (error: PolicyError | undefined) =>
  error && { code: error.code, details: error.details };
const spendOf = (change: Partial<Spend> = {}): Spend => ({
  host: 'a.test',
  payTo: PAYEE,
  mint: USDC,
  amount: '1',
  microUsd: '1',
  ...change,
});
/** A spend of this many millionths of a dollar in USDC. */
const usdc = (amount: bigint): Spend => spendOf({ amount: `${amount}`, microUsd: `${amount}` });
/** A spend of this many base units of a token without a price. */
const bonk = (amount: bigint): Spend => {
  const { microUsd: _none, ...spend } = spendOf({ mint: BONK, amount: `${amount}` });
  return spend;
};

describe('a cap on a single payment', () => {
  it('holds to the millionth of a dollar', () => {
    const policy = parse({ maxPerPayment: '0.25' });
    expect(checkPayment(policy, usdc(250_000n))).toBeUndefined();
    const error = checkPayment(policy, usdc(250_001n));
    expect(summaryOf(error)).toEqual({
      code: 'amount_over_limit',
      details: { cap: 'maxPerPayment', limit: '0.25', amount: '0.250001', unit: 'USD' },
    });
    expect(error?.message).toBe(
      'The price of 0.250001 USD at a.test is above policy.maxPerPayment of 0.25 USD. Raise it to allow the payment.',
    );
  });

  it('holds to the base unit, beside the cap in dollars and before it', () => {
    const policy = parse({ maxPerPayment: '1', maxAmount: { USDC: '1000' } });
    expect(checkPayment(policy, usdc(1000n))).toBeUndefined();
    const error = checkPayment(policy, usdc(1001n));
    expect(summaryOf(error)).toEqual({
      code: 'amount_over_limit',
      details: { cap: 'maxAmount', limit: '1000', amount: '1001', unit: USDC },
    });
    expect(error?.message).toContain(
      '1001 base units at a.test is above policy.maxAmount of 1000 base units',
    );
    const wide = parse({ maxPerPayment: '1', maxAmount: { USDC: 2n ** 64n - 1n } });
    expect(checkPayment(wide, usdc(2_000_000n))).toMatchObject({
      details: { cap: 'maxPerPayment' },
    });
  });

  it('admits a mint without a price only if the cap is in its base units', () => {
    const unknown = { code: 'price_unknown', details: { mint: BONK } };
    expect(summaryOf(checkPayment(parse({}), bonk(1n)))).toEqual(unknown);
    for (const policy of [
      parse({ maxAmount: { [BONK]: '500' } }),
      parse({ limits: [{ amount: '500', mint: BONK, per: 'payment' }] }),
    ]) {
      expect(checkPayment(policy, bonk(500n))).toBeUndefined();
      expect(checkPayment(policy, bonk(501n))).toMatchObject({
        code: 'amount_over_limit',
        details: { unit: BONK },
      });
      const { microUsd: _none, ...unpriced } = usdc(1n);
      expect(checkPayment(policy, unpriced)).toMatchObject({ code: 'price_unknown' });
    }
    const insufficient = [
      parse({ limits: [{ amount: '500', mint: BONK, per: 'day' }] }),
      parse({ limits: [{ usd: '5', mint: BONK, per: 'payment' }] }),
      parse({ limits: [{ amount: '500', mint: BONK, per: 'payment', host: 'b.test' }] }),
      parse({ limits: [{ amount: '500', mint: BONK, per: 'payment', payee: OTHER }] }),
    ];
    for (const policy of insufficient)
      expect(summaryOf(checkPayment(policy, bonk(1n)))).toEqual(unknown);
  });

  it('admits nothing when it is zero', () => {
    for (const policy of [
      parse({ maxPerPayment: '0' }),
      parse({ maxAmount: { USDC: 0n } }),
      parse({ limits: [{ usd: '0', per: 'payment' }] }),
      parse({ limits: [{ amount: 0n, mint: 'USDC', per: 'payment', host: '*', payee: '*' }] }),
    ])
      expect(checkPayment(policy, usdc(1n))).toMatchObject({ code: 'amount_over_limit' });
  });

  it('binds only its host, payee or mint', () => {
    const policy = parse({
      limits: [
        { usd: '0.10', per: 'payment', host: 'a.test' },
        { usd: '0.20', per: 'payment', payee: OTHER },
        { usd: '0.30', per: 'payment', mint: BONK },
      ],
    });
    const check = (change: Partial<Spend>) =>
      checkPayment(policy, spendOf({ amount: '1', microUsd: '300001', ...change }))?.details;
    expect(check({ host: 'b.test' })).toBeUndefined();
    expect(check({ host: 'a.test:8443' })).toEqual({
      cap: 'limits[0]',
      limit: '0.1',
      amount: '0.300001',
      unit: 'USD',
    });
    expect(check({ host: 'b.test', payTo: OTHER })).toMatchObject({ cap: 'limits[1]' });
    expect(check({ host: 'b.test', mint: BONK })).toMatchObject({ cap: 'limits[2]' });
  });
});

describe('a cap for a host', () => {
  const caps = capsOf({
    maxPerDay: '5',
    maxPerHost: { 'api.example.com': '1', 'localhost:4021': '2' },
  });

  it('stands beside the cap of the day', () => {
    const [unit, windowMs] = ['USD', DAY];
    expect(caps).toEqual([
      { name: 'maxPerDay', unit, limit: 5_000_000n, windowMs },
      {
        name: "maxPerHost['api.example.com']",
        unit,
        limit: 1_000_000n,
        windowMs,
        host: 'api.example.com',
      },
      {
        name: "maxPerHost['localhost:4021']",
        unit,
        limit: 2_000_000n,
        windowMs,
        host: 'localhost:4021',
      },
    ]);
  });

  it.each([
    ['https://api.example.com/x', ['api.example.com']],
    ['https://api.example.com:8443/', ['api.example.com']],
    ['https://api.example.com./', ['api.example.com']],
    ['https://api.example.com.:8443/', ['api.example.com']],
    ['https://api.example.com.evil.test/', []],
    ['https://sub.api.example.com/', []],
    ['https://example.com/', []],
    ['http://localhost:4021/', ['localhost:4021']],
    ['http://localhost:4022/', []],
  ])('counts a payment to %s only if it is for the host', (url, expected) => {
    const spend = spendOf({ host: new URL(url).host });
    expect(caps.filter((cap) => capCounts(cap, spend)).map((cap) => cap.host)).toEqual([
      undefined,
      ...expected,
    ]);
    const policy = parse({ maxPerHost: { 'api.example.com': '1', 'localhost:4021': '2' } });
    expect(capsFor(policy, spend).map((cap) => cap.host)).toEqual([
      undefined,
      ...expected,
      undefined,
    ]);
  });
});

describe('a cap for each host or payee', () => {
  const policy = parse({
    limits: [
      { usd: '1', per: 'day', host: '*' },
      { payments: 2, per: 'minute', payee: '*' },
      { amount: '7', mint: BONK, per: 'total', host: '*', payee: '*' },
    ],
  });

  it('applies to the host of the spend, whatever its port, dot or name', () => {
    const hosts = [
      'a.test',
      'a.test:8443',
      'a.test.',
      'a.test.:8443',
      '[::1]',
      '[::1]:4021',
      '__proto__',
      '*',
    ];
    const hostCaps = hosts.map((host) =>
      capsFor(policy, spendOf({ host })).find(({ name }) => name === 'limits[0]'),
    );
    expect(hostCaps.map((cap) => cap?.host)).toEqual([
      'a.test',
      'a.test',
      'a.test',
      'a.test',
      '[::1]',
      '[::1]',
      '__proto__',
      '*',
    ]);
    for (const [index, host] of hosts.entries())
      expect(capCounts(hostCaps[index]!, spendOf({ host }))).toBe(true);
    expect(capCounts(hostCaps[7]!, spendOf())).toBe(false);
  });

  it('is shown once for each host or payee of the spends', () => {
    const spends = [
      spendOf(),
      spendOf({ host: 'a.test:8443' }),
      spendOf({ host: 'b.test', payTo: OTHER }),
      { ...bonk(1n), payTo: OTHER },
      { ...bonk(2n), payTo: OTHER },
    ];
    const shown = (list: Iterable<Spend>) =>
      capsForSpends(policy, list).map(({ name, host, payTo }) =>
        [name, host, payTo].join(' ').trim(),
      );
    expect(shown(spends.values())).toEqual([
      'maxPerDay',
      'maxLamportsPerDay',
      'limits[0] a.test',
      'limits[0] b.test',
      `limits[1]  ${PAYEE}`,
      `limits[1]  ${OTHER}`,
      `limits[2] a.test ${OTHER}`,
    ]);
    expect(shown([])).toEqual(['maxPerDay', 'maxLamportsPerDay']);
  });

  it('does not bind a swap alone, which has no host and no payee', () => {
    const alone = { ...bonk(8n), host: '', payTo: '' };
    expect(capsFor(policy, alone).map(({ name }) => name)).toEqual([
      'maxPerDay',
      'maxLamportsPerDay',
    ]);
    const limits = [{ usd: '0.10', per: 'payment', payee: '*' }] as const;
    const each = parse({ limits });
    expect(checkPayment(each, usdc(100_001n))?.code).toBe('amount_over_limit');
    expect(checkPayment(each, { ...usdc(100_001n), host: '', payTo: '' })).toBeUndefined();
  });
});

describe('the part of a cap that a spend takes', () => {
  const cap = (change: Partial<Cap>): Cap => ({
    name: 'limits[0]',
    unit: 'USD',
    limit: 10n,
    ...change,
  });
  const cases: readonly (readonly [string, Partial<Cap>, Spend, bigint])[] = [
    ['in dollars', {}, usdc(5n), 5n],
    ['zero dollars if the spend has no price', {}, bonk(5n), 0n],
    ['a single payment', { unit: 'payments' }, usdc(5n), 1n],
    ['a single payment also if the spend has no price', { unit: 'payments' }, bonk(5n), 1n],
    ['in base units', { unit: BONK, mint: BONK }, bonk(5n), 5n],
    ['in base units if the cap names its mint only as the unit', { unit: BONK }, bonk(5n), 5n],
    ['nothing for a spend in another mint', { unit: BONK }, usdc(5n), 0n],
    ['nothing if the cap is in dollars for another mint', { mint: BONK }, usdc(5n), 0n],
    [
      'nothing if the cap is on payments in another mint',
      { unit: 'payments', mint: BONK },
      usdc(5n),
      0n,
    ],
    ['nothing for another host', { host: 'b.test' }, usdc(5n), 0n],
    ['nothing for another port', { host: 'a.test:8443' }, usdc(5n), 0n],
    ['nothing for another payee', { payTo: OTHER }, usdc(5n), 0n],
    ['exact also above 64 bits', {}, usdc(10n ** 30n), 10n ** 30n],
  ];
  it.each(cases)('is %s', (_, change, spend, taken) => {
    expect(takenOf(cap(change), spend)).toBe(taken);
  });

  it.each(['-1', '', ' 1', '0x10', '1.5', '1n', '1\n'])(
    'is never read from %j, because it might be credit',
    (text) => {
      expect(() => takenOf(cap({}), spendOf({ microUsd: text }))).toThrow(RangeError);
      expect(() => takenOf(cap({ unit: USDC }), spendOf({ amount: text }))).toThrow(RangeError);
    },
  );
});

describe('the use of a cap', () => {
  it('is in the unit of the cap, with the scope of the cap alone, and survives JSON', () => {
    const policy = parse({
      maxPerHost: { 'api.example.com': '1' },
      limits: [
        { payments: 30, per: 'minute', payee: PAYEE },
        { amount: '5000000', mint: 'USDC', per: 'total' },
      ],
    });
    const uses = policy.caps.map((cap) => capUse(cap, 1_250_000n, [200_000n, 50_000n]));
    const parts = { payments: '1', swaps: '0.2', fees: '0.05' };
    expect(uses).toStrictEqual([
      { cap: 'maxPerDay', limit: '10', used: '1.25', parts, unit: 'USD', windowMs: DAY },
      {
        cap: "maxPerHost['api.example.com']",
        host: 'api.example.com',
        limit: '1',
        used: '1.25',
        parts,
        unit: 'USD',
        windowMs: DAY,
      },
      {
        cap: 'maxLamportsPerDay',
        limit: '50000000',
        used: '1250000',
        unit: 'lamports',
        windowMs: DAY,
      },
      {
        cap: 'limits[0]',
        payee: PAYEE,
        limit: '30',
        used: '1250000',
        unit: 'payments',
        windowMs: MINUTE,
      },
      { cap: 'limits[1]', mint: USDC, limit: '5000000', used: '1250000', unit: USDC },
    ]);
    expect(JSON.parse(JSON.stringify(uses))).toStrictEqual(uses);
  });
});

describe('the refusal of an exhausted cap', () => {
  const day: Cap = { name: 'maxPerDay', unit: 'USD', limit: 5_000_000n, windowMs: DAY };

  it('states the numbers and the remedy', () => {
    const error = overBudget(day, 4_990_000n, 10_001n);
    expect(summaryOf(error)).toEqual({
      code: 'budget_exhausted',
      details: { cap: 'maxPerDay', limit: '5', used: '4.99', amount: '0.010001', unit: 'USD' },
    });
    expect(error).toMatchObject({ funds: 'untouched', retry: 'fresh' });
    expect(error.message).toBe(
      '0.010001 USD do not fit policy.maxPerDay of 5 USD: 4.99 USD are spent or reserved in the last day. Wait, or raise it.',
    );
  });

  it('states the numbers in the unit of the cap', () => {
    expect(
      summaryOf(
        overBudget({ name: 'limits[0]', unit: 'payments', limit: 30n, windowMs: MINUTE }, 30n, 1n),
      ),
    ).toMatchObject({
      details: { cap: 'limits[0]', limit: '30', used: '30', amount: '1', unit: 'payments' },
    });
    const units = overBudget(
      { name: 'limits[1]', unit: USDC, mint: USDC, limit: 5n, windowMs: MINUTE },
      3n,
      4n,
    );
    expect(summaryOf(units)).toMatchObject({
      details: { limit: '5', used: '3', amount: '4', unit: USDC },
    });
    expect(units.message).toBe(
      '4 base units do not fit policy.limits[1] of 5 base units: 3 base units are spent or reserved in the last minute. Wait, or raise it.',
    );
    expect(overBudget({ ...day, windowMs: 3_600_000 }, 0n, 1n).message).toContain(
      'in the last hour.',
    );
  });

  it('does not advise to wait when waiting frees nothing', () => {
    const { windowMs: _none, ...total } = { ...day, name: 'maxTotal' };
    for (const error of [overBudget(total, 4_999_999n, 2n), overBudget(day, 0n, 5_000_001n)]) {
      expect(error.retry).toBe('never');
      expect(error.message).not.toMatch(/[Ww]ait/);
    }
    expect(overBudget(day, 1n, 5_000_000n).retry).toBe('fresh');
    expect(overBudget(total, 4_999_999n, 2n).message).toContain(
      '4.999999 USD are spent or reserved so far.',
    );
  });
});
