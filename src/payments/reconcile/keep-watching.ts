import type { Emit } from '../../events.js';
import type { OpenPayment } from '../../journal/open-payment.js';
import { ownerOf, type PaymentContext } from '../context.js';
import { listenTo } from './account-changes.js';
import { sourceOf } from './fate.js';
import { decidePayment, isDecided } from './payment-monitor.js';

/**
 * Looks at the chain for a payment that the first look has not decided, until it is or the client
 * closes.
 *
 * @param hasFailed - The first look has: a node or journal that does not answer decides nothing, and
 *   is asked again after the next wait, whatever is heard until then.
 */
export async function keepWatching(
  context: PaymentContext,
  open: OpenPayment,
  emit: Emit,
  hasFailed: boolean,
): Promise<void> {
  const { signal } = context.closing;
  const source = sourceOf(open.attempt.payment);
  const listening = listenTo(context.rpc, context.config.runtime, source.account, () =>
    context.histories.outdate(source),
  );
  try {
    for (let look = (await listening.next(signal)) || hasFailed; !signal.aborted;) {
      let failed = false;
      if (look || isDecided(open) || (await isPast(context, open, signal).catch(() => true))) {
        const isOver = await decidePayment(context, open, emit, signal).catch(() => undefined);
        if (isOver === true) return;
        failed = isOver === undefined;
      }
      look = (await listening.next(signal)) || failed;
    }
  } finally {
    listening.end();
  }
}

/** Whether it can land no more, as far as one node says: then all of it is looked at. */
async function isPast(
  { rpc }: PaymentContext,
  { attempt }: OpenPayment,
  signal: AbortSignal,
): Promise<boolean> {
  return (
    (await rpc.tip('finalized', { signal })).height > BigInt(attempt.payment.lastValidBlockHeight)
  );
}

/**
 * Takes over what others have written of an attempt since it was read; false if it is decided.
 */
export async function isUpToDate(context: PaymentContext, open: OpenPayment): Promise<boolean> {
  const { id, at } = open.attempt;
  for await (const attempt of context.journal.attempts(ownerOf(context), {
    state: 'signed',
    since: at,
  })) {
    if (attempt.id !== id) continue;
    const { delivered, tellingAt, toldAt, doubt, receipt = open.attempt.receipt } = attempt;
    const told = {
      ...(tellingAt === undefined ? {} : { tellingAt }),
      ...(toldAt === undefined ? {} : { toldAt }),
    };
    open.attempt = {
      ...open.attempt,
      delivered,
      receipt,
      ...told,
      ...(doubt === undefined ? {} : { doubt }),
    };
    return true;
  }
  return false;
}
