import { ceilDiv, maxAmount, minAmount, U64_MAX } from '../../amount.js';
import { isExactChangeError, PolicyError } from '../../errors.js';
import type { Attempt, SwapOutcome } from '../../journal/types.js';
import { pinnedMint, WSOL_MINT } from '../../network.js';
import { noSwapCost, plusSwap, type SwapCost, type SwapPrices } from '../../policy/cost.js';
import type { Address } from '../../solana/types.js';
import type { SwapOutlook } from '../../swaps/transaction/prepare.js';
import type { PaymentContext } from '../context.js';
import { PRICE_MEMORY_MS, usdPriceOf } from '../plan/usd-price.js';

/**
 * A swap that is about to be signed: what it takes at most and brings at least. Base units and
 * lamports.
 */
export interface SwapTaking {
  readonly inputMint: Address;
  readonly outputMint: Address;
  readonly maxIn: bigint;
  readonly minOut: bigint;
  /** Network and priority fee, and rent of token accounts that stay. */
  readonly lamports: bigint;
  /** What of the output may be missing besides, because payments in flight may take it. */
  readonly leeway?: bigint | undefined;
}

/** What a swap that is about to be signed takes at most, as its guard has it. */
export function takingOf(expected: SwapOutlook): SwapTaking {
  const { inputMint, outputMint, maxIn, minOut, leeway } = expected;
  const { networkFeeLamports, priorityFeeLamports, rentLamports } = expected;
  const lamports = networkFeeLamports + priorityFeeLamports + rentLamports + leeway.lamports;
  return {
    inputMint,
    outputMint,
    maxIn: maxIn + leeway.input,
    minOut,
    lamports,
    leeway: leeway.output,
  };
}

/** Whether a cap refused something before it was signed. */
export function isOverCap(error: unknown): boolean {
  const codes = ['amount_over_limit', 'budget_exhausted'] as const;
  return (
    isExactChangeError(error) &&
    error.funds === 'untouched' &&
    codes.some((code) => code === error.code)
  );
}

type Price = Pick<Attempt, 'amount' | 'microUsd'>;

/**
 * What a swap for a payment takes at most, by the prices of now. Throws `price_unknown` if its
 * input has no price, or one cannot be asked for, unless the caller bounds the input in base units.
 *
 * @param price - Of the payment that the swap is for.
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
    // A fee is small, so its price may be older.
    ask(WSOL_MINT, PRICE_MEMORY_MS),
  ]);
  if (input === undefined && !isBounded) throw unknown(inputMint);
  const fees = {
    swaps: 1,
    feeMicroUsd: (sol?.most(lamports) ?? 0n).toString(),
    lamports: lamports.toString(),
  };
  if (isWrap) return { ...noSwapCost, ...fees };
  const prices = {
    ...(input === undefined ? {} : { input: input.most(REFERENCE).toString() }),
    ...(output === undefined || !isPinned ? {} : { output: output.least(REFERENCE).toString() }),
  };
  return {
    ...fees,
    // A pinned output is credited before it is missed.
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

/** More base units than any account can hold, so that rounding is nothing. */
const REFERENCE = U64_MAX + 1n;

/**
 * What goes in beyond what comes back in a token that is sure to be worth something: all of it, if
 * the output is not pinned.
 */
function lossOf(
  { input = '0', output = '0' }: SwapPrices,
  inAmount: bigint,
  outAmount: bigint,
): bigint {
  const loss =
    ceilDiv(BigInt(input) * inAmount, REFERENCE) - (BigInt(output) * outAmount) / REFERENCE;
  return loss > 0n ? loss : 0n;
}

/** The share of the price that was bought with what is counted already. */
function boughtBy({ amount, microUsd = '0' }: Price, outAmount: bigint): bigint {
  const units = BigInt(amount);
  // A swap that is for no payment buys none.
  return units === 0n ? 0n : (BigInt(microUsd) * minAmount(outAmount, units)) / units;
}

/** An attempt whose swap was decided, with what that took in place of what it took at most. */
export function withSwapCost(attempt: Attempt, outcome: SwapOutcome): Attempt {
  const { swapping: _bound, swap, ...rest } = attempt;
  const decided = { ...rest, ...(swap === undefined ? {} : { swap: { ...swap, outcome } }) };
  const cost = swapCostAfter(attempt, outcome);
  return cost === undefined
    ? decided
    : { ...decided, swapped: plusSwap(attempt.swapped ?? noSwapCost, cost) };
}

/** An attempt without the bound of a swap that was never signed, or can never land. */
export function withoutBound({ swapping: _bound, ...attempt }: Attempt): Attempt {
  return attempt;
}

/**
 * What a swap that was decided took, at the prices of its bound, however late that is; undefined if
 * nothing. As long as no node has shown what it did, in an answer that agrees with itself, its
 * bound counts. It counts more than that only if the chain shows that more has left.
 */
export function swapCostAfter(
  { swapping: bound, swap, ...price }: Attempt,
  outcome: SwapOutcome,
): SwapCost | undefined {
  if (bound === undefined) return undefined;
  if (outcome.state === 'failed') {
    if (outcome.code === 'swap_expired') return undefined;
    const { feeLamports } = outcome;
    return feeLamports === undefined
      ? bound
      : { ...noSwapCost, ...feesAt(bound, BigInt(feeLamports)) };
  }
  const { rentLamports } = outcome;
  if (rentLamports === undefined) return bound;
  const fees = feesAt(bound, BigInt(outcome.feeLamports) + BigInt(rentLamports));
  const { prices } = bound;
  // What an earlier version has written has no prices: fees and rent alone are corrected.
  if (prices === undefined || swap === undefined) return { ...bound, ...fees };
  const taken = BigInt(outcome.inAmount);
  // What it brings beyond what was quoted is no credit: it takes one wrong number to claim it.
  const brought = minAmount(BigInt(outcome.outAmount), BigInt(swap.quoted.outAmount));
  if (taken <= 0n || brought <= 0n) return bound;
  return {
    ...fees,
    lossMicroUsd: lossOf(prices, taken, brought).toString(),
    inputs: { [swap.inputMint]: taken.toString() },
    boughtMicroUsd:
      prices.input === undefined || prices.output !== undefined
        ? '0'
        : boughtBy(price, brought).toString(),
  };
}

/** Fees and rent of one swap, at the price of SOL that its bound was reckoned with. */
function feesAt(
  { lamports, feeMicroUsd }: SwapCost,
  taken: bigint,
): Pick<SwapCost, 'swaps' | 'feeMicroUsd' | 'lamports'> {
  const most = BigInt(lamports);
  const microUsd = most === 0n ? 0n : ceilDiv(BigInt(feeMicroUsd) * taken, most);
  return { swaps: 1, feeMicroUsd: microUsd.toString(), lamports: taken.toString() };
}

/**
 * A price that cannot be asked for is none if the caller bounds the swap in base units; else
 * nothing bounds what it takes.
 */
function withoutPrice(mint: Address, isBounded: boolean, error: unknown): undefined {
  if (
    !isExactChangeError(error) ||
    (error.name !== 'TransportError' && error.name !== 'QuoteError')
  )
    throw error;
  if (!isBounded) throw unknown(mint, error);
}

function unknown(mint: Address, cause?: unknown): PolicyError<'price_unknown'> {
  return new PolicyError(
    'price_unknown',
    `No price is known for mint ${mint}, so no dollar cap can hold what the swap takes. ` +
      (cause === undefined
        ? 'Set policy.maxInAmount for the token to swap from.'
        : 'Jupiter could not be asked; try again.'),
    { details: { mint }, ...(cause === undefined ? {} : { cause, retry: 'fresh' }) },
  );
}
