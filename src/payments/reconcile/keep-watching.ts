import type { Emit } from '../../events.js';
import type { OpenPayment } from '../../journal/open-payment.js';
import { ownerOf, type PaymentContext } from '../context.js';
import { listenTo } from './account-changes.js';
import { sourceOf } from './fate.js';
import { isForgottenPayment } from './forgotten.js';
import { decidePayment, isDecided } from './payment-monitor.js';

/** Milliseconds between two looks at a payment that nodes no longer remember. */
const FORGOTTEN_WAIT_MS = 60 * 60_000;

/**
 * Watches an open payment until the chain decides or the client closes. The caller has looked once
 * before.
 *
 * @param hasFailed - Whether that first look failed, because a node or the journal did not answer.
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
    for (let look = await listening.next(signal, hasFailed); !signal.aborted;) {
      let failed = false;
      if (look || isDecided(open) || (await isPast(context, open, signal).catch(() => true))) {
        const isOver = await decidePayment(context, open, emit, signal).catch(() => undefined);
        if (isOver === true) return;
        failed = isOver === undefined;
      }
      if (!failed && (await isForgottenPayment(context, open.attempt)))
        await context.config.runtime.idle(FORGOTTEN_WAIT_MS, signal).catch(() => undefined);
      look = await listening.next(signal, failed);
    }
  } finally {
    listening.end();
  }
}

/** Whether one node is past the payment's last valid block height: then a full look is due. */
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
 * Copies into the record what other processes have written of its attempt since it was read.
 * Returns false if the journal no longer has the attempt as signed.
 */
export async function refreshIfSigned(
  context: PaymentContext,
  open: OpenPayment,
): Promise<boolean> {
  const { id, at, receipt: before } = open.attempt;
  // The journal must not answer with what this process has changed since.
  const { lastWrite } = open;
  await lastWrite;
  for await (const attempt of context.journal.attempts(ownerOf(context), {
    state: 'signed',
    since: at,
  })) {
    if (attempt.id !== id) continue;
    // The record of the journal is older than a decision that this process has made since.
    if (isDecided(open)) return true;
    // This process has written since, so the record may be older than what it wrote.
    if (open.lastWrite !== lastWrite) return refreshIfSigned(context, open);
    const { delivered, tellingAt, toldAt, doubt, receipt } = attempt;
    const told = {
      ...(tellingAt === undefined ? {} : { tellingAt }),
      ...(toldAt === undefined ? {} : { toldAt }),
    };
    open.attempt = {
      ...open.attempt,
      // Another process may have delivered the answer or taken that back, or have the seller's word.
      delivered: open.isDeliveredHere ?? delivered,
      receipt:
        open.attempt.receipt === before
          ? { ...before, ...receipt }
          : { ...receipt, ...open.attempt.receipt },
      ...told,
      ...(doubt === undefined ? {} : { doubt }),
    };
    return true;
  }
  return false;
}
