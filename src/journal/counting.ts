import { counts, type Cap } from '../policy/caps.js';
import { costOf, type Cost } from '../policy/cost.js';
import { attemptStates } from './states.js';
import type { Attempt, CapBlock } from './types.js';

/**
 * How much longer than its window an undecided attempt counts, in milliseconds: far more than any
 * blockhash lives.
 */
export const UNDECIDED_MS = 24 * 60 * 60 * 1000;

/** What an attempt takes of caps as it stands, by unit. */
export function costIn(attempt: Attempt): Cost {
  return costOf(attempt, attemptStates[attempt.state].counts);
}

/** When it counts as spent. Milliseconds since the epoch. */
export function countedAt({ at, leftAt }: Attempt): number {
  return leftAt ?? at;
}

/**
 * Whether an undecided attempt counts in a window that begins after it: what is only reserved is
 * yet to be spent, however long it has waited; and what was signed may leave later than it was
 * signed.
 *
 * @param since - When the window begins. Milliseconds since the epoch.
 */
export function countsLonger(attempt: Attempt, since: number): boolean {
  const at = countedAt(attempt);
  return at <= since && (attempt.state === 'reserved' || at > since - UNDECIDED_MS);
}

/**
 * Whether an attempt has to stay on record for its swaps: one may still land, or they have cost
 * something.
 */
export function keepsSwap({ swap, swapped }: Attempt): boolean {
  return swapped !== undefined || (swap !== undefined && swap.outcome === undefined);
}

/** Whether a journal may forget an attempt: it signed no payment, and has no swap to be kept. */
export function mayRelease(attempt: Attempt): boolean {
  return attemptStates[attempt.state].release && !keepsSwap(attempt);
}

/**
 * Whether an attempt ends without a payment: its writer may have read it before a swap was written
 * into it.
 */
export function mayDropSwap({ state }: Attempt): boolean {
  return state === 'abandoned' || state === 'unpaid';
}

/**
 * Whether such an end would drop a swap that may still land.
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
 * The first cap that lacks room for an attempt.
 *
 * @param used - Of each cap, `before` among it.
 * @param before - The attempt as it is on record; an attempt that takes no more than that is never
 *   refused.
 */
export function firstFull(
  caps: readonly Cap[],
  used: readonly bigint[],
  attempt: Attempt,
  before: Attempt | undefined,
): CapBlock | undefined {
  const takesOf = (one: Attempt) => {
    const cost = costIn(one);
    return (cap: Cap) => (counts(cap, one) ? (cost.get(cap.unit) ?? 0n) : 0n);
  };
  const takes = takesOf(attempt);
  const took = before === undefined ? () => 0n : takesOf(before);
  for (const [index, cap] of caps.entries()) {
    const [taking, own] = [takes(cap), took(cap)];
    const others = (used[index] ?? 0n) - own;
    if (taking > own && others + taking > cap.limit) return { cap, used: others };
  }
  return undefined;
}
