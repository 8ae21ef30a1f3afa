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

describe('pricing', () => {
  it('asks of ExactOut the least input that ExactIn would turn into the amount', () => {
    fc.assert(
      fc.property(market, fc.bigInt(1n, 10n ** 15n), (one, amount) => {
        const input = inputFor(one, amount);
        if (input === undefined) return;
        expect(outputFor(one, input)).toBeGreaterThanOrEqual(amount);
        expect(outputFor(one, input - 1n)).toBeLessThan(amount);
      }),
    );
  });

  it('never pays more than the price', () => {
    fc.assert(
      fc.property(market, fc.bigInt(1n, 10n ** 15n), (one, amount) => {
        expect(outputFor(one, amount) * one.outputPrice).toBeLessThanOrEqual(
          amount * one.inputPrice,
        );
      }),
    );
  });

  it("rounds thresholds as Jupiter's live answers do", () => {
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
