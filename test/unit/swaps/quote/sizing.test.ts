import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { QuoteError, TransportError } from '../../../../src/errors.js';
import { checkImpact, checkQuote } from '../../../../src/swaps/quote/check-quote.js';
import { createFallback } from '../../../../src/swaps/jupiter/connect.js';
import { sizeExactIn } from '../../../../src/swaps/quote/sizing.js';
import type { QuoteIntent, SwapProvider } from '../../../../src/swaps/provider.js';
import type { SwapQuote } from '../../../../src/swaps/types.js';
import { USDC, USDT, fakeProvider, fakeRuntime } from '../support.js';

const wanted = {
  inputMint: USDC,
  outputMint: USDT,
  target: 1_000_000n,
  seedIn: 1_000_000n,
  slippageBps: 50,
};
const noRoute = () =>
  new QuoteError('no_route', 'No route.', { details: { inputMint: USDC, outputMint: USDT } });
const answered = (status: number) =>
  new TransportError('jupiter_unavailable', 'No.', { details: { status } });
const withoutExactOut = ({ swapMode }: QuoteIntent) =>
  swapMode === 'ExactOut' ? noRoute() : undefined;

/** A constant-product pool, x * y = k: its price gets worse with the amount. */
function pool(x: bigint, y: bigint): SwapProvider & { asked: QuoteIntent[] } {
  const provider = fakeProvider({ price: 1n });
  return {
    ...provider,
    async quote(intent) {
      const quote = await provider.quote(intent);
      const out = (y * intent.amount) / (x + intent.amount);
      return { ...quote, outAmount: String(out), minOutAmount: String((out * 9_950n) / 10_000n) };
    },
  };
}

describe('sizeExactIn', () => {
  it('sizes an exact input in two calls from a good guess', async () => {
    const provider = fakeProvider({ price: 1_000_000n });
    const quote = await sizeExactIn(provider, wanted);
    expect(BigInt(quote.minOutAmount)).toBeGreaterThanOrEqual(1_000_000n);
    expect(BigInt(quote.inAmount)).toBeLessThan(1_012_000n);
    expect(provider.asked.map((intent) => intent.swapMode)).toEqual(['ExactIn', 'ExactIn']);
  });

  it('covers the target at the worst slippage in four calls, on any pool', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.bigInt({ min: 10n ** 6n, max: 10n ** 15n }),
        fc.bigInt({ min: 10n ** 6n, max: 10n ** 15n }),
        fc.bigInt({ min: 1n, max: 10n ** 9n }),
        fc.bigInt({ min: 1n, max: 10n ** 13n }),
        async (x, y, target, seedIn) => {
          const provider = pool(x, y);
          const result = await sizeExactIn(provider, { ...wanted, target, seedIn }).catch(
            (error: unknown) => error,
          );
          expect(provider.asked.length).toBeLessThanOrEqual(4);
          if (result instanceof Error) {
            expect(result).toHaveProperty(
              'code',
              expect.stringMatching(/^(no_route|quote_mismatch)$/),
            );
            return;
          }
          const quote = result as SwapQuote;
          expect(BigInt(quote.minOutAmount)).toBeGreaterThanOrEqual(target);
        },
      ),
      { numRuns: 500 },
    );
  });

  it('finds an amount when the guess is near the price', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.bigInt({ min: 10_000n, max: 10n ** 9n }),
        fc.integer({ min: 95, max: 110 }),
        async (target, percent) => {
          const provider = pool(10n ** 15n, 10n ** 15n);
          const seedIn = (target * BigInt(percent)) / 100n;
          const quote = await sizeExactIn(provider, { ...wanted, target, seedIn });
          expect((BigInt(quote.minOutAmount) - target) * 100n).toBeLessThanOrEqual(target * 12n);
        },
      ),
    );
  });

  it('finds no amount beyond the largest amount of a token', async () => {
    const provider = fakeProvider({ price: 1n });
    await expect(
      sizeExactIn(provider, { ...wanted, target: 10n ** 18n, seedIn: 10n ** 18n }),
    ).rejects.toMatchObject({ code: 'no_route' });
    expect(provider.asked.map(({ amount }) => amount)).toEqual([10n ** 18n, 2n ** 64n - 1n]);
  });

  it.each([
    ['a rate limit', new TransportError('rate_limited', 'Wait.', { details: { retryAfterMs: 1 } })],
    ['an outage', answered(503)],
    ['a bad request', answered(400)],
    ['a missing route', noRoute()],
  ])('passes on %s', async (_, error) => {
    const provider = fakeProvider({ price: 1n, fail: () => error });
    await expect(sizeExactIn(provider, wanted)).rejects.toBe(error);
    expect(provider.asked.length).toBe(1);
  });

  it('refuses a quote that contradicts its own numbers', async () => {
    const liar = fakeProvider({
      price: 1_000_000n,
      change: (quote) => ({ ...quote, maxInAmount: '1' }),
    });
    await expect(sizeExactIn(liar, wanted)).rejects.toMatchObject({ code: 'quote_mismatch' });
  });

  it('passes the limit of accounts to the provider', async () => {
    const provider = fakeProvider({ price: 1_000_000n });
    await sizeExactIn(provider, { ...wanted, maxAccounts: 32 });
    expect(provider.asked[0]?.maxAccounts).toBe(32);
  });
});

describe('checkQuote', () => {
  const exactIn: QuoteIntent = {
    inputMint: USDC,
    outputMint: USDT,
    amount: 1_000_000n,
    swapMode: 'ExactIn',
    slippageBps: 50,
  };
  const exactOut: QuoteIntent = { ...exactIn, swapMode: 'ExactOut' };
  const price = fakeProvider({ price: 1_000_000n });

  it.each<[string, QuoteIntent, Partial<Record<keyof SwapQuote, unknown>>]>([
    ['another input', exactIn, { inputMint: USDT }],
    ['another output', exactIn, { outputMint: USDC }],
    ['another mode', exactIn, { swapMode: 'ExactOut' }],
    ['another slippage', exactIn, { slippageBps: 51 }],
    ['a fee', exactIn, { platformFeeBps: 1 }],
    ['a fee of another type', exactIn, { platformFeeBps: '1' }],
    ['a fee in the raw quote', exactIn, { raw: { platformFee: { amount: '1', feeBps: 1 } } }],
    ['more input', exactIn, { inAmount: '1000001' }],
    ['a higher bound on an exact input', exactIn, { maxInAmount: '1000001' }],
    ['less output than slippage allows', exactIn, { minOutAmount: '994998' }],
    ['more output than slippage allows', exactIn, { minOutAmount: '995002' }],
    ['no output', exactIn, { outAmount: '0', minOutAmount: '0' }],
    ['a malformed amount', exactIn, { outAmount: '1e6' }],
    ['a negative amount', exactIn, { minOutAmount: '-1' }],
    ['too little of an exact output', exactOut, { outAmount: '999999', minOutAmount: '999999' }],
    ['a lower promise than an exact output', exactOut, { minOutAmount: '999999' }],
    ['a higher promise than the output', exactOut, { minOutAmount: '1000001' }],
    ['more input than slippage allows', exactOut, { maxInAmount: '1005002' }],
    ['less input than slippage allows', exactOut, { maxInAmount: '1004998' }],
  ])('refuses %s', async (_, intent, change) => {
    const quote = await price.quote(intent);
    expect(() => checkQuote(quote, intent)).not.toThrow();
    expect(() => checkQuote({ ...quote, ...change } as SwapQuote, intent)).toThrow(
      expect.objectContaining({ code: 'quote_mismatch', retry: 'fresh' }),
    );
  });

  it('accepts a rounding of one unit in both directions', async () => {
    const quote = await price.quote(exactIn);
    for (const minOutAmount of ['994999', '995000', '995001'])
      expect(() => checkQuote({ ...quote, minOutAmount }, exactIn)).not.toThrow();
  });

  it('limits a known price impact', async () => {
    const quote = await price.quote(exactIn);
    expect(() => checkImpact({ ...quote, priceImpactBps: 100 }, 100)).not.toThrow();
    expect(() => checkImpact({ ...quote, priceImpactBps: null }, 100)).not.toThrow();
    expect(() => checkImpact({ ...quote, priceImpactBps: 101 }, 100)).toThrow(
      expect.objectContaining({ code: 'price_impact_too_high' }),
    );
  });
});

describe('createFallback', () => {
  type Fail = (intent: QuoteIntent) => Error | undefined;
  const both = (firstFails: Fail = () => undefined, secondFails: Fail = () => undefined) => {
    const [runtime, price] = [fakeRuntime(), 1_000_000n];
    const first = fakeProvider({ id: 'v1', price, fail: firstFails });
    const second = fakeProvider({ id: 'v2', price, fail: secondFails });
    return { runtime, first, second, provider: createFallback({ first, second, runtime }) };
  };

  const exactOut = { ...wanted, amount: 5n, swapMode: 'ExactOut' } as const;
  const exactIn = { ...wanted, amount: 5n, swapMode: 'ExactIn' } as const;

  it('asks only the first provider while it answers', async () => {
    const { provider, second } = both();
    expect((await provider.quote(exactOut)).provider).toBe('v1');
    expect(second.asked).toEqual([]);
  });

  it('asks the second provider for a minute when the first has no exact output', async () => {
    const { provider, first, runtime } = both(withoutExactOut);
    await expect(provider.quote(exactOut)).rejects.toMatchObject({ code: 'no_route' });
    expect((await provider.quote(exactIn)).provider).toBe('v2');
    expect(first.asked.length).toBe(1);
    runtime.advance(60_001);
    expect((await provider.quote(exactIn)).provider).toBe('v1');
  });

  it('tries the second provider for an exact input without a route', async () => {
    const { provider } = both(noRoute);
    expect((await provider.quote(exactIn)).provider).toBe('v2');
    const { provider: neither } = both(noRoute, noRoute);
    await expect(neither.quote(exactIn)).rejects.toMatchObject({ code: 'no_route' });
  });

  it.each([401, 404, 410])(
    'drops the first provider for good when it answers %i',
    async (status) => {
      const { provider, first } = both(() => answered(status), withoutExactOut);
      await expect(provider.quote(exactOut)).rejects.toMatchObject({ code: 'no_route' });
      expect((await provider.quote(exactIn)).provider).toBe('v2');
      await expect(provider.quote(exactOut)).rejects.toMatchObject({ code: 'no_route' });
      expect(first.asked.length).toBe(1);
    },
  );

  it.each<[string, Error]>([
    ['a rate limit', new TransportError('rate_limited', 'Wait.', { details: { retryAfterMs: 1 } })],
    ['an outage', answered(503)],
    ['a bad request', answered(400)],
    ['a refused key', answered(403)],
    [
      'garbage',
      new TransportError('invalid_response', 'No.', {
        details: { service: 'jupiter', reason: 'x' },
      }),
    ],
  ])('keeps the first provider after %s', async (_, error) => {
    const { provider, second } = both(() => error);
    for (const intent of [exactIn, exactOut])
      await expect(provider.quote(intent)).rejects.toBe(error);
    expect(second.asked).toEqual([]);
  });

  it('builds with the provider that quoted', async () => {
    const { provider } = both();
    const quote = await provider.quote(exactIn);
    await expect(provider.build(quote, USDC)).rejects.toThrow('not asked for');
    await expect(provider.build({ ...quote, provider: 'other' }, USDC)).rejects.toMatchObject({
      code: 'quote_mismatch',
    });
  });
});
