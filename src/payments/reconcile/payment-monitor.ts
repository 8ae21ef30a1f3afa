import type { Emit } from '../../events.js';
import { startDeadline, throwIfAborted, untilAborted } from '../../internal/abort.js';
import { saveAttempt, type OpenPayment } from '../../journal/open-payment.js';
import type { Along } from '../../journal/types.js';
import type { Receipt } from '../../receipt.js';
import { ownerOf, type PaymentContext } from '../context.js';
import { costFor } from '../execute/attempt-receipt.js';
import { listenTo } from './account-changes.js';
import { claimOf } from './claim.js';
import { fateOf, sentPayment, sourceOf, type Fate } from './fate.js';

/**
 * The record of an attempt as this process follows it already, or a new one: two records of one
 * attempt would undo each other.
 */
export function openPaymentOf(
  { wallet }: PaymentContext,
  attempt: OpenPayment['attempt'],
): OpenPayment {
  return wallet.monitored.get(attempt.id)?.open ?? { attempt, isForeign: true };
}

/**
 * Follows a signed payment in the background until the chain decides or the client closes. Never
 * rejects.
 */
export async function monitorPayment(
  context: PaymentContext,
  open: OpenPayment,
  emit: Emit,
): Promise<void> {
  const { id } = open.attempt;
  const { monitored } = context.wallet;
  const known = monitored.get(id) ?? { open, monitors: new Map<object, Promise<void>>() };
  const running = known.monitors.get(context);
  if (running !== undefined) return running;
  monitored.set(id, known);
  const watching = watch(context, known.open, emit);
  known.monitors.set(context, watching);
  await watching;
  known.monitors.delete(context);
  if (known.monitors.size > 0) return;
  monitored.delete(id);
  if (isDecided(known.open)) return;
  // Closed before the chain had decided: nothing is left here to end it, and the tokens may go.
  await context.ledger.spend(open.attempt.payment.source, id).catch(() => undefined);
}

/**
 * The receipt of a payment once the chain has decided. Rejects with the signal's reason, or with
 * `ConfigError` (`client_closed`).
 */
export async function decided(
  context: PaymentContext,
  open: OpenPayment,
  emit: Emit,
  signal: AbortSignal | undefined,
): Promise<Receipt> {
  if (isDecided(open)) return open.attempt.receipt;
  const { id } = open.attempt;
  const followed = context.wallet.monitored.get(id)?.open ?? open;
  await untilAborted(monitorPayment(context, open, emit), signal);
  if (!isDecided(followed)) throwIfAborted(context.closing.signal);
  return followed.attempt.receipt;
}

async function watch(context: PaymentContext, open: OpenPayment, emit: Emit): Promise<void> {
  const { signal } = context.closing;
  const source = sourceOf(open.attempt.payment);
  const listening = listenTo(context.rpc, context.config.runtime, source.account, () =>
    context.histories.outdate(source),
  );
  try {
    // The seller's answer goes to its caller first.
    await context.config.runtime.sleep(0, signal).catch(() => undefined);
    for (let look = true; !signal.aborted;) {
      let failed = false;
      if (look || isDecided(open) || (await isPast(context, open, signal).catch(() => true))) {
        const isOver = await decidePayment(context, open, emit, signal).catch(() => undefined);
        if (isOver === true) return;
        // A node or journal that does not answer decides nothing: it is asked again after the next
        // wait, whatever is heard until then.
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

/** Asks the chain once, and closes the attempt if it has decided. */
export async function decidePayment(
  context: PaymentContext,
  open: OpenPayment,
  emit: Emit,
  signal: AbortSignal,
): Promise<boolean> {
  if (isDecided(open)) return true;
  // Each call of a node has a deadline, but there may be many of them.
  const deadline = startDeadline(context.config.timeouts.payment, signal);
  const { attempt } = open;
  const sent = sentPayment(attempt, attempt.payment, claimOf(context.protocols, open));
  const asked = fateOf(context.histories, sent, deadline.signal);
  const verdict = decisionOf(await asked.finally(() => deadline.end()));
  if (verdict === undefined) return false;
  if (verdict.state === 'unsettled') context.blockhashes.expire(attempt.payment.blockhash);
  // Another caller may have been told meanwhile.
  if (isDecided(open)) return true;
  await closeAttempt(context, open, verdict, emit);
  return true;
}

/** What the chain made of a payment. */
type Decision =
  | { readonly state: 'settled'; readonly signature: string; readonly slot: number }
  | { readonly state: 'unsettled' };

/** A payment that landed and failed is as good as one that never can. */
function decisionOf(fate: Fate): Decision | undefined {
  if (fate.state === 'open') return undefined;
  if (fate.state === 'never' || fate.error !== null) return { state: 'unsettled' };
  return { state: 'settled', signature: fate.signature, slot: fate.slot };
}

function isDecided({ attempt }: OpenPayment): boolean {
  return attempt.state !== 'signed';
}

async function closeAttempt(
  context: PaymentContext,
  open: OpenPayment,
  verdict: Decision,
  emit: Emit,
): Promise<void> {
  const { payment } = open.attempt;
  const stands = open.isForeign !== true || (await isUpToDate(context, open));
  const told = { first: false };
  const change = (attempt: OpenPayment['attempt']) => {
    if (attempt.state !== 'signed') return attempt;
    told.first = true;
    return closed(attempt, verdict, context.config.runtime.now());
  };
  // What is not written down is not decided: it is asked again. What another process has decided
  // meanwhile is written already, and may have been before the tokens were held here.
  if (stands) await saveAttempt(context, open, change, endsOf(payment.source, verdict));
  else {
    await endHold(context, open, verdict);
    open.attempt = change(open.attempt);
  }
  // It may have been taken off the known balance already, when its client closed.
  if (verdict.state === 'unsettled') await context.ledger.forget(payment.source);
  // Several may have been told at once.
  if (told.first)
    emit(verdict.state === 'settled' ? 'payment.settled' : 'payment.unsettled', {
      receipt: open.attempt.receipt,
    });
}

/**
 * Takes over what others have written of an attempt since it was read; false if it is decided.
 */
async function isUpToDate(context: PaymentContext, open: OpenPayment): Promise<boolean> {
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

/** @param now - Caps over time count what was paid from then. Milliseconds since the epoch. */
function closed(
  attempt: OpenPayment['attempt'],
  verdict: Decision,
  now: number,
): OpenPayment['attempt'] {
  const { receipt } = attempt;
  const { state } = verdict;
  const payment =
    state === 'settled' ? { ...receipt.payment, signature: verdict.signature } : receipt.payment;
  const cost = costFor(attempt, BigInt(receipt.cost.networkFeeLamports), state === 'settled');
  return { ...attempt, state, leftAt: now, receipt: { ...receipt, state, payment, cost } };
}

function endHold(
  { ledger }: PaymentContext,
  { attempt: { id, payment } }: OpenPayment,
  verdict: Decision,
): Promise<void> {
  return verdict.state === 'settled'
    ? ledger.spend(payment.source, id, verdict.slot)
    : ledger.release(payment.source, id);
}

/** What its end makes of the tokens that are held for it. */
function endsOf(account: string, verdict: Decision): Along {
  return verdict.state === 'settled'
    ? { spend: { account, slot: verdict.slot } }
    : { free: [account] };
}
