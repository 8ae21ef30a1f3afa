import type { Reading } from '../journal/account-balance.js';
import type { PaymentContext } from '../payments/context.js';
import type { Source } from '../payments/reconcile/account-history.js';

/**
 * What an account held before a transaction that is handed in could land. Undefined if the
 * account's history tells it; the balance of now only if it has no history: what has landed already
 * is missing from it.
 *
 * @param slot - The transaction cannot have landed before this slot.
 */
export async function pastBalance(
  { histories, closing }: PaymentContext,
  source: Source,
  slot: number,
  signal: AbortSignal = closing.signal,
): Promise<Reading | undefined> {
  const node = await histories.of(source)[0]?.history();
  if (node === undefined) return undefined;
  const { slot: minContextSlot } = await node.tip(signal);
  const { older } = await node.since(slot, minContextSlot, signal);
  return older === undefined ? node.balance(minContextSlot, signal) : undefined;
}
