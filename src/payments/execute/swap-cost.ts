import { ceilDiv, minAmount, U64_MAX } from '../../amount.js';
import type { Attempt, SwapOutcome } from '../../journal/types.js';
import { noSwapCost, plusSwap, type SwapCost, type SwapPrices } from '../../policy/cost.js';

/** Of the payment that a swap is for. */
export type Price = Pick<Attempt, 'amount' | 'microUsd'>;

/** More base units than any account can hold, so that rounding is nothing. */
export const REFERENCE = U64_MAX + 1n;

/**
 * What goes in beyond what comes back in a token that is sure to be worth something: all of it, if
 * the output is not pinned.
 */
export function lossOf(
  { input = '0', output = '0' }: SwapPrices,
  inAmount: bigint,
  outAmount: bigint,
): bigint {
  const loss =
    ceilDiv(BigInt(input) * inAmount, REFERENCE) - (BigInt(output) * outAmount) / REFERENCE;
  return loss > 0n ? loss : 0n;
}

/** The share of the price that was bought with what is counted already. */
export function boughtBy({ amount, microUsd = '0' }: Price, outAmount: bigint): bigint {
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
