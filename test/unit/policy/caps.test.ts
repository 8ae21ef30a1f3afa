import { describe, expect, it } from 'vitest';
import type { PolicyError } from '../../../src/errors.js';
import { pinnedMint, SOLANA_MAINNET } from '../../../src/network.js';
import { capUse, checkPayment, counts, overBudget, rollingCaps } from '../../../src/policy/caps.js';
import { parsePolicy, type PolicyOptions } from '../../../src/policy/policy.js';

const USDC = pinnedMint(SOLANA_MAINNET, 'USDC')?.mint ?? '';
const BONK = 'DezXAZ8z7PnrnRJjz3wXBoRgixCa6xjnB7YaB1pPB263';
const parse = (options: PolicyOptions) => parsePolicy(options, SOLANA_MAINNET);
const said = (error: PolicyError | undefined) => error && { code: error.code, details: error.details };

describe('the caps on one payment', () => {
  it('hold to the millionth of a dollar', () => {
    const policy = parse({ maxPerPayment: '0.25' });
    expect(checkPayment(policy, USDC, 250_000n, 250_000n)).toBeUndefined();
    const error = checkPayment(policy, USDC, 250_001n, 250_001n);
    expect(said(error)).toEqual({
      code: 'amount_over_limit',
      details: { cap: 'maxPerPayment', limit: '0.25', amount: '0.250001', unit: 'USD' },
    });
    expect(error?.message).toContain('0.250001 USD is above policy.maxPerPayment of 0.25 USD');
  });

  it('hold to the base unit, beside the dollars and before them', () => {
    const policy = parse({ maxPerPayment: '1', maxAmount: { USDC: '1000' } });
    expect(checkPayment(policy, USDC, 1000n, 1000n)).toBeUndefined();
    expect(said(checkPayment(policy, USDC, 1001n, 1001n))).toEqual({
      code: 'amount_over_limit',
      details: { cap: 'maxAmount', limit: '1000', amount: '1001', unit: USDC },
    });
    const wide = parse({ maxPerPayment: '1', maxAmount: { USDC: 2n ** 64n - 1n } });
    expect(checkPayment(wide, USDC, 2_000_000n, 2_000_000n)).toMatchObject({ details: { cap: 'maxPerPayment' } });
  });

  it('let a mint without a price through only by a cap in its own units', () => {
    expect(said(checkPayment(parse({}), BONK, 1n, undefined))).toEqual({ code: 'price_unknown', details: { mint: BONK } });
    const policy = parse({ maxAmount: { [BONK]: '500' } });
    expect(checkPayment(policy, BONK, 500n, undefined)).toBeUndefined();
    expect(checkPayment(policy, BONK, 501n, undefined)).toMatchObject({ code: 'amount_over_limit' });
    expect(checkPayment(policy, USDC, 1n, undefined)).toMatchObject({ code: 'price_unknown' });
  });

  it('of zero let nothing through', () => {
    expect(checkPayment(parse({ maxPerPayment: '0' }), USDC, 1n, 1n)).toMatchObject({ code: 'amount_over_limit' });
    expect(checkPayment(parse({ maxAmount: { USDC: 0n } }), USDC, 1n, 1n)).toMatchObject({ code: 'amount_over_limit' });
  });
});

describe('the rolling caps', () => {
  const caps = rollingCaps(parse({ maxPerDay: '5', maxPerHost: { 'api.example.com': '1', 'localhost:4021': '2' } }));

  it('are the day and each host', () => {
    const windowMs = 86_400_000;
    expect(caps).toEqual([
      { name: 'maxPerDay', limit: 5_000_000n, windowMs },
      { name: 'maxPerHost', limit: 1_000_000n, windowMs, host: 'api.example.com' },
      { name: 'maxPerHost', limit: 2_000_000n, windowMs, host: 'localhost:4021' },
    ]);
  });

  it.each([
    ['https://api.example.com/x', ['api.example.com']],
    ['https://API.EXAMPLE.COM:443/', ['api.example.com']],
    ['https://api.example.com:8443/', ['api.example.com']],
    ['https://api.example.com./', ['api.example.com']],
    ['https://api.example.com.:8443/', ['api.example.com']],
    ['https://user:pw@api.example.com/', ['api.example.com']],
    ['https://api.example.com@evil.test/', []],
    ['https://evil.test/?api.example.com', []],
    ['https://api.example.com.evil.test/', []],
    ['https://sub.api.example.com/', []],
    ['https://example.com/', []],
    ['http://localhost:4021/', ['localhost:4021']],
    ['http://localhost:4022/', []],
  ])('count %s where they must', (url, expected) => {
    const host = new URL(url).host;
    expect(caps.filter((cap) => counts(cap, host)).map((cap) => cap.host)).toEqual([undefined, ...expected]);
  });

  it('say how much is used, in dollars', () => {
    const [day, host] = caps;
    if (day === undefined || host === undefined) throw new Error('two caps at least');
    expect(capUse(day, 1_250_000n)).toEqual({ cap: 'maxPerDay', limit: '5', used: '1.25', unit: 'USD', windowMs: 86_400_000 });
    expect(capUse(host, 0n)).toMatchObject({ cap: 'maxPerHost', host: 'api.example.com', used: '0' });
  });

  it('refuse with the numbers and what to do', () => {
    const [day, host] = caps;
    if (day === undefined || host === undefined) throw new Error('two caps at least');
    expect(said(overBudget(day, 4_990_000n, 10_001n))).toEqual({
      code: 'budget_exhausted',
      details: { cap: 'maxPerDay', limit: '5', used: '4.99', amount: '0.010001', unit: 'USD' },
    });
    expect(overBudget(host, 1_000_000n, 1n).message).toBe(
      '0.000001 USD does not fit policy.maxPerHost of 1 USD for api.example.com: 1 USD of the last 24 hours are spent or reserved. Wait, or raise it.',
    );
    expect(overBudget(host, 0n, 1n)).toMatchObject({ funds: 'untouched', retry: 'fresh' });
  });
});
