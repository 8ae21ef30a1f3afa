import type { Emit } from '../../events.js';
import { throwIfAborted, untilAborted } from '../../internal/abort.js';
import { saveAttempt, type OpenPayment } from '../../journal/open-payment.js';
import type { Along } from '../../journal/types.js';
import type { Receipt } from '../../receipt.js';
import type { PaymentContext } from '../context.js';
import { costFor } from '../execute/attempt-receipt.js';
import { recovery } from '../on-demand.js';
import { claimOf } from './claim.js';
import { fateOf, sentPayment, type Fate } from './fate.js';

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

/** Asked again after so many milliseconds if nothing more could be loaded: the page may be offline. */
const RETRY_MS = 10_000;

/** Mostly the first look suffices. */
async function watch(context: PaymentContext, open: OpenPayment, emit: Emit): Promise<void> {
  const { signal } = context.closing;
  const { runtime } = context.config;
  // The seller's answer goes to its caller first.
  await runtime.sleep(0, signal).catch(() => undefined);
  while (!signal.aborted) {
    const isOver = await decidePayment(context, open, emit, signal).catch(() => undefined);
    if (isOver === true) return;
    const more = await recovery().catch(() => undefined);
    if (more !== undefined) return more.keepWatching(context, open, emit, isOver === undefined);
    await runtime.idle(RETRY_MS, signal).catch(() => undefined);
  }
}

/** Asks the chain once, and closes the attempt if it has decided. */
export async function decidePayment(
  context: PaymentContext,
  open: OpenPayment,
  emit: Emit,
  signal: AbortSignal,
): Promise<boolean> {
  if (isDecided(open)) return true;
  const { attempt } = open;
  const sent = sentPayment(attempt, attempt.payment, claimOf(context.protocols, open));
  const verdict = decisionOf(await fateOf(context.histories, sent, signal));
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

export function isDecided({ attempt }: OpenPayment): boolean {
  return attempt.state !== 'signed';
}

async function closeAttempt(
  context: PaymentContext,
  open: OpenPayment,
  verdict: Decision,
  emit: Emit,
): Promise<void> {
  const { payment } = open.attempt;
  const stands = open.isForeign !== true || (await (await recovery()).isUpToDate(context, open));
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
 * @param now - Caps over time count what was paid from then, or from when it was signed if the clock
 *   was set back since. Milliseconds since the epoch.
 */
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
  const leftAt = Math.max(attempt.at, now);
  return { ...attempt, state, leftAt, receipt: { ...receipt, state, payment, cost } };
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
