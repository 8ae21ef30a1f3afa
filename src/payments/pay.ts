import { amendError, isExactChangeError, type Moved } from '../errors.js';
import type { Emit } from '../events.js';
import { throwIfAborted, untilAborted } from '../internal/abort.js';
import type { Call } from '../internal/request.js';
import type { OpenPayment } from '../journal/open-payment.js';
import { announce } from '../journal/registry.js';
import type { Attempt } from '../journal/types.js';
import type { PaymentRequired } from '../protocols/types.js';
import { newId, type PaymentContext } from './context.js';
import { approvalFor } from './execute/approval.js';
import { firstReceipt } from './execute/attempt-receipt.js';
import { fundPayment, holdFor } from './execute/fund.js';
import { present } from './execute/present.js';
import { releaseClaims } from './execute/release-claim.js';
import { reservationFor } from './execute/reservation.js';
import { secondTryAfter } from './execute/resign.js';
import { signPayment } from './execute/sign-payment.js';
import { checkRequest } from './plan/check-request.js';
import { choose, spendOf, type Choice, type ChooseOptions } from './plan/choose.js';
import { fingerprintOf } from './plan/fingerprint.js';
import { resumeEarlierPayment, underKey } from './reconcile/earlier-payment.js';
import { resumeOnce } from './reconcile/resume.js';

/** What a caller says of one call besides the request itself. */
export interface CallOptions {
  readonly idempotencyKey?: string | undefined;
  /** The request may reach the seller twice. */
  readonly repeatable?: boolean | undefined;
}

/** One payment that is being made. */
export interface Task {
  readonly id: string;
  /** What it is for. */
  readonly place: Pick<Attempt, 'url' | 'method' | 'fingerprint' | 'idempotencyKey' | 'resigns'>;
  readonly signal: AbortSignal | undefined;
  readonly emit: Emit;
  /** Grows by what lands on the way, also if the payment fails. */
  readonly moved: Moved[];
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
}

/** Pays for a call that was answered with terms, and returns the answer to the paid request. */
export async function payForCall(
  context: PaymentContext,
  call: Call,
  unpaid: Response,
  terms: PaymentRequired,
  { idempotencyKey, repeatable = false }: CallOptions,
): Promise<Response> {
  const startedAt = context.config.runtime.now();
  const id = newId(context);
  const emit = context.events.emitter(id);
  const moved: Moved[] = [];
  try {
    // Where a redirect led, the terms are that place's, and so is the paid request.
    const url = unpaid.url === '' ? call.url : unpaid.url;
    checkRequest(context.config.policy, call, unpaid, url);
    emit('payment.required', { url, method: call.method, offers: terms.accepts.length });
    const fingerprint = fingerprintOf(call, await call.replayable());
    const place = {
      url,
      method: call.method,
      fingerprint,
      ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    };
    const response = await underKey(context, idempotencyKey, async () => {
      await resumeOnce(context);
      // Check for an earlier payment first: the seller controls these terms.
      const earlier = await resumeEarlierPayment(context, {
        fingerprint,
        idempotencyKey,
        repeatable,
        call,
        emit,
        startedAt,
      });
      if (earlier !== undefined) return earlier;
      const task: Task = { id, place, signal: call.signal, emit, moved, startedAt };
      const first = await chooseAndSign(context, terms, task);
      return presentOrResign(
        context,
        first,
        { call, url, repeatable, moved, emit, startedAt },
        task,
      );
    });
    // The first answer is not read any more; unread, it would keep its connection.
    unpaid.body?.cancel().catch(() => undefined);
    return response;
  } catch (error) {
    if (!isExactChangeError(error)) throw error;
    const amended = amendError(error, { moved, response: unpaid });
    if (amended.name !== 'SettlementError')
      emit('payment.failed', {
        code: amended.code,
        funds: amended.funds,
        message: amended.message,
      });
    throw amended;
  }
}

/** Chooses the offer to pay, and signs the payment for it. */
async function chooseAndSign(
  context: PaymentContext,
  terms: PaymentRequired,
  task: Task,
  refuse?: ChooseOptions['refuse'],
): Promise<OpenPayment> {
  const onCounted = announce(context.wallet);
  try {
    return await preparePayment(
      context,
      await chooseOnce(context, terms, task, refuse),
      task,
      onCounted,
    );
  } finally {
    onCounted();
  }
}

/**
 * Reserves the budget, gets the tokens, asks for approval, signs, and writes the signed payment to
 * the journal. Nothing has left when it returns, or it has failed and is rolled back. The attempt
 * stays claimed by this call.
 *
 * @param onCounted - Called once it is known what the payment needs of the wallet.
 */
export async function preparePayment(
  context: PaymentContext,
  choice: Choice,
  task: Task,
  onCounted: () => void = () => undefined,
): Promise<OpenPayment> {
  const { runtime, network, signer } = context.config;
  const { id, place, signal, emit, startedAt } = task;
  const { protocol, terms, offer, facts, refused } = choice;
  // Before anything is swapped or signed for it.
  protocol.checkHeader(terms, offer);
  const { mint, payTo } = offer;
  emit('payment.chosen', {
    url: place.url,
    network,
    mint,
    amount: offer.amount.toString(),
    decimals: facts.decimals,
    payTo,
    refused,
  });
  const reservation = reservationFor(context, {
    ...{ id, wallet: signer.address, network, state: 'reserved', delivered: false },
    ...place,
    at: runtime.now(),
    ...spendOf(choice, new URL(place.url).host),
  });
  try {
    const taken = await reservation.reserve(holdFor(context, choice));
    const approve = approvalFor(
      context,
      { url: place.url, method: place.method, status: 402 },
      choice,
      signal,
    );
    const { swap, before } = await fundPayment(context, choice, {
      ...task,
      reservation,
      approve,
      onCounted,
      taken,
    });
    const funded = runtime.now();
    throwIfAborted(signal);
    await approve(undefined);
    const payment = await signPayment(context, choice, place, before, signal);
    throwIfAborted(signal);
    const { payerSignature, lastValidBlockHeight } = payment;
    const timings = { funded: funded - startedAt, signed: runtime.now() - startedAt };
    const open = await reservation.sign(
      payment,
      firstReceipt(reservation.attempt, facts.decimals, payerSignature, swap, timings),
    );
    emit('payment.signed', { payerSignature, lastValidBlockHeight });
    return open;
  } catch (error) {
    await reservation.rollBack(facts.source, error);
    throw error;
  }
}

/**
 * Presents a payment; and one more, if the seller refuses the first and the caller's policy allows
 * a second.
 */
async function presentOrResign(
  context: PaymentContext,
  first: OpenPayment,
  presentation: Parameters<typeof present>[2],
  task: Task,
): Promise<Response> {
  const { call } = presentation;
  const mayResign = context.config.policy.resign > 0;
  const presenting = present(context, first, { ...presentation, keepsClaim: mayResign });
  const signing = presenting.then(async (shown) => {
    const again =
      'response' in shown ? undefined : await secondTryAfter(context, shown, first, call.signal);
    if (again === undefined) return undefined;
    const place = { ...task.place, resigns: first.attempt.id };
    // What is wrong with the second try says less than that the first was refused.
    return chooseAndSign(
      context,
      again.terms,
      { ...task, id: newId(context), place },
      again.refuse,
    ).catch(() => {
      throwIfAborted(call.signal);
      return undefined;
    });
  });
  // Until both are on record, no other call presents the first again.
  const letGo = () =>
    mayResign ? releaseClaims(context, first, [first.attempt.id], call.signal) : Promise.resolve();
  const second = await signing.finally(letGo);
  const shown = await presenting;
  if ('response' in shown) return shown.response;
  if (second === undefined) throw shown.rejected;
  const again = await present(context, second, presentation);
  if ('response' in again) return again.response;
  // Nothing is over while the first may still land, or has.
  throw first.attempt.state !== 'unsettled' && again.rejected.funds === 'untouched'
    ? shown.rejected
    : again.rejected;
}

/**
 * One round trip when cold: the node's network is checked, and the blockhash of the payment
 * fetched, beside what choosing reads.
 */
async function chooseOnce(
  context: PaymentContext,
  terms: PaymentRequired,
  { place, signal }: Task,
  refuse: ChooseOptions['refuse'],
): Promise<Choice> {
  context.blockhashes.recent({ signal }).catch(() => undefined);
  const ready = untilAborted(context.ready(), signal);
  const { host } = new URL(place.url);
  const choosing = choose(context, terms, {
    host,
    signal,
    quote: false,
    ...(refuse === undefined ? {} : { refuse }),
  });
  const [network, choice] = await Promise.allSettled([ready, choosing]);
  throwIfAborted(signal);
  // What a node of another network says about an offer means nothing.
  if (network.status === 'rejected') throw network.reason;
  if (choice.status === 'rejected') throw choice.reason;
  return choice.value;
}
