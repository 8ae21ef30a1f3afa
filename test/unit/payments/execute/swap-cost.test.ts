import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PaymentContext } from '../../../../src/payments/context.js';
import { createMemory } from '../../../../src/payments/memory.js';
import { swapBound } from '../../../../src/payments/execute/swap-bound.js';
import { swapCostAfter, withSwapCost } from '../../../../src/payments/execute/swap-cost.js';
import type { ResolvedRequest } from '../../../../src/config/swap-request.js';
import { QuoteError, TransportError } from '../../../../src/errors.js';
import type { SwapOutcome } from '../../../../src/journal/types.js';
import { SOLANA_MAINNET, WSOL_MINT } from '../../../../src/network.js';
import { costOf, type SwapCost } from '../../../../src/policy/cost.js';
import { attemptOf, signedSwapOf } from '../../../helpers/attempts.js';

const USDC = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
const USDT = 'Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB';
const BONK = 'DezXAZ8z7PnrnRJjz3wXBoRgixCa6xjnB7YaB1pPB263';
const AWAY = new TransportError('jupiter_unavailable', 'away', { details: { status: 503 } });
const NO_ROUTE = new QuoteError('no_route', 'none', {
  details: { inputMint: BONK, outputMint: USDC },
});

/** Sells ten base units of any token for a millionth of a dollar, but for those that fail. */
function coreOn(
  failing: Readonly<Record<string, Error>> = {},
  bounded: readonly string[] = [],
): PaymentContext {
  const quote = (request: ResolvedRequest) => {
    const error = failing[request.inputMint];
    if (error !== undefined) return Promise.reject(error);
    const out = (BigInt(request.amount) / 10n).toString();
    const amounts = {
      inAmount: request.amount,
      maxInAmount: request.amount,
      outAmount: out,
      minOutAmount: out,
    };
    return Promise.resolve({
      ...request,
      ...{
        ...amounts,
        slippageBps: 0,
        priceImpactBps: 0,
        platformFeeBps: 0,
        route: [],
        provider: 'test',
        quotedAt: 0,
        raw: {},
      },
    });
  };
  const policy = {
    maxSlippageBps: 0,
    maxInAmount: new Map(bounded.map((mint) => [mint, 1_000_000n])),
  };
  // The parts of a core that prices need.
  return {
    config: { network: SOLANA_MAINNET, policy, runtime: { now: () => 0 } },
    memory: createMemory(),
    prices: { quote },
  } as unknown as PaymentContext;
}

const price = { amount: '1000', microUsd: '100' };
const boundOf = (core: PaymentContext, inputMint: string, outputMint: string, leeway = 0n) =>
  swapBound(
    core,
    { inputMint, outputMint, maxIn: 1_000n, minOut: 80n, lamports: 5_000n, leeway },
    price,
    undefined,
  );

describe('the bound of a swap', () => {
  it.each([
    ['its input cannot be priced', BONK, { [BONK]: AWAY }],
    ['its input has no price', BONK, { [BONK]: NO_ROUTE }],
    ['what it brings cannot be priced', USDT, { [WSOL_MINT]: AWAY }],
  ])('is refused when %s: nothing else bounds what it takes', async (_, input, failing) => {
    const output = input === BONK ? USDC : WSOL_MINT;
    await expect(boundOf(coreOn(failing), input, output)).rejects.toMatchObject({
      code: 'price_unknown',
      funds: 'untouched',
    });
    // Counted whole, or in base units.
    await expect(boundOf(coreOn(failing, [input]), input, output)).resolves.toMatchObject({
      inputs: { [input]: '1000' },
    });
  });

  it('is refused while its network fee cannot be priced, and counts none in dollars if SOL has no price', async () => {
    await expect(boundOf(coreOn({ [WSOL_MINT]: AWAY }), USDT, USDC)).rejects.toMatchObject({
      code: 'price_unknown',
      retry: 'fresh',
    });
    await expect(boundOf(coreOn({ [WSOL_MINT]: NO_ROUTE }), USDT, USDC)).resolves.toMatchObject({
      feeMicroUsd: '0',
      lamports: '5000',
    });
  });

  it.each([
    [
      'less than it brings',
      50n,
      { lossMicroUsd: '1000', inputs: { [USDT]: '1000' }, boughtMicroUsd: '3' },
    ],
    // The 20 that could be taken besides are worth 2, rounded up in each step.
    [
      'more than it brings',
      100n,
      { lossMicroUsd: '1004', inputs: { [USDT]: '1000', [BONK]: '20' }, boughtMicroUsd: '0' },
    ],
  ])(
    'into a token that is not pinned counts what payments in flight may take of it, when that is %s',
    async (_, leeway, counted) => {
      await expect(boundOf(coreOn(), USDT, BONK, leeway)).resolves.toMatchObject(counted);
    },
  );

  it('passes on what ends the call', async () => {
    const stop = new Error('stop');
    await expect(boundOf(coreOn({ [BONK]: stop }, [BONK]), BONK, USDC)).rejects.toBe(stop);
  });
});

describe('what a swap took', () => {
  const PAIRS: readonly (readonly [string, string])[] = [
    [BONK, USDC],
    [USDT, BONK],
    [USDC, WSOL_MINT],
  ];
  const attemptWith = (swapping: SwapCost) =>
    attemptOf({
      ...price,
      swapping,
      swap: signedSwapOf({
        inputMint: Object.keys(swapping.inputs)[0] ?? '',
        quoted: { inAmount: '900', outAmount: '90', feeLamports: '5000' },
      }),
    });
  const confirmed = (inAmount: bigint, outAmount: bigint, lamports: bigint): SwapOutcome => ({
    state: 'confirmed',
    ...{
      inAmount: `${inAmount}`,
      outAmount: `${outAmount}`,
      feeLamports: `${lamports}`,
      rentLamports: '0',
    },
  });
  const totals = (cost: SwapCost | undefined) =>
    costOf({ mint: 'mint', ...price, ...(cost === undefined ? {} : { swapping: cost }) }, true);

  const LEEWAYS = [0n, 30n, 100n];
  const CASES = PAIRS.flatMap((pair) => LEEWAYS.map((leeway) => [...pair, leeway] as const));

  it.each(CASES)(
    'of %s into %s, of which %d may be missing, is never above its bound, and the less the less it took',
    async (...given) => {
      const [input, output, leeway] = given;
      const attempt = attemptWith(await boundOf(coreOn(), input, output, leeway));
      const within = fc.tuple(
        fc.bigInt(1n, 1_000n),
        fc.bigInt(80n - leeway, 200n),
        fc.bigInt(0n, 5_000n),
      );
      fc.assert(
        fc.property(within, within, (a, b) => {
          const [less, more] = [a, b].map(([taken, brought, lamports]) =>
            totals(swapCostAfter(attempt, confirmed(taken, brought, lamports))),
          );
          for (const [unit, most] of totals(attempt.swapping))
            expect(more?.get(unit) ?? 0n).toBeLessThanOrEqual(most);
          if (a[0] > b[0] || a[1] < b[1] || a[2] > b[2]) return;
          for (const [unit, value] of less ?? [])
            expect(value).toBeLessThanOrEqual(more?.get(unit) ?? 0n);
        }),
      );
    },
  );

  it('has bought the price with its input, if no payment in flight took from a token that is not pinned', async () => {
    const took = await Promise.all(LEEWAYS.map((leeway) => boundOf(coreOn(), USDT, BONK, leeway)));
    for (const bound of took)
      expect(swapCostAfter(attemptWith(bound), confirmed(900n, 90n, 5_000n))).toMatchObject({
        boughtMicroUsd: '9',
      });
  });

  it('is more than its bound if the chain shows that more has left', async () => {
    const attempt = attemptWith(await boundOf(coreOn(), USDT, BONK));
    const cost = swapCostAfter(attempt, confirmed(2_000n, 80n, 10_000n));
    expect(cost).toMatchObject({
      lossMicroUsd: '2000',
      lamports: '10000',
      inputs: { [USDT]: '2000' },
    });
  });

  it.each<[string, SwapOutcome]>([
    [
      'no node shows what it did',
      { state: 'confirmed', inAmount: '900', outAmount: '90', feeLamports: '5000' },
    ],
    ['it shows that nothing went in', confirmed(0n, 90n, 5_000n)],
    ['it shows that something was given back', confirmed(-5n, 90n, 5_000n)],
    ['it shows that nothing came', confirmed(900n, 0n, 5_000n)],
    ['no node shows that it failed', { state: 'failed', code: 'swap_failed' }],
  ])('is its bound as long as %s', async (_, outcome) => {
    const swapping = await boundOf(coreOn(), BONK, USDC);
    const { prices: _prices, ...bound } = swapping;
    const { swapped, swapping: rest } = withSwapCost(attemptWith(swapping), outcome);
    expect([swapped, rest]).toEqual([bound, undefined]);
  });

  it('is its fee if it failed, and nothing if it can never land', async () => {
    const attempt = attemptWith(await boundOf(coreOn(), BONK, USDC));
    const failed = swapCostAfter(attempt, {
      state: 'failed',
      code: 'swap_failed',
      feeLamports: '2500',
    });
    expect(failed).toMatchObject({
      swaps: 1,
      lossMicroUsd: '0',
      inputs: {},
      lamports: '2500',
      boughtMicroUsd: '0',
    });
    expect(2n * BigInt(failed?.feeMicroUsd ?? 0)).toBeGreaterThanOrEqual(
      BigInt(attempt.swapping?.feeMicroUsd ?? 0),
    );
    expect(swapCostAfter(attempt, { state: 'failed', code: 'swap_expired' })).toBeUndefined();
  });

  it('keeps the bound of an earlier version, which has no prices, and corrects its fees alone', async () => {
    const { prices: _prices, ...bound } = await boundOf(coreOn(), BONK, USDC);
    expect(swapCostAfter(attemptWith(bound), confirmed(1n, 90n, 5_000n))).toEqual(bound);
  });
});
