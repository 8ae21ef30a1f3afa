import type { Reading } from '../journal/account-balance.js';
import type { PaymentContext } from '../payments/context.js';
import type { Source } from '../payments/reconcile/account-history.js';

/**
 * Returns the balance of an account before a transaction could land. Undefined if the account's
 * history shows that balance. If there is no older history, it returns the current balance, which
 * lacks whatever has landed already.
 *
 * @param slot - Slot before which the transaction cannot have landed.
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
