import { isExactChangeError } from '../../errors.js';
import { amendError } from '../../errors/amend.js';
import { isPaid, type OpenPayment } from '../../journal/open-payment.js';
import type { Along, Attempt } from '../../journal/types.js';
import type { FreedReceipt, Receipt } from '../../receipt.js';
import type { PaymentContext } from '../context.js';
import { swapEngine } from '../on-demand.js';
import { orphanedAttempts } from './resume-once.js';
import { endDecided, endUnpaid, freeAttempt, releaseOrphans } from './orphaned-attempts.js';
import { inPaymentTime } from './fate.js';
import { isForgottenPayment } from './forgotten.js';
import { decidePayment, isDecided, monitorPayment, openPaymentOf } from './payment-monitor.js';
import { noteFreed, noteResumed, takeChanges } from './resumed-changes.js';

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;

/** Takes up the attempts that earlier processes left, and watches them in the background. */
export async function takeUp(context: PaymentContext): Promise<void> {
  const { open, abandoned } = await collectUnfinished(context);
  for (const payment of open)
    void monitorPayment(context, payment, context.events.emitter(payment.attempt.id));
  for (const attempt of abandoned) void waitForSwap(context, attempt);
}

/**
 * Returns whether there were orphans. Calls that arrive during a look share the next look: each
 * look reads all reservations, and a cap may refuse most of a thousand concurrent calls.
 */
export function freeOrphanedBudget(context: PaymentContext): Promise<boolean> {
  const { looks } = context.resumed;
  return (looks.next ??= lookAfter(context, looks.running));
}

async function lookAfter(
  context: PaymentContext,
  running: Promise<boolean> | undefined,
): Promise<boolean> {
  // The running look may free budget after a cap refused the calls that wait here.
  const before = await running?.catch(() => false);
  const { looks } = context.resumed;
  const look = releaseOrphans(context).then(({ freed, abandoned }) => {
    for (const attempt of abandoned) void waitForSwap(context, attempt);
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
 * Takes up the attempts that earlier processes left. Asks the chain about each signed payment, and
 * frees each reservation that was never signed. Monitors undecided payments in the background.
 *
 * Returns the receipts of taken-up attempts that were decided or freed since the last call. Throws
 * only if the journal fails, or the question about every payment: then what is open may still land.
 */
export function resume(context: PaymentContext): Promise<(Receipt | FreedReceipt)[]> {
  return reconcile(context).catch((error: unknown) => {
    if (!isExactChangeError(error)) throw error;
    const retry = error.retry === 'never' ? 'never' : 'same';
    throw amendError(error, { funds: 'uncertain', retry });
  });
}

async function reconcile(context: PaymentContext): Promise<(Receipt | FreedReceipt)[]> {
  const failures: unknown[] = [];
  let answers = 0;
  const unfinished = await collectUnfinished(context);
  const decide = async (open: OpenPayment) => {
    const emit = context.events.emitter(open.attempt.id);
    try {
      const isOver = await inPaymentTime(context, context.closing.signal, (within) =>
        decidePayment(context, open, emit, within),
      );
      if (!isOver) void monitorPayment(context, open, emit);
      answers += 1;
    } catch (error) {
      // A failure for one payment must not delay the other payments.
      failures.push(error);
      void monitorPayment(context, open, emit);
    }
  };
  // In parallel, so that the sellers' claims share a status request.
  await Promise.all(unfinished.open.map(decide));
  for (const attempt of unfinished.abandoned)
    if (!(await endIfDecided(context, attempt).catch(() => false)))
      void waitForSwap(context, attempt);
  if (answers === 0 && failures.length > 0) throw failures[0];
  return takeChanges(context);
}

async function collectUnfinished(context: PaymentContext) {
  const [signed, abandoned] = await Promise.all([
    orphanedAttempts(context, 'signed'),
    orphanedAttempts(context, 'abandoned'),
  ]);
  const open: OpenPayment[] = [];
  // All at once: calls wait for this, and a node that does not answer must cost them one timeout.
  await Promise.all(
    signed.filter(isPaid).map(async (attempt) => {
      open.push(await heldPaymentOf(context, attempt));
      noteResumed(context, attempt);
    }),
  );
  for (const attempt of abandoned) {
    const isNew = !context.resumed.open.has(attempt.id);
    noteResumed(context, attempt);
    // An earlier run freed it, and this run's caller must know too that its swap may still land.
    if (isNew) noteFreed(context, attempt, 'abandoned');
  }
  const freed = await releaseOrphans(context);
  return { open, abandoned: [...abandoned, ...freed.abandoned] };
}

/** Returns the record of an open payment, as {@link openPaymentOf} does, and holds its tokens. */
export async function heldPaymentOf(
  context: PaymentContext,
  attempt: OpenPayment['attempt'],
): Promise<OpenPayment> {
  const { ledger } = context;
  const { id, amount, payment } = attempt;
  if (await isForgottenPayment(context, attempt)) {
    await ledger.release(payment.source, id);
    await ledger.forget(payment.source);
    return openPaymentOf(context, attempt);
  }
  await ledger.hold(payment.source, id, BigInt(amount));
  const open = openPaymentOf(context, attempt);
  // A monitor may have closed the payment just before, and then nothing else ends the new hold.
  await open.lastWrite;
  if (isDecided(open)) await ledger.release(payment.source, id);
  return open;
}

/** Frees an attempt that signed no payment, and waits in the background for its swap, if any. */
export async function giveUp(
  context: PaymentContext,
  attempt: Attempt,
  along: Along,
): Promise<void> {
  const abandoned = await freeAttempt(context, attempt, along);
  if (abandoned !== undefined) void waitForSwap(context, abandoned);
}

/** Waits until a swap is decided, then ends its attempt. Never rejects. */
async function waitForSwap(context: PaymentContext, attempt: Attempt): Promise<void> {
  const { id } = attempt;
  const { awaitedSwaps } = context.resumed;
  if (awaitedSwaps.has(id)) return;
  awaitedSwaps.add(id);
  // The swap was signed or asked about just now, so wait before the first look.
  const { config, closing } = context;
  await config.runtime.idle(FIRST_WAIT_MS, closing.signal).catch(() => undefined);
  await askUntilClosed(context, async () => (await endIfDecided(context, attempt)) || undefined);
  awaitedSwaps.delete(id);
}

/**
 * Asks again in growing waits until there is an answer; a failure is none. Returns undefined if the
 * context closes first. Its timers do not keep the process alive.
 */
export async function askUntilClosed<T>(
  { config, closing }: PaymentContext,
  ask: () => Promise<T | undefined>,
): Promise<T | undefined> {
  const { signal } = closing;
  for (let wait = FIRST_WAIT_MS; !signal.aborted; wait = Math.min(wait * 2, LONGEST_WAIT_MS)) {
    const answer = await ask().catch(() => undefined);
    if (answer !== undefined) return answer;
    await config.runtime.idle(wait, signal).catch(() => undefined);
  }
  return undefined;
}

/** Ends an attempt unless its swap may still land. Returns whether it ended. */
export async function endIfDecided(context: PaymentContext, attempt: Attempt): Promise<boolean> {
  const { swap } = attempt;
  if (swap === undefined) {
    await endUnpaid(context, attempt);
    return true;
  }
  const { decidedOutcome, readAfter } = await swapEngine();
  const outcome = swap.outcome ?? (await decidedOutcome(context, attempt.at, swap));
  if (outcome === undefined) return false;
  await readAfter(context, swap);
  await endDecided(context, attempt, outcome);
  return true;
}
