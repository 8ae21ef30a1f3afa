import { isExactChangeError, type ExactChangeError, type Moved } from '../errors.js';
import { amendError } from '../errors/amend.js';
import { parseBoolean } from '../config/parse-options.js';
import { throwIfAborted, untilAborted } from '../internal/abort.js';
import { dropBody } from '../internal/drop-body.js';
import { isCrossOrigin } from '../internal/origin.js';
import type { Call } from '../internal/request.js';
import type { OpenPayment } from '../journal/open-payment.js';
import type { Attempt } from '../journal/types.js';
import { announceCall } from '../journal/registry.js';
import type { PaymentRequired } from '../protocols/types.js';
import { lazyPart } from '../internal/load-once.js';
import { newId, type PaymentContext } from './context.js';
import type { Approve } from './execute/ask-approval.js';
import { firstReceipt } from './attempt-receipt.js';
import { fundPayment, holdFor } from './execute/fund.js';
import { bodyClaim, releaseClaims, untilGivenUp } from './execute/release-claim.js';
import { reservationFor } from './execute/reservation.js';
import { presentAlone } from './execute/present.js';
import type { SignFor } from './execute/resign.js';
import { signPayment } from './execute/sign-payment.js';
import { checkRequest } from './plan/check-request.js';
import { choose, spendOf, type Choice, type RefuseOffer } from './plan/choose.js';
import { makeRoom } from './memory.js';
import { fingerprintOf, resumeEarlierPayment, underKey } from './reconcile/find-earlier.js';
import { monitorPayment } from './reconcile/payment-monitor.js';
import type { Buying, Task } from './task.js';
import { reasons, swapEngine } from './on-demand.js';

const resigning = /* @__PURE__ */ lazyPart(() => import('./execute/resign.js'));
const payingAhead = /* @__PURE__ */ lazyPart(() => import('./pay-ahead.js'));

/** Options of one call, besides its request. */
export interface CallOptions {
  readonly idempotencyKey?: string | undefined;
  /** The caller allows that the request reaches the seller twice. */
  readonly repeatable?: boolean | undefined;
}

/**
 * Pays for a call that the seller answered with a 402. Returns the answer to the paid request.
 *
 * @param terms - Terms of the 402, or the error of reading them.
 */
export async function payForCall(
  context: PaymentContext,
  call: Call,
  unpaid: Response,
  terms: PaymentRequired | ExactChangeError,
  options: CallOptions,
): Promise<Response> {
  const { config, memory } = context;
  const at = config.runtime.now();
  // Without `presign` no terms are kept. Do not wait for the code, which may never arrive.
  const ahead = config.presign.length > 0 ? payingAhead().catch(() => undefined) : undefined;
  const paid = await asPurchase(context, { call, terms, unpaid }, options, async (buying) => {
    if (isExactChangeError(terms)) throw terms;
    const sign = signFor(context, async () => {
      if (isCrossOrigin(unpaid))
        await (await reasons(call.signal)).checkCors(context, call, unpaid, terms);
    });
    // Load this before signing: a file that never arrives must not strand a signed payment.
    const resign = config.policy.resign > 0 ? await resigning(call.signal) : undefined;
    const first = await sign(terms, buying);
    return resign === undefined
      ? presentAlone(context, first, buying)
      : resign.presentOrResign(context, first, buying, sign);
  });
  if (!isExactChangeError(terms)) {
    makeRoom(memory.charging);
    memory.charging.add(new URL(call.url).origin);
    void ahead?.then((part) => part?.noteTerms(context, call, { terms, unpaid, at, paid }));
  }
  // The paid request goes straight to the redirect's target, so its response does not tell of it.
  // A response that a caller's fetch froze stays as it is.
  if (unpaid.redirected) Reflect.defineProperty(paid, 'redirected', { value: true });
  dropBody(unpaid);
  return paid;
}

/**
 * Pays a call with its first request, by the terms of an earlier call. Returns undefined at once if
 * no terms are kept, so that the unpaid request leaves without delay. Resolves to undefined if the
 * seller must be asked for terms first. Nothing has left the wallet in either case.
 */
export function payAhead(
  context: PaymentContext,
  call: Call,
  options: CallOptions,
): Promise<Response | undefined> | undefined {
  const { memory, blockhashes } = context;
  // Fetch a blockhash for the payment now, because an origin that charged mostly charges again.
  if (memory.charging.has(new URL(call.url).origin)) blockhashes.recent().catch(() => undefined);
  if (memory.stableTerms.size === 0) return undefined;
  return payingAhead().then(
    ({ payByTerms }) => payByTerms(context, call, options),
    // The seller is asked first if the code cannot be loaded.
    () => undefined,
  );
}

interface PayableCall {
  readonly call: Call;
  readonly terms: PaymentRequired | ExactChangeError;
  /** The 402 that brought the terms; undefined if the call is paid ahead. */
  readonly unpaid?: Response;
}

/**
 * Makes one purchase. Finishes an earlier payment for the same call first. Each error says what
 * became of the money.
 */
export async function asPurchase<T extends Response | undefined>(
  context: PaymentContext,
  { call, terms, unpaid }: PayableCall,
  { idempotencyKey, repeatable = false }: CallOptions,
  buy: (buying: Buying) => Promise<T>,
): Promise<T | Response> {
  // After a redirect, the terms belong to the last URL, so the paid request goes there. No request
  // shows its fragment.
  const url = (unpaid?.url || call.url).replace(/#.*/s, '');
  const startedAt = context.config.runtime.now();
  const id = newId(context);
  const emit = context.events.emitter(id);
  const moved: Moved[] = [];
  // Announce the call before its first wait, so that a swap for several calls can cover it too.
  const onCounted = announceCall(context.wallet);
  try {
    const turn = context.nextTurn();
    if (turn !== undefined) await untilAborted(turn, call.signal);
    if (!isExactChangeError(terms))
      emit('payment.required', { url, method: call.method, offers: terms.accepts.length });
    parseBoolean('repeatable', repeatable);
    const fingerprint = fingerprintOf(call, await call.replayable());
    const place = {
      url,
      method: call.method,
      fingerprint,
      ...(idempotencyKey && { idempotencyKey }),
    };
    return await underKey(context, idempotencyKey, call.signal, async () => {
      const { signal } = call;
      const buying = { id, place, call, signal, repeatable, emit, moved, startedAt, onCounted };
      // Check for an earlier payment first: the seller controls these terms and their URL.
      const earlier = await resumeEarlierPayment(context, buying);
      if (earlier !== undefined) return earlier;
      await checkRequest(context.config.policy, call, unpaid, url);
      return buy(buying);
    });
  } catch (error) {
    throw afterPurchase(error, { emit, moved }, unpaid);
  } finally {
    onCounted();
  }
}

export function afterPurchase(
  error: unknown,
  { emit, moved }: Pick<Task, 'emit' | 'moved'>,
  unpaid?: Response,
): unknown {
  if (!isExactChangeError(error)) return error;
  const amended = amendError(error, {
    moved,
    ...(unpaid && { response: unpaid }),
  });
  const { name, code, funds, message } = amended;
  if (name !== 'SettlementError') emit('payment.failed', { code, funds, message });
  return amended;
}

/**
 * Returns a function that chooses the offer to pay, and signs the payment for it.
 *
 * @param checkSendable - Rejects if the caller could not send a payment header.
 */
export function signFor(context: PaymentContext, checkSendable?: () => Promise<void>): SignFor {
  return async (terms, task, refuse) => {
    const endAnnouncement = announceCall(context.wallet);
    const onCounted = () => {
      endAnnouncement();
      task.onCounted();
    };
    try {
      const [choice] = await Promise.all([
        chooseOnce(context, terms, task, refuse),
        checkSendable?.(),
      ]);
      return await preparePayment(context, choice, { ...task, onCounted });
    } finally {
      onCounted();
    }
  };
}

/**
 * Prepares a payment, as {@link prepare} does, until the caller gives up. What is under way then
 * ends by itself.
 */
function preparePayment(context: PaymentContext, choice: Choice, task: Task): Promise<OpenPayment> {
  const { id, signal, emit } = task;
  return untilGivenUp(context, prepare(context, choice, task), signal, (open) => {
    // The payment is on record: the next equal call, perhaps of another process, takes it up.
    open.isShared = true;
    void monitorPayment(context, open, emit);
    return releaseClaims(context, open, [id, bodyClaim(id)]);
  });
}

/**
 * Reserves the budget, gets the tokens, asks for approval, signs, and writes the signed payment to
 * the journal. The payment has not left this process when it returns. A failure rolls the
 * reservation back. The attempt stays claimed by this call.
 */
async function prepare(context: PaymentContext, choice: Choice, task: Task): Promise<OpenPayment> {
  const { runtime, network, signer, policy } = context.config;
  const { id, place, signal, emit, startedAt } = task;
  const { protocol, terms, offer, facts, refused } = choice;
  // Check before swapping or signing, because a header that is too large cannot be presented.
  protocol.checkHeader(terms, offer);
  const { mint, payTo } = offer;
  emit('payment.chosen', {
    url: place.url,
    network,
    mint,
    amount: offer.amount.toString(),
    ...{ decimals: facts.decimals, payTo },
    // Copies, because a listener must not change what an approver is shown.
    refused: refused.map((refusal) => ({ ...refusal })),
  });
  const reserved: Attempt = {
    ...{ id, wallet: signer.address, network, state: 'reserved', delivered: false },
    ...place,
    at: runtime.now(),
    ...spendOf(choice, new URL(place.url).host),
  };
  const reservation = reservationFor(context, reserved, signal);
  try {
    const hold = holdFor(context, choice);
    const reserve = () => reservation.reserve(hold);
    const taken =
      policy.topUp === undefined
        ? await reserve()
        : await (await swapEngine(signal)).onceToppedUp(context, reserve, signal);
    const approve: Approve =
      policy.approve === undefined
        ? () => Promise.resolve(false)
        : (await swapEngine(signal)).approvalOf(context, choice, place, signal);
    const funding = { ...task, reservation, approve, taken };
    const { swap, before } = await fundPayment(context, choice, funding);
    const funded = runtime.now();
    throwIfAborted(signal);
    await approve(undefined);
    // Code may be loaded for the signer, and a file may never arrive.
    const signing = signPayment(context, choice, place, before, signal);
    const { payment, message } = await untilAborted(signing, signal);
    throwIfAborted(signal);
    const { payerSignature, lastValidBlockHeight } = payment;
    const timings = { funded: funded - startedAt, signed: runtime.now() - startedAt };
    const open = await reservation.sign(
      payment,
      firstReceipt(reservation.attempt, facts.decimals, payerSignature, swap, timings),
    );
    emit('payment.signed', { payerSignature, lastValidBlockHeight });
    return { ...open, message };
  } catch (error) {
    await reservation.rollBack(facts.source, error);
    throw error;
  }
}

/**
 * Chooses the offer to pay. Checks the node's network and fetches a blockhash at the same time: a
 * cold start then costs one round trip.
 */
async function chooseOnce(
  context: PaymentContext,
  terms: PaymentRequired,
  { place, signal }: Task,
  refuse: RefuseOffer | undefined,
): Promise<Choice> {
  context.blockhashes.recent({ signal }).catch(() => undefined);
  const ready = context.ready(signal);
  const { host } = new URL(place.url);
  const choosing = choose(context, terms, { host, signal, quote: false, refuse });
  const [network, choice] = await Promise.allSettled([ready, choosing]);
  throwIfAborted(signal);
  // Throw this error first, because facts from a node of another network mean nothing.
  if (network.status === 'rejected') throw network.reason;
  if (choice.status === 'rejected') throw choice.reason;
  return choice.value;
}
