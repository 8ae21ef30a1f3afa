import type { SignedAttempt } from '../../journal/open-payment.js';
import type { PaymentContext } from '../context.js';
import { sentPayment, type SentTransaction } from './fate.js';

// A blockhash lasts for a minute or two. After a day, only a node's old history can show a payment.
const FORGOTTEN_MS = 24 * 60 * 60_000;

/** About a day of blocks, and of slots. */
const FORGOTTEN_BLOCKS = 216_000;

/**
 * Returns whether a transaction is so old that it cannot land and nodes may no longer remember it.
 *
 * The local clock may jump, so each node has to confirm the age. A node may give a wrong number, so
 * both its height and its slot have to.
 *
 * @param at - Milliseconds since the epoch at which the transaction was signed.
 */
export async function isForgotten(
  { histories, config, closing }: PaymentContext,
  at: number,
  sent: Pick<SentTransaction, 'source' | 'slot' | 'lastValidBlockHeight'>,
): Promise<boolean> {
  if (config.runtime.now() - at <= FORGOTTEN_MS) return false;
  const { source, slot, lastValidBlockHeight } = sent;
  const height = lastValidBlockHeight + BigInt(FORGOTTEN_BLOCKS);
  const tips = histories.of(source).map(async (node) => (await node.history()).tip(closing.signal));
  return (await Promise.allSettled(tips)).every(
    (tip) =>
      tip.status === 'fulfilled' &&
      tip.value.height > height &&
      tip.value.slot > slot + FORGOTTEN_BLOCKS,
  );
}

/** As {@link isForgotten}, for a payment. Such a payment is never decided. */
export function isForgottenPayment(
  context: PaymentContext,
  attempt: SignedAttempt,
): Promise<boolean> {
  return isForgotten(context, attempt.at, sentPayment(attempt, attempt.payment));
}
