import { formatUsd } from '../amount.js';
import type { Attempt } from '../journal/types.js';
import { costOf, costParts, type Expense } from '../policy/cost.js';
import { LAMPORTS, USD, USD_OF_FEES, USD_OF_SWAPS } from '../policy/units.js';
import type { Receipt } from '../receipt.js';
import { shownAmount } from '../network.js';
import type { Swapped } from './reconcile/swap-end.js';

/**
 * Returns the cost of an attempt for its receipt: the total and its parts. It has no dollars if a
 * part of it has no price: they would be too few.
 *
 * @param isPaid - Whether the price has left the wallet, or may leave.
 */
export function costFor(
  attempt: Expense,
  networkFeeLamports: bigint,
  isPaid = true,
): Receipt['cost'] {
  const cost = costOf(attempt, isPaid);
  const [total = 0n, swaps = 0n, fees = 0n] = [USD, USD_OF_SWAPS, USD_OF_FEES].map((unit) =>
    cost.get(unit),
  );
  const rent = (cost.get(LAMPORTS) ?? 0n) - networkFeeLamports;
  const isPriced =
    attempt.microUsd !== undefined &&
    [attempt.swapped, attempt.swapping].every((taken) => taken?.unpriced !== true);
  return {
    ...(isPriced ? { usd: formatUsd(total), parts: costParts(total, [swaps, fees]) } : {}),
    networkFeeLamports: networkFeeLamports.toString(),
    rentLamports: (rent > 0n ? rent : 0n).toString(),
  };
}

function paidBy(
  { network, mint, amount, payTo, wallet }: Attempt,
  decimals: number,
  payerSignature: string,
): Receipt['payment'] {
  const shown = shownAmount(network, mint, BigInt(amount), decimals);
  return { network, mint, amount, decimals, ...shown, payTo, payer: wallet, payerSignature };
}

/**
 * Copies a receipt for an application, which may write to it: the chain must still decide the
 * payment, and the journal must keep what happened.
 */
export function copyOfReceipt(receipt: Receipt): Receipt {
  return JSON.parse(JSON.stringify(receipt)) as Receipt; // The JSON of a receipt.
}

export function firstReceipt(
  attempt: Attempt,
  decimals: number,
  payerSignature: string,
  swap: Pick<Swapped, 'record' | 'feeLamports'> | undefined,
  timings: Receipt['timings'],
): Receipt {
  const { id, url, method, at } = attempt;
  return {
    ...{ id, url, method, at, state: 'pending' },
    payment: paidBy(attempt, decimals, payerSignature),
    ...(swap === undefined ? {} : { swap: swap.record }),
    cost: costFor(attempt, swap?.feeLamports ?? 0n),
    timings,
  };
}
