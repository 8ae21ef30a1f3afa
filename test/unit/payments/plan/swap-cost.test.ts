import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PaymentContext } from '../../../../src/payments/context.js';
import { costFor } from '../../../../src/payments/attempt-receipt.js';
import { createMemory } from '../../../../src/payments/memory.js';
import { swapBound } from '../../../../src/payments/plan/swap-cost-bound.js';
import { swapCostAfter, withSwapCost } from '../../../../src/payments/plan/swap-cost.js';
import type { ResolvedRequest } from '../../../../src/config/swap-request.js';
import { QuoteError, TransportError } from '../../../../src/errors.js';
import type { SwapOutcome } from '../../../../src/journal/types.js';
import { SOLANA_MAINNET, WSOL_MINT } from '../../../../src/network.js';
import { costOf, plusSwap, type SwapCost } from '../../../../src/policy/cost.js';
import { attemptOf, signedSwapOf } from '../../../helpers/attempts.js';

const USDC = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
const USDT = 'Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB';
const BONK = 'DezXAZ8z7PnrnRJjz3wXBoRgixCa6xjnB7YaB1pPB263';
const AWAY = new TransportError('jupiter_unavailable', 'away', { details: { status: 503 } });
const NO_ROUTE = new QuoteError('no_route', 'none', {
  details: { inputMint: BONK, outputMint: USDC },
});

/** Sells ten base units of any token for a millionth of a dollar, except tokens that fail. */
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
  // The parts of a context that prices need.
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
    ['its output cannot be priced', USDT, { [WSOL_MINT]: AWAY }],
  ])('is refused when %s, unless the policy caps its input', async (_, input, failing) => {
    const output = input === BONK ? USDC : WSOL_MINT;
    await expect(boundOf(coreOn(failing), input, output)).rejects.toMatchObject({
      code: 'price_unknown',
      funds: 'untouched',
    });
    // A cap on the input bounds the swap, in base units of the input.
    await expect(boundOf(coreOn(failing, [input]), input, output)).resolves.toMatchObject({
      inputs: { [input]: '1000' },
    });
  });

  it('is refused while its network fee cannot be priced, and counts no fee in dollars if SOL has no price', async () => {
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
      'less than the output',
      50n,
      { lossMicroUsd: '1000', inputs: { [USDT]: '1000' }, boughtMicroUsd: '3' },
    ],
    // The 20 units beyond the output are worth 2, and each step rounds up.
    [
      'more than the output',
      100n,
      { lossMicroUsd: '1004', inputs: { [USDT]: '1000', [BONK]: '20' }, boughtMicroUsd: '0' },
    ],
  ])(
    'includes what payments in flight may take of an output that is not pinned, when that is %s',
    async (_, leeway, counted) => {
      await expect(boundOf(coreOn(), USDT, BONK, leeway)).resolves.toMatchObject(counted);
    },
  );

  it('rethrows an error that ends the call', async () => {
    const stop = new Error('stop');
    await expect(boundOf(coreOn({ [BONK]: stop }, [BONK]), BONK, USDC)).rejects.toBe(stop);
  });
});

describe('the final cost of a swap', () => {
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
    'never exceeds its bound and falls with the amounts taken, from %s into %s with a leeway of %d',
    async (...row) => {
      const [input, output, leeway] = row;
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

  it('counts the price as bought when payments in flight took nothing of an output that is not pinned', async () => {
    const took = await Promise.all(LEEWAYS.map((leeway) => boundOf(coreOn(), USDT, BONK, leeway)));
    for (const bound of took)
      expect(swapCostAfter(attemptWith(bound), confirmed(900n, 90n, 5_000n))).toMatchObject({
        boughtMicroUsd: '9',
      });
  });

  it('exceeds its bound when the chain shows that the swap took more', async () => {
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
      'no node shows its amounts',
      { state: 'confirmed', inAmount: '900', outAmount: '90', feeLamports: '5000' },
    ],
    ['the chain shows no input', confirmed(0n, 90n, 5_000n)],
    ['the chain shows a refund of input', confirmed(-5n, 90n, 5_000n)],
    ['the chain shows no output', confirmed(900n, 0n, 5_000n)],
    ['no node shows its failure', { state: 'failed', code: 'swap_failed' }],
  ])('equals its bound while %s', async (_, outcome) => {
    const swapping = await boundOf(coreOn(), BONK, USDC);
    const { prices: _prices, ...bound } = swapping;
    const { swapped, swapping: rest } = withSwapCost(attemptWith(swapping), outcome);
    expect([swapped, rest]).toEqual([bound, undefined]);
  });

  it('is the fee of a failed swap, and nothing for a swap that can never land', async () => {
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

  it.each([
    ['its fees have no price', coreOn({ [WSOL_MINT]: NO_ROUTE }), USDT],
    ['its input has no price', coreOn({ [BONK]: NO_ROUTE }, [BONK]), BONK],
  ])('is not stated in dollars, alone or with another swap, if %s', async (_, core, input) => {
    const [unpriced, priced] = [
      await boundOf(core, input, USDC),
      await boundOf(coreOn(), input, USDC),
    ];
    const usdOf = (attempt: Parameters<typeof costFor>[0]) => costFor(attempt, 0n).usd;
    expect([usdOf(attemptWith(priced)), usdOf(attemptWith(unpriced))]).toEqual([
      expect.any(String),
      undefined,
    ]);
    const landed = withSwapCost(attemptWith(unpriced), confirmed(900n, 90n, 5_000n));
    const { swapped = priced } = landed;
    expect([usdOf(landed), usdOf({ ...landed, swapped: plusSwap(swapped, priced) })]).toEqual([
      undefined,
      undefined,
    ]);
  });

  it('keeps a bound without prices from an earlier version', async () => {
    const { prices: _prices, ...bound } = await boundOf(coreOn(), BONK, USDC);
    expect(swapCostAfter(attemptWith(bound), confirmed(1n, 90n, 5_000n))).toEqual(bound);
  });
});
