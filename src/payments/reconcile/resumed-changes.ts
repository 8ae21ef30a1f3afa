import { setNewest } from '../../internal/newest.js';
import type { Attempt } from '../../journal/types.js';
import { costOf } from '../../policy/cost.js';
import { LAMPORTS } from '../../policy/units.js';
import type { FreedReceipt, Receipt } from '../../receipt.js';
import { ownerOf, type PaymentContext } from '../context.js';
import { copyOfReceipt, costFor } from '../attempt-receipt.js';
import { swapRecordOf } from './swap-outcome.js';

/** The most freed attempts to remember if the caller never calls `resume`. */
const MOST_FREED = 1_000;

/** Notes that a context has taken up an attempt, so that `resume` reports its end. */
export function noteResumed({ resumed }: PaymentContext, { id, at }: Attempt): void {
  resumed.open.set(id, at);
}

export function noteFreed(
  context: PaymentContext,
  attempt: Attempt,
  state: FreedReceipt['state'],
): void {
  const { open, freed } = context.resumed;
  const { id } = attempt;
  if (!open.has(id)) return;
  if (state === 'unpaid') open.delete(id);
  setNewest(freed, id, freedReceipt(attempt, state), MOST_FREED);
}

/**
 * Returns the receipts of taken-up attempts that were decided or freed, in this process or in any
 * other. Returns each change once.
 */
export async function takeChanges(context: PaymentContext): Promise<(Receipt | FreedReceipt)[]> {
  const { open, freed } = context.resumed;
  const moments = [...open.values(), ...[...freed.values()].map(({ at }) => at)];
  if (moments.length === 0) return [];
  const decided: Receipt[] = [];
  const signed = new Set<string>();
  for await (const { id, state, receipt } of context.journal.attempts(ownerOf(context), {
    since: Math.min(...moments),
  })) {
    if (receipt === undefined) continue;
    signed.add(id);
    if (open.has(id) && state !== 'signed') decided.push(copyOfReceipt(receipt));
  }
  for (const { id } of decided) open.delete(id);
  // Leave out an attempt that was taken for an orphan and was signed after all.
  const freedReceipts = [...freed.values()].filter(({ id }) => !signed.has(id));
  freed.clear();
  return [...decided, ...freedReceipts];
}

function freedReceipt(attempt: Attempt, state: FreedReceipt['state']): FreedReceipt {
  const { id, url, method, at, swap } = attempt;
  const { usd, parts } = costFor(attempt, 0n, false);
  return {
    ...{ id, url, method, at, state },
    ...(swap?.outcome?.state === 'confirmed' ? { swap: swapRecordOf(swap, swap.outcome) } : {}),
    cost: {
      ...(usd === undefined || parts === undefined ? {} : { usd, parts }),
      lamports: (costOf(attempt, false).get(LAMPORTS) ?? 0n).toString(),
    },
  };
}
