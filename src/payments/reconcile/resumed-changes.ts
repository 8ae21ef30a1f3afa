import type { Attempt } from '../../journal/types.js';
import { costOf } from '../../policy/cost.js';
import { LAMPORTS } from '../../policy/units.js';
import type { FreedReceipt, Receipt } from '../../receipt.js';
import { ownerOf, type PaymentContext } from '../context.js';
import { costFor } from '../execute/attempt-receipt.js';
import { relayFeeOf } from './swap-outcome.js';

/** Of a client that is never asked. */
const MOST_FREED = 1_000;

/** Takes down that a context has taken up an attempt: what becomes of it is to be told. */
export function noteResumed({ recovery }: PaymentContext, { id, at }: Attempt): void {
  recovery.open.set(id, at);
}

/** Takes down that an attempt was freed, if it is one that was taken up. */
export function noteFreed(
  context: PaymentContext,
  attempt: Attempt,
  state: FreedReceipt['state'],
): void {
  const { open, freed } = context.recovery;
  const { id } = attempt;
  if (!open.has(id)) return;
  if (state === 'unpaid') open.delete(id);
  freed.delete(id);
  freed.set(id, freedReceipt(attempt, state));
  const [oldest] = freed.keys();
  if (freed.size > MOST_FREED && oldest !== undefined) freed.delete(oldest);
}

/**
 * What was decided or freed of all that was taken up, whatever in this process, or in another,
 * found out; each change once.
 */
export async function takeChanges(context: PaymentContext): Promise<(Receipt | FreedReceipt)[]> {
  const { open, freed } = context.recovery;
  const moments = [...open.values(), ...[...freed.values()].map(({ at }) => at)];
  if (moments.length === 0) return [];
  const decided: Receipt[] = [];
  const signed = new Set<string>();
  for await (const { id, state, receipt } of context.journal.attempts(ownerOf(context), {
    since: Math.min(...moments),
  })) {
    if (receipt === undefined) continue;
    signed.add(id);
    if (open.has(id) && state !== 'signed') decided.push(receipt);
  }
  for (const { id } of decided) open.delete(id);
  // One that was taken for an orphan and went on has its receipt.
  const given = [...freed.values()].filter(({ id }) => !signed.has(id));
  freed.clear();
  return [...decided, ...given];
}

function freedReceipt(attempt: Attempt, state: FreedReceipt['state']): FreedReceipt {
  const { id, url, method, at, swap } = attempt;
  const { usd, parts } = costFor(attempt, 0n, false);
  return {
    ...{ id, url, method, at, state },
    ...(swap?.outcome?.state === 'confirmed' ? { swap: recordOf(swap, swap.outcome) } : {}),
    cost: {
      ...(usd === undefined || parts === undefined ? {} : { usd, parts }),
      lamports: (costOf(attempt, false).get(LAMPORTS) ?? 0n).toString(),
    },
  };
}

function recordOf(
  swap: NonNullable<Attempt['swap']>,
  { inAmount, outAmount }: { readonly inAmount: string; readonly outAmount: string },
): NonNullable<Receipt['swap']> {
  const { signature, inputMint, outputMint, provider } = swap;
  return { signature, inputMint, inAmount, outputMint, outAmount, provider, ...relayFeeOf(swap) };
}
