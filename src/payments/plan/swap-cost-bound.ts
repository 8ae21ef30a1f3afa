import { maxAmount } from '../../amount.js';
import { isExactChangeError } from '../../errors.js';
import { pinnedMint, WSOL_MINT } from '../../network.js';
import { noSwapCost, type SwapCost } from '../../policy/cost.js';
import type { Address } from '../../solana/types.js';
import { swappedAtMost, type SwapOutlook } from '../../swaps/transaction/prepare.js';
import type { PaymentContext } from '../context.js';
import { PRICE_MEMORY_MS } from './ask-price.js';
import { priceUnknown } from './swap-quote.js';
import { usdPriceOf } from './usd-price.js';
import { boughtBy, lossOf, REFERENCE, type Price } from './swap-cost.js';

/** The most that a swap takes and the least that it brings, in base units and lamports. */
export interface SwapTaking {
  readonly inputMint: Address;
  readonly outputMint: Address;
  readonly maxIn: bigint;
  readonly minOut: bigint;
  /** Network and priority fee, and rent of token accounts that stay. */
  readonly lamports: bigint;
  /** Base units of the output that may be missing, because payments in flight may take them. */
  readonly leeway?: bigint | undefined;
}

export function takingOf(expected: SwapOutlook): SwapTaking {
  const { inputMint, outputMint, leeway } = expected;
  const { maxIn, minOut } = swappedAtMost(expected);
  const { networkFeeLamports, priorityFeeLamports, rentLamports } = expected;
  const lamports = networkFeeLamports + priorityFeeLamports + rentLamports;
  return {
    inputMint,
    outputMint,
    maxIn: maxIn + leeway.input,
    minOut,
    lamports,
    leeway: leeway.output,
  };
}

export function isOverCap(error: unknown): boolean {
  const codes = ['amount_over_limit', 'budget_exhausted'] as const;
  return (
    isExactChangeError(error) &&
    error.funds === 'untouched' &&
    codes.some((code) => code === error.code)
  );
}

/**
 * Returns the bound of a swap: the most that it takes, at present prices. Throws `price_unknown` if
 * its input has no price, or if a price cannot be asked for now. A swap with an input that the
 * caller bounds in base units needs no price.
 *
 * @param price - The price of the payment that the swap is for.
 */
export async function swapBound(
  context: PaymentContext,
  taking: SwapTaking,
  price: Price,
  signal: AbortSignal | undefined,
): Promise<SwapCost> {
  const { inputMint, outputMint, maxIn, minOut, lamports, leeway = 0n } = taking;
  const { network, policy } = context.config;
  const isWrap = inputMint === outputMint;
  const isBounded = isWrap || policy.maxInAmount.has(inputMint);
  const isPinned = pinnedMint(network, outputMint) !== undefined;
  const ask = (mint: Address, maxAgeMs?: number) =>
    usdPriceOf(context, mint, signal, undefined, maxAgeMs).catch((error: unknown) =>
      withoutPrice(mint, isBounded, error),
    );
  const brought = maxAmount(0n, minOut - leeway);
  const drained = maxAmount(0n, leeway - minOut);
  const [input, output, sol] = await Promise.all([
    ask(inputMint),
    isPinned ? ask(outputMint) : drained > 0n ? ask(outputMint, PRICE_MEMORY_MS) : undefined,
    // The price of SOL may be older, because fees are small.
    ask(WSOL_MINT, PRICE_MEMORY_MS),
  ]);
  if (input === undefined && !isBounded) throw priceUnknown(inputMint);
  const isPriced =
    (sol !== undefined || lamports === 0n) &&
    (isWrap || (input !== undefined && (output !== undefined || drained === 0n)));
  const fees = {
    swaps: 1,
    feeMicroUsd: (sol?.most(lamports) ?? 0n).toString(),
    lamports: lamports.toString(),
    ...(isPriced ? {} : { unpriced: true }),
  };
  if (isWrap) return { ...noSwapCost, ...fees };
  const prices = {
    ...(input === undefined ? {} : { input: input.most(REFERENCE).toString() }),
    ...(output === undefined || !isPinned ? {} : { output: output.least(REFERENCE).toString() }),
  };
  return {
    ...fees,
    // `lossOf` credits a pinned output in full, so its whole leeway counts as missing.
    lossMicroUsd: (
      lossOf(prices, maxIn, minOut) + (output?.most(isPinned ? leeway : drained) ?? 0n)
    ).toString(),
    inputs: {
      [inputMint]: maxIn.toString(),
      ...(drained === 0n ? {} : { [outputMint]: drained.toString() }),
    },
    boughtMicroUsd: isPinned || input === undefined ? '0' : boughtBy(price, brought).toString(),
    prices,
  };
}

/**
 * Returns no price after a failed request, if the caller bounds the swap in base units. Otherwise
 * throws, because nothing bounds the swap.
 */
function withoutPrice(mint: Address, isBounded: boolean, error: unknown): undefined {
  if (
    !isExactChangeError(error) ||
    (error.name !== 'TransportError' && error.name !== 'QuoteError')
  )
    throw error;
  if (!isBounded) throw priceUnknown(mint, error);
}
