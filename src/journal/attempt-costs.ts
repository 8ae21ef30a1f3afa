import { capCounts, type Cap } from '../policy/caps.js';
import { costOf, type Cost } from '../policy/cost.js';
import { attemptStates } from './states.js';
import type { Attempt, CapBlock } from './types.js';

/**
 * Milliseconds that an undecided attempt counts beyond the window of a cap: far longer than any
 * blockhash is valid.
 */
export const UNDECIDED_MS = 24 * 60 * 60 * 1000;

/** Returns what an attempt takes of caps in its present state, by unit. */
export function costIn(attempt: Attempt): Cost {
  return costOf(attempt, attemptStates[attempt.state].counts);
}

/** Returns the time at which an attempt counts as spent. Milliseconds since the epoch. */
export function countedAt({ at, leftAt }: Attempt): number {
  return leftAt ?? at;
}

/**
 * Whether an undecided attempt counts in a window that begins after it. A reservation always does,
 * because it is still to be spent. A signed attempt counts a day longer, because its tokens may
 * leave later than it was signed.
 *
 * @param since - When the window begins. Milliseconds since the epoch.
 */
export function countsLonger(attempt: Attempt, since: number): boolean {
  const at = countedAt(attempt);
  return at <= since && (attempt.state === 'reserved' || at > since - UNDECIDED_MS);
}

export function keepsSwap({ swap, swapped }: Attempt): boolean {
  return swapped !== undefined || (swap !== undefined && swap.outcome === undefined);
}

/** Whether a journal may forget an attempt: it signed no payment, and no swap needs its record. */
export function mayRelease(attempt: Attempt): boolean {
  return attemptStates[attempt.state].release && !keepsSwap(attempt);
}

/**
 * Whether a write ends an attempt without a payment. Its writer may have read the attempt before a
 * swap was recorded in it.
 */
export function mayDropSwap({ state }: Attempt): boolean {
  return state === 'abandoned' || state === 'unpaid';
}

/**
 * Whether a write that ends an attempt without a payment would drop a swap that may still land.
 *
 * @param before - The attempt as it is on record.
 */
export function dropsSwap(before: Attempt, after: Attempt): boolean {
  if (!mayDropSwap(after) || before.swap === undefined || before.swap.outcome !== undefined)
    return false;
  return (
    after.swap?.signature !== before.swap.signature ||
    (after.state === 'unpaid' && after.swap.outcome === undefined)
  );
}

/**
 * Returns the first cap that lacks room for an attempt.
 *
 * @param used - Used amount of each cap, with the cost of `before`.
 * @param before - The attempt as it is on record; an attempt that takes no more than `before` is
 *   never refused.
 */
export function firstFull(
  caps: readonly Cap[],
  used: readonly bigint[],
  attempt: Attempt,
  before: Attempt | undefined,
): CapBlock | undefined {
  const takesOf = (counted: Attempt) => {
    const cost = costIn(counted);
    return (cap: Cap) => (capCounts(cap, counted) ? (cost.get(cap.unit) ?? 0n) : 0n);
  };
  const takes = takesOf(attempt);
  const took = before === undefined ? () => 0n : takesOf(before);
  for (const [index, cap] of caps.entries()) {
    const [taking, taken] = [takes(cap), took(cap)];
    const usedByOthers = (used[index] ?? 0n) - taken;
    if (taking > taken && usedByOthers + taking > cap.limit) return { cap, used: usedByOthers };
  }
  return undefined;
}
