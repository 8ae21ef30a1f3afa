import type { Emit } from '../../events.js';
import { untilAborted } from '../../internal/abort.js';
import { saveAttempt, type OpenPayment } from '../../journal/open-payment.js';
import type { Along } from '../../journal/types.js';
import type { Receipt } from '../../receipt.js';
import { clientClosed, type PaymentContext } from '../context.js';
import { copyOfReceipt, costFor } from '../attempt-receipt.js';
import { outdateOffers } from '../memory.js';
import { recovery } from '../on-demand.js';
import { claimedIdOf } from './claim.js';
import { fateOf, sentPayment, type Fate } from './fate.js';

/**
 * Returns the record that this process already monitors an attempt by, or a new record. Two records
 * of the same attempt would overwrite each other.
 */
export function openPaymentOf(
  { wallet }: PaymentContext,
  attempt: OpenPayment['attempt'],
): OpenPayment {
  return wallet.monitored.get(attempt.id)?.open ?? { attempt, isShared: true };
}

/** Whether this context monitors a payment already. */
export function isMonitored(context: PaymentContext, id: string): boolean {
  return context.wallet.monitored.get(id)?.monitors.has(context) === true;
}

/**
 * Monitors a signed payment in the background until the chain decides or the client closes. Never
 * rejects.
 */
export async function monitorPayment(
  context: PaymentContext,
  open: OpenPayment,
  emit: Emit,
): Promise<void> {
  const { id } = open.attempt;
  const { monitored } = context.wallet;
  const entry = monitored.get(id) ?? { open, monitors: new Map<object, Promise<void>>() };
  const running = entry.monitors.get(context);
  if (running !== undefined) return running;
  monitored.set(id, entry);
  const watching = watch(context, entry.open, emit);
  entry.monitors.set(context, watching);
  await watching;
  entry.monitors.delete(context);
  if (entry.monitors.size > 0) return;
  monitored.delete(id);
  if (isDecided(entry.open)) return;
  // The client closed before the chain decided. Nothing else here ends the hold, and the payment
  // may still land, so count its tokens as spent.
  await context.ledger.spend(open.attempt.payment.source, id).catch(() => undefined);
}

/**
 * Returns a payment's receipt once the chain has decided. Rejects with the signal's reason, or with
 * `ConfigError` (`client_closed`) and uncertain funds.
 */
export async function receiptOnceDecided(
  context: PaymentContext,
  open: OpenPayment,
  emit: Emit,
  signal: AbortSignal | undefined,
): Promise<Receipt> {
  if (isDecided(open)) return copyOfReceipt(open.attempt.receipt);
  const followed = context.wallet.monitored.get(open.attempt.id)?.open ?? open;
  await untilAborted(monitorPayment(context, open, emit), signal);
  if (!isDecided(followed)) throw clientClosed('uncertain');
  return copyOfReceipt(followed.attempt.receipt);
}

/** Milliseconds until the next try if the recovery code cannot be loaded: a page may be offline. */
const RETRY_MS = 10_000;

/** Loads the code that keeps watching only after the first look, which mostly suffices. */
async function watch(context: PaymentContext, open: OpenPayment, emit: Emit): Promise<void> {
  const { signal } = context.closing;
  const { runtime } = context.config;
  // Let the seller's response reach the caller first.
  await runtime.sleep(0, signal).catch(() => undefined);
  while (!signal.aborted) {
    const isOver = await decidePayment(context, open, emit, signal).catch(() => undefined);
    if (isOver === true) return;
    const code = await recovery().catch(() => undefined);
    if (code !== undefined) return code.keepWatching(context, open, emit, isOver === undefined);
    await runtime.idle(RETRY_MS, signal).catch(() => undefined);
  }
}

/** Asks the chain once. Closes the attempt and returns true if the chain has decided. */
export async function decidePayment(
  context: PaymentContext,
  open: OpenPayment,
  emit: Emit,
  signal: AbortSignal,
): Promise<boolean> {
  if (isDecided(open)) return true;
  const { attempt } = open;
  const sent = sentPayment(attempt, attempt.payment, claimedIdOf(context.protocols, open));
  const decision = decisionOf(await fateOf(context.histories, sent, signal));
  if (decision === undefined) return false;
  if (decision.state === 'unsettled') {
    context.blockhashes.expire(attempt.payment.blockhash);
    outdateOffers(context.memory);
  }
  // A concurrent call may have closed the attempt meanwhile.
  if (isDecided(open)) return true;
  await closeAttempt(context, open, decision, emit);
  return true;
}

type Decision =
  | { readonly state: 'settled'; readonly signature: string; readonly slot: number }
  | { readonly state: 'unsettled' };

/** Treats a payment that landed and failed like a payment that never lands. */
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
  decision: Decision,
  emit: Emit,
): Promise<void> {
  const { payment } = open.attempt;
  const isSigned =
    open.isShared !== true || (await (await recovery()).refreshIfSigned(context, open));
  // Another monitor may have closed the attempt during that read.
  if (isDecided(open)) return;
  const change = { isMade: false };
  const close = (attempt: OpenPayment['attempt']) => {
    if (attempt.state !== 'signed') return attempt;
    change.isMade = true;
    return closed(attempt, decision, context.config.runtime.now());
  };
  // If this write fails, the payment stays open and the next look asks again. If a different
  // process has closed the attempt, its write is done, perhaps before this process held the tokens.
  if (isSigned) await saveAttempt(context, open, close, holdEnd(payment.source, decision));
  else {
    await endHold(context, open, decision);
    // That process may not know that the answer was delivered here.
    if (open.isDeliveredHere) await saveAttempt(context, open, close);
    else open.attempt = close(open.attempt);
  }
  // The ledger may count the tokens as spent, because a client closed while it monitored the
  // payment.
  if (decision.state === 'unsettled') await context.ledger.forget(payment.source);
  // Emit once, even if several monitors learn of the decision at the same time.
  if (change.isMade)
    emit(`payment.${decision.state}`, { receipt: copyOfReceipt(open.attempt.receipt) });
}

/**
 * @param now - When a cap's window starts to count the payment, in milliseconds since the epoch. If
 *   the clock was set back since the signature, the time of the signature counts instead.
 */
function closed(
  attempt: OpenPayment['attempt'],
  decision: Decision,
  now: number,
): OpenPayment['attempt'] {
  const { receipt } = attempt;
  const { state } = decision;
  const payment =
    state === 'settled' ? { ...receipt.payment, signature: decision.signature } : receipt.payment;
  const cost = costFor(attempt, BigInt(receipt.cost.networkFeeLamports), state === 'settled');
  const leftAt = Math.max(attempt.at, now);
  return { ...attempt, state, leftAt, receipt: { ...receipt, state, payment, cost } };
}

function endHold(
  { ledger }: PaymentContext,
  { attempt: { id, payment } }: OpenPayment,
  decision: Decision,
): Promise<void> {
  return decision.state === 'settled'
    ? ledger.spend(payment.source, id, decision.slot)
    : ledger.release(payment.source, id);
}

function holdEnd(account: string, decision: Decision): Along {
  return decision.state === 'settled'
    ? { spend: { account, slot: decision.slot } }
    : { free: [account] };
}
