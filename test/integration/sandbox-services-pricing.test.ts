import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  inputFor,
  otherAmountThreshold,
  outputFor,
  priceImpactPct,
  usdValue,
  type Market,
} from '../../adapters/sandbox/services/aggregator/pricing.js';

const DOLLAR = 10n ** 12n;
const market = fc.record({
  inputPrice: fc.bigInt(1n, 1_000_000_000n),
  outputPrice: fc.bigInt(1n, 1_000_000_000n),
  spreadBps: fc.bigInt(0n, 100n),
  depth: fc.bigInt(DOLLAR, 1_000_000_000n * DOLLAR),
  fixedImpactBps: fc.option(fc.bigInt(0n, 9_000n), { nil: undefined }),
});
const flat: Market = {
  inputPrice: 150_000n,
  outputPrice: 1_000_000n,
  spreadBps: 5n,
  depth: 10n ** 8n * DOLLAR,
  fixedImpactBps: undefined,
};

describe('the pricing of the aggregator', () => {
  it('takes for ExactOut the least input that ExactIn turns into the amount', () => {
    fc.assert(
      fc.property(market, fc.bigInt(1n, 10n ** 15n), (priced, amount) => {
        const input = inputFor(priced, amount);
        if (input === undefined) return;
        expect(outputFor(priced, input)).toBeGreaterThanOrEqual(amount);
        expect(outputFor(priced, input - 1n)).toBeLessThan(amount);
      }),
    );
  });

  it('never pays more than the price', () => {
    fc.assert(
      fc.property(market, fc.bigInt(1n, 10n ** 15n), (priced, amount) => {
        expect(outputFor(priced, amount) * priced.outputPrice).toBeLessThanOrEqual(
          amount * priced.inputPrice,
        );
      }),
    );
  });

  it('rounds thresholds like the live answers of Jupiter', () => {
    expect(otherAmountThreshold('ExactOut', 4_380_137n, 100n)).toBe(4_423_939n);
    expect(otherAmountThreshold('ExactIn', 16_198_753n, 50n)).toBe(16_117_760n);
  });

  it('writes fractions as decimal strings', () => {
    expect(usdValue(flat, 1_000_000_000n)).toBe('150');
    expect(priceImpactPct({ ...flat, fixedImpactBps: 25n }, 1n)).toBe('0.0025');
    expect(priceImpactPct({ ...flat, fixedImpactBps: 0n }, 1n)).toBe('0');
    // 150 million dollars into a pool of 100 million
    expect(priceImpactPct(flat, 10n ** 15n)).toBe('0.6');
  });
});
