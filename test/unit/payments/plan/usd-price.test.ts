import fc from 'fast-check';
import { expect, it, describe } from 'vitest';
import type { PaymentContext } from '../../../../src/payments/context.js';
import { createMemory } from '../../../../src/payments/memory.js';
import { usdPriceOf } from '../../../../src/payments/plan/usd-price.js';
import { usdValueOf } from '../../../../src/payments/plan/usd-value.js';
import { QuoteError, TransportError } from '../../../../src/errors.js';
import { pinnedMint, SOLANA_MAINNET, WSOL_MINT } from '../../../../src/network.js';
import type { ResolvedRequest } from '../../../../src/config/swap-request.js';
import { leastOut } from '../../../../src/swaps/quote/check-quote.js';

const JUNK = 'DezXAZ8z7PnrnRJjz3wXBoRgixCa6xjnB7YaB1pPB263';
const U64 = 2n ** 64n - 1n;

interface Market {
  /** An amount in base units, and the millionths of a dollar that it brings. */
  price: readonly [bigint, bigint];
  /** Millionths of a dollar in the pool. */
  depth: bigint;
  impactKnown?: boolean;
}

/** A constant-product pool, as an aggregator would quote it. */
function coreOn(
  market: Market,
  asked: bigint[] = [],
): { core: PaymentContext; pass: (ms: number) => void } {
  let now = 1_000_000;
  const quote = (request: ResolvedRequest) => {
    const amount = BigInt(request.amount);
    asked.push(amount);
    const [units, brings] = market.price;
    const fair = (amount * brings) / units;
    const out = (fair * market.depth) / (market.depth + fair);
    return Promise.resolve({
      ...request,
      inAmount: request.amount,
      maxInAmount: request.amount,
      outAmount: out.toString(),
      minOutAmount: leastOut(out, request.slippageBps).toString(),
      priceImpactBps:
        market.impactKnown === false ? null : Number((fair * 10_000n) / (market.depth + fair)),
      platformFeeBps: 0,
      route: [],
      provider: 'test',
      quotedAt: now,
      raw: {},
    });
  };
  const config = {
    network: SOLANA_MAINNET,
    policy: { maxSlippageBps: 50 },
    runtime: { now: () => now },
  };
  // The parts of a context that prices need.
  const core = { config, memory: createMemory(), prices: { quote } } as unknown as PaymentContext;
  return { core, pass: (ms) => void (now += ms) };
}

const most = (core: PaymentContext, amount: bigint, decimals = 9, mint = WSOL_MINT) =>
  usdValueOf(core, mint, amount, decimals, undefined);

describe('the dollar value of an amount that leaves', () => {
  it('is never below the fair value, whatever amount was priced first', async () => {
    const units = fc.bigInt({ min: 1n, max: 10n ** 9n });
    const amounts = fc.array(fc.bigInt({ min: 1n, max: U64 }), { minLength: 1, maxLength: 4 });
    const decimals = fc.integer({ min: 0, max: 255 });
    const depth = fc.bigInt({ min: 10n ** 9n, max: 10n ** 15n });
    await fc.assert(
      fc.asyncProperty(
        units,
        units,
        depth,
        decimals,
        amounts,
        fc.boolean(),
        async (sold, brought, pool, digits, asked, impactKnown) => {
          const { core } = coreOn({ price: [sold, brought], depth: pool, impactKnown });
          for (const amount of asked) {
            const worth = await most(core, amount, digits, JUNK);
            if (worth === undefined) continue;
            // An impact of one per cent is the most that a price may hide.
            expect(worth * 100n * sold).toBeGreaterThanOrEqual(amount * brought * 98n);
          }
        },
      ),
      { numRuns: 300 },
    );
  });

  it('is quoted once for calls at the same time, and again when the first caller aborts', async () => {
    const asked: bigint[] = [];
    const { core } = coreOn({ price: [20n, 3n], depth: 10n ** 15n }, asked);
    const { quote } = core.prices;
    const giving = new AbortController();
    const hanging: typeof quote = (request, options) =>
      options?.signal === giving.signal
        ? new Promise((_, reject) =>
            giving.signal.addEventListener('abort', () => reject(giving.signal.reason)),
          )
        : quote(request, options);
    const slow = { ...core, prices: { ...core.prices, quote: hanging } };
    const aborted = usdPriceOf(slow, WSOL_MINT, giving.signal);
    const waiting = Promise.all([1, 2, 3].map(() => most(slow, 20n)));
    giving.abort(new Error('caller aborted'));
    await expect(aborted).rejects.toThrow('caller aborted');
    expect(new Set(await waiting).size).toBe(1);
    expect(asked).toHaveLength(1);
  });

  it('is quoted for a whole token, or for less if a whole token would move the price', async () => {
    const asked: bigint[] = [];
    await most(coreOn({ price: [20n, 3n], depth: 10n ** 15n }, asked).core, U64);
    expect(asked).toEqual([10n ** 9n]);
    asked.length = 0;
    // A token that sells for a million dollars, into a pool that holds ten.
    expect(
      await most(coreOn({ price: [1n, 1_000n], depth: 10n ** 13n }, asked).core, 1n),
    ).toBeGreaterThanOrEqual(990n);
    expect(asked.length).toBeLessThanOrEqual(3);
  });

  it('is unknown when every amount moves the price, or no provider has a route', async () => {
    expect(await most(coreOn({ price: [1n, 10n ** 12n], depth: 10n }).core, 1n)).toBeUndefined();
    const { core } = coreOn({ price: [1n, 1n], depth: 1n });
    const refuse = (error: Error) => ({
      ...core,
      memory: createMemory(),
      prices: { quote: () => Promise.reject(error) },
    });
    const none = new QuoteError('no_route', 'None.', {
      details: { inputMint: '', outputMint: '' },
    });
    expect(await most(refuse(none), 1n)).toBeUndefined();
    const away = new TransportError('jupiter_unavailable', 'Away.', { details: { status: 500 } });
    await expect(most(refuse(away), 1n)).rejects.toBe(away);
  });

  it('is kept for a minute', async () => {
    const asked: bigint[] = [];
    const { core, pass } = coreOn({ price: [20n, 3n], depth: 10n ** 15n }, asked);
    await most(core, 1n);
    pass(60_000);
    await most(core, 2n);
    expect(asked).toHaveLength(1);
    pass(1);
    await most(core, 3n);
    expect(asked).toHaveLength(2);
  });

  it.each([
    ['five seconds for a pinned token', WSOL_MINT, 5_000],
    ['a minute for any other', JUNK, 60_000],
  ])('is not asked for again when there is none: %s', async (_, mint, ms) => {
    const { core, pass } = coreOn({ price: [1n, 1n], depth: 1n });
    const none = new QuoteError('no_route', 'None.', {
      details: { inputMint: '', outputMint: '' },
    });
    let asked = 0;
    const quote = () => Promise.reject(((asked += 1), none));
    const askOn = () => most({ ...core, prices: { ...core.prices, quote } }, 1n, 9, mint);
    await askOn();
    const once = asked;
    pass(ms);
    expect(await askOn()).toBeUndefined();
    expect(asked).toBe(once);
    pass(1);
    await askOn();
    expect(asked).toBe(2 * once);
  });

  it('is par for dollar tokens, without a quote', async () => {
    const asked: bigint[] = [];
    const usdc = pinnedMint(SOLANA_MAINNET, 'USDC')?.mint ?? '';
    const { core } = coreOn({ price: [1n, 1n], depth: 1n }, asked);
    expect(await most(core, 1_234_567n, 6, usdc)).toBe(1_234_567n);
    expect(asked).toEqual([]);
  });
});

describe('the dollar value of an amount that arrives', () => {
  it('uses the lowest price of the last minutes, because a seller may move it', async () => {
    const market: Market = { price: [1_000n, 1n], depth: 10n ** 15n };
    const { core, pass } = coreOn(market);
    await usdPriceOf(core, JUNK, undefined, 5);
    pass(60_001);
    market.price = [1n, 1n];
    const worth = await usdPriceOf(core, JUNK, undefined, 5);
    expect(worth?.most(1_000_000n)).toBeGreaterThanOrEqual(1_000_000n);
    expect(worth?.least(1_000_000n)).toBeLessThanOrEqual(1_000n);
    pass(5 * 60_000);
    expect((await usdPriceOf(core, JUNK, undefined, 5))?.least(1_000_000n)).toBeGreaterThan(
      999_000n,
    );
  });

  it('is never above the value of the same amount that leaves', async () => {
    const { core } = coreOn({ price: [7n, 3n], depth: 10n ** 15n });
    const worth = await usdPriceOf(core, JUNK, undefined, 6);
    fc.assert(
      fc.property(
        fc.bigInt({ min: 0n, max: U64 }),
        (amount) => (worth?.least(amount) ?? 1n) <= (worth?.most(amount) ?? 0n),
      ),
    );
  });
});
