import { isPaid, type SignedAttempt } from '../journal/open-payment.js';
import type { Attempt } from '../journal/types.js';
import { ownerOf, type PaymentContext } from '../payments/context.js';
import { spendOf, type Choice } from '../payments/plan/choose.js';
import { decidePayment, openPaymentOf } from '../payments/reconcile/payment-monitor.js';
import { inPaymentTime, sourceOf } from '../payments/reconcile/fate.js';
import { isForgottenPayment } from '../payments/reconcile/forgotten.js';
import { attemptsInState } from '../payments/reconcile/resume-once.js';
import { capsFor, takenOf, type Spend } from '../policy/caps.js';
import { assertPayable } from '../policy/refusals.js';
import { overBudget } from '../policy/over-budget.js';
import type { PaymentResult } from '../transport.js';
import { plan, planner } from './auto-pay.js';
import { asOf, slotOfSwaps } from './swap-proceeds.js';
import { findByKey, findFunded, hasSwap, keyTaken, paysSame, type SwapAttempt } from './records.js';
import { swapAmountOf } from './request.js';
import { answerIfOpen, isOffered, resultSoFar, type Step } from './step.js';

/**
 * Returns the next transaction to sign. For a known key, returns the result so far.
 *
 * @param landedAt - As {@link plannerOf} takes it.
 */
export async function planStep(step: Step, landedAt?: number): Promise<PaymentResult> {
  const { session, purchase } = step;
  const bearer = await findByKey(session.context, purchase);
  if (bearer !== undefined && !isOffered(step, bearer)) throw keyTaken();
  if (bearer !== undefined && isPaid(bearer)) return resultSoFar(step, bearer);
  if (bearer !== undefined && hasSwap(bearer)) {
    const answer = await answerIfOpen(step, bearer);
    if (answer !== undefined) return answer;
  }
  return planOn(step, bearer, landedAt);
}

/**
 * Returns a context that knows of the wallet's tokens only what payments in flight leave. It reads
 * them with all that the wallet's swaps brought.
 *
 * @param landedAt - Slot of a landed swap that is not on record; 0 without such a swap.
 */
export async function plannerOf(
  { deps, session, request, signal }: Step,
  autoSwap: boolean,
  landedAt = 0,
): Promise<PaymentContext> {
  const context = planner(deps, request, autoSwap);
  await context.ready();
  for (const { payment, id, amount } of await inFlight(session.context, signal))
    await context.ledger.hold(payment.source, id, BigInt(amount));
  return asOf(context, Math.max(landedAt, await slotOfSwaps(session.context, signal)));
}

/**
 * Plans with the tokens and the budget that the wallet's payments in flight leave.
 *
 * @param bearer - The attempt of the key. The key takes no payment but that of its attempt.
 * @param landedAt - As {@link plannerOf} takes it.
 */
async function planOn(
  step: Step,
  bearer: Attempt | undefined,
  landedAt: number | undefined,
): Promise<PaymentResult> {
  const { session, request, terms, purchase, signal } = step;
  const context = await plannerOf(step, request.autoSwap ?? false, landedAt);
  const { policy } = session.context.config;
  let funded: SwapAttempt | undefined;
  const check = async (choice: Choice) => {
    const spend = spendOf(choice, purchase.host);
    funded = await findFunded(session.context, purchase, spend);
    // The cost of its swap is part of the attempt, and is reserved already.
    if (funded !== undefined) return assertPayable(policy, funded);
    return checkBudget(session.context, spend);
  };
  const refuse = (spend: Spend) =>
    bearer === undefined || paysSame(bearer, spend) ? undefined : keyTaken();
  const result = await plan(context, terms, {
    ...{ refuse, host: purchase.host, purpose: purchase, policy, signal, check },
    swapAmount: swapAmountOf(request),
  });
  return funded === undefined ? result : { ...result, id: funded.id };
}

/**
 * Returns the payments that may still land. It looks for each of them: a payment that landed has
 * already left the balance, and its subscription may report that late.
 */
async function inFlight(
  context: PaymentContext,
  signal: AbortSignal = context.closing.signal,
): Promise<SignedAttempt[]> {
  const signed = (await attemptsInState(context, 'signed')).filter(isPaid);
  // Without fresh histories, a payment that just landed would count twice and cause a needless
  // swap.
  for (const { payment } of signed) context.histories.outdate(sourceOf(payment));
  const isOver = async (attempt: SignedAttempt, within: AbortSignal) =>
    (await decidePayment(
      context,
      openPaymentOf(context, attempt),
      context.events.emitter(attempt.id),
      within,
    )) || isForgottenPayment(context, attempt);
  const over = await Promise.all(
    signed.map((attempt) =>
      inPaymentTime(context, signal, (within) => isOver(attempt, within)).catch(() => false),
    ),
  );
  return signed.filter((_, index) => over[index] !== true);
}

/** Checks the budget before anything is signed. The signed transaction reserves it later. */
async function checkBudget(context: PaymentContext, spend: Spend): Promise<void> {
  const caps = capsFor(context.config.policy, spend);
  const used = await context.journal.used(ownerOf(context), caps, context.config.runtime.now());
  caps.forEach((cap, index) => {
    const [spent = 0n, taken] = [used[index], takenOf(cap, spend)];
    if (taken > 0n && spent + taken > cap.limit) throw overBudget(cap, spent, taken);
  });
}
