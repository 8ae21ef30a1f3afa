import type { OpenPayment } from '../../journal/open-payment.js';
import type { Along, Attempt } from '../../journal/types.js';
import type { FreedReceipt, Receipt } from '../../receipt.js';
import type { PaymentContext } from '../context.js';
import { withoutBound } from '../execute/reservation.js';
import { orphanedAttempts } from './resume-once.js';
import { endDecided, endUnpaid, releaseOrphans, putAbandoned } from './orphaned-attempts.js';
import { inPaymentTime, sentPayment } from './fate.js';
import { isForgotten } from './forgotten.js';
import { decidePayment, isDecided, monitorPayment, openPaymentOf } from './payment-monitor.js';
import { noteResumed, takeChanges } from './resumed-changes.js';
import { swapEngine } from '../on-demand.js';

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;

/** Takes up what earlier processes left, and follows it in the background. */
export async function takeUp(context: PaymentContext): Promise<void> {
  const { open, abandoned } = await collectUnfinished(context);
  for (const one of open) void monitorPayment(context, one, context.events.emitter(one.attempt.id));
  for (const one of abandoned) void waitForSwap(context, one);
}

/**
 * Gives back what orphaned attempts reserved and held. Returns whether there was anything. Calls
 * that come while another looks share the next look: each reads all that is reserved, and of a
 * thousand calls at once a cap may refuse most.
 */
export function freeOrphanedBudget(context: PaymentContext): Promise<boolean> {
  const { looks } = context.recovery;
  return (looks.next ??= lookAfter(context, looks.running));
}

async function lookAfter(
  context: PaymentContext,
  running: Promise<boolean> | undefined,
): Promise<boolean> {
  // The calls that wait here may have been refused before that one freed what they lack.
  const before = await running?.catch(() => false);
  const { looks } = context.recovery;
  const look = releaseOrphans(context).then(({ freed, abandoned }) => {
    for (const one of abandoned) void waitForSwap(context, one);
    return freed > 0;
  });
  [looks.running, looks.next] = [look, undefined];
  try {
    return (await look) || before === true;
  } finally {
    if (looks.running === look) looks.running = undefined;
  }
}

/**
 * Takes up what earlier processes left: the chain is asked about each signed payment, and what was
 * reserved and never signed is freed.
 * What cannot be decided yet is followed in the background. Returns a record of all that was taken
 * up, by this call or before it, and was decided or freed since it was last asked; throws only if
 * nothing could be asked at all.
 */
export async function resume(context: PaymentContext): Promise<(Receipt | FreedReceipt)[]> {
  const failures: unknown[] = [];
  let answers = 0;
  const left = await collectUnfinished(context);
  const decide = async (open: OpenPayment) => {
    const emit = context.events.emitter(open.attempt.id);
    try {
      const isOver = await inPaymentTime(context, context.closing.signal, (within) =>
        decidePayment(context, open, emit, within),
      );
      if (!isOver) void monitorPayment(context, open, emit);
      answers += 1;
    } catch (error) {
      // One that cannot be asked about must not keep the others waiting.
      failures.push(error);
      void monitorPayment(context, open, emit);
    }
  };
  // At once: what sellers claim of them is asked about together.
  await Promise.all(left.open.map(decide));
  for (const one of left.abandoned)
    if (!(await forgetIfOver(context, one).catch(() => false))) void waitForSwap(context, one);
  if (answers === 0 && failures.length > 0) throw failures[0];
  return takeChanges(context);
}

/** What the chain has to decide. */
interface Unfinished {
  /** Signed payments, each with a hold on its tokens. */
  readonly open: readonly OpenPayment[];
  /** Attempts whose swap may still land. */
  readonly abandoned: readonly Attempt[];
}

/** Frees what orphaned attempts reserved, and finds what else earlier processes left. */
async function collectUnfinished(context: PaymentContext): Promise<Unfinished> {
  const [signed, abandoned] = await Promise.all([
    orphanedAttempts(context, 'signed'),
    orphanedAttempts(context, 'abandoned'),
  ]);
  const open: OpenPayment[] = [];
  for (const attempt of signed) {
    const { payment, receipt } = attempt;
    if (payment === undefined || receipt === undefined) continue;
    open.push(await heldPaymentOf(context, { ...attempt, payment, receipt }));
    noteResumed(context, attempt);
  }
  for (const attempt of abandoned) noteResumed(context, attempt);
  const freed = await releaseOrphans(context);
  return { open, abandoned: [...abandoned, ...freed.abandoned] };
}

/** The record of an open payment, as `openPaymentOf` has it, with a hold on its tokens. */
export async function heldPaymentOf(
  context: PaymentContext,
  attempt: OpenPayment['attempt'],
): Promise<OpenPayment> {
  const { ledger } = context;
  const { id, amount, payment } = attempt;
  // What no node remembers is never decided, and can land no more.
  if (await isForgotten(context, attempt.at, sentPayment(attempt, payment))) {
    await ledger.release(payment.source, id);
    await ledger.forget(payment.source);
    return openPaymentOf(context, attempt);
  }
  await ledger.hold(payment.source, id, BigInt(amount));
  const open = openPaymentOf(context, attempt);
  // Its monitor may have ended its hold a moment before, and nothing else would end this one.
  await open.lastWrite;
  if (isDecided(open)) await ledger.release(payment.source, id);
  return open;
}

/**
 * Frees the price and the key of an attempt that signed no payment. A swap that may still land stays
 * on record until it can land no more, and so does what swaps have cost.
 */
export async function giveUp(
  context: PaymentContext,
  attempt: Attempt,
  along: Along,
): Promise<void> {
  if (attempt.swap === undefined || attempt.swap.outcome !== undefined)
    await endUnpaid(context, withoutBound(attempt), along);
  else void waitForSwap(context, await putAbandoned(context, attempt, along));
}

/**
 * Waits in the background until a swap can do no more, then forgets its attempt; or until the
 * client closes. Never rejects.
 */
async function waitForSwap(context: PaymentContext, attempt: Attempt): Promise<void> {
  const { signal } = context.closing;
  const { id } = attempt;
  const { awaitedSwaps } = context.recovery;
  if (awaitedSwaps.has(id)) return;
  awaitedSwaps.add(id);
  for (let wait = FIRST_WAIT_MS; !signal.aborted; wait = Math.min(wait * 2, LONGEST_WAIT_MS)) {
    const closed = await context.config.runtime.idle(wait, signal).then(
      () => false,
      () => true,
    );
    // A node or journal that does not answer decides nothing: it is asked again.
    if (closed || (await forgetIfOver(context, attempt).catch(() => false))) break;
  }
  awaitedSwaps.delete(id);
}

async function forgetIfOver(context: PaymentContext, attempt: Attempt): Promise<boolean> {
  const { swap } = attempt;
  if (swap === undefined) {
    await endUnpaid(context, attempt);
    return true;
  }
  const { decidedOutcome, forgetAccounts } = await swapEngine();
  const outcome = swap.outcome ?? (await decidedOutcome(context, attempt.at, swap));
  if (outcome === undefined) return false;
  await forgetAccounts(context, swap);
  await endDecided(context, attempt, outcome);
  return true;
}
