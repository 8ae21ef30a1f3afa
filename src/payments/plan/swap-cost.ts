import { ceilDiv, minAmount, U64_MAX } from '../../amount.js';
import type { Attempt, SwapOutcome } from '../../journal/types.js';
import { noSwapCost, plusSwap, type SwapCost, type SwapPrices } from '../../policy/cost.js';

/** The price of the payment that a swap is for. */
export type Price = Pick<Attempt, 'amount' | 'microUsd'>;

/** Base units that prices are for: more than any account can hold, so that rounding is nothing. */
export const REFERENCE = U64_MAX + 1n;

/**
 * Returns the loss of a swap in millionths of a dollar: its input less its output. An output
 * without a price counts nothing, because a token that is not pinned may be worth nothing.
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

/**
 * Returns the part of a payment's price that a swap has bought, in millionths of a dollar. The
 * swap's input counts already, so this part must not count twice.
 */
export function boughtBy({ amount, microUsd = '0' }: Price, outAmount: bigint): bigint {
  const units = BigInt(amount);
  // A swap that is for no payment buys no part of a price.
  return units === 0n ? 0n : (BigInt(microUsd) * minAmount(outAmount, units)) / units;
}

/** Returns an attempt with the cost of its decided swap in place of the swap's bound. */
export function withSwapCost(attempt: Attempt, outcome: SwapOutcome): Attempt {
  const { swapping: _bound, swap, ...rest } = attempt;
  const decided = { ...rest, ...(swap === undefined ? {} : { swap: { ...swap, outcome } }) };
  const cost = swapCostAfter(attempt, outcome);
  return cost === undefined
    ? decided
    : { ...decided, swapped: plusSwap(attempt.swapped ?? noSwapCost, cost) };
}

/**
 * Returns the cost of a decided swap, at the prices of its bound, even if they are old; undefined
 * if it cost nothing. The bound counts until a node shows the swap in an answer that agrees with
 * itself. More than the bound counts only if the chain shows that more has left.
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
  // Records of an earlier version have no prices, so only fees and rent are corrected.
  if (prices === undefined || swap === undefined) return { ...bound, ...fees };
  const taken = BigInt(outcome.inAmount);
  // Credit no more than the quote, because one wrong number of a node could claim more.
  const brought = minAmount(BigInt(outcome.outAmount), BigInt(swap.quoted.outAmount));
  if (taken <= 0n || brought <= 0n) return bound;
  return {
    ...fees,
    ...(prices.input === undefined ? { unpriced: true } : {}),
    lossMicroUsd: lossOf(prices, taken, brought).toString(),
    inputs: { [swap.inputMint]: taken.toString() },
    boughtMicroUsd:
      prices.input === undefined || prices.output !== undefined
        ? '0'
        : boughtBy(price, brought).toString(),
  };
}

function feesAt(
  { lamports, feeMicroUsd }: SwapCost,
  taken: bigint,
): Pick<SwapCost, 'swaps' | 'feeMicroUsd' | 'lamports' | 'unpriced'> {
  const maxLamports = BigInt(lamports);
  const microUsd = maxLamports === 0n ? 0n : ceilDiv(BigInt(feeMicroUsd) * taken, maxLamports);
  return {
    ...{ swaps: 1, feeMicroUsd: microUsd.toString(), lamports: taken.toString() },
    // Values are rounded up, so a fee of 0 dollars says that SOL has no price.
    ...(microUsd === 0n && taken > 0n ? { unpriced: true } : {}),
  };
}
