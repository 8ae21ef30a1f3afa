import { isExactChangeError, ProtocolError } from '../errors.js';
import type { Emit } from '../events.js';
import { startDeadline, throwIfAborted } from '../internal/abort.js';
import type { Call } from '../internal/request.js';
import type { OpenPayment } from '../journal/open-payment.js';
import { detectTerms } from '../protocols/protocol.js';
import type { PaymentRequired } from '../protocols/types.js';
import { receiptOf } from '../receipt.js';
import { newId, type PaymentContext } from './context.js';
import { present, type Rejected } from './execute/present.js';
import { releaseClaims } from './execute/release-claim.js';
import { presentOrResign, type SignFor } from './execute/resign.js';
import { asPurchase, signFor, type CallOptions } from './pay.js';
import type { ChooseOptions } from './plan/choose.js';
import { forgetStableTerms } from './plan/stable-terms.js';
import { spent } from './reconcile/earlier-errors.js';
import { decided } from './reconcile/payment-monitor.js';
import type { Buying } from './task.js';

/**
 * Pays a call with its first request, by terms that are known from one before. Undefined if it has
 * to be asked what it costs; nothing has left then.
 */
export async function payByTerms(
  context: PaymentContext,
  call: Call,
  terms: PaymentRequired,
  options: CallOptions,
): Promise<Response | undefined> {
  const { url } = call;
  // A body that is too large, or does not end in time, may be asked for no payment at all.
  const isReplayable = await call.replayable().then(
    () => true,
    () => false,
  );
  throwIfAborted(call.signal);
  if (!isReplayable) return undefined;
  const sign = signFor(context);
  // No swap is made for terms that may have changed, also if another call takes the tokens first.
  const signAhead = signFor({ ...context, config: { ...context.config, autoSwap: false } });
  const response = await asPurchase(context, { call, url, terms }, options, async (buying) => {
    const first = await signAhead(terms, buying.task, onlyPaidAhead).catch((error: unknown) => {
      // Asked for terms of today, it may cost less, or nothing.
      if (isExactChangeError(error) && error.funds === 'untouched' && !isNo(error))
        return undefined;
      throw error;
    });
    return first === undefined ? undefined : presentAhead(context, first, buying, sign);
  });
  // What is free now, or refused, is asked for first the next time.
  if (response?.ok !== true || receiptOf(response)?.settlement === undefined)
    forgetStableTerms(context, call);
  return response;
}

/** Whether a person or a wallet was asked, and gave no payment: once a call is enough. */
function isNo(error: unknown): boolean {
  return (
    isExactChangeError(error, 'approval_refused') || isExactChangeError(error, 'signing_failed')
  );
}

/**
 * Presents a payment that was not asked for. A 402 to it means what an unpaid call would have been
 * told, once the chain has shown that the payment can never land.
 */
async function presentAhead(
  context: PaymentContext,
  first: OpenPayment,
  buying: Buying,
  sign: SignFor,
): Promise<Response> {
  const { call, emit } = buying.presentation;
  const presenting = present(context, first, { ...buying.presentation, keepsClaim: true });
  const undoing = presenting.then((shown) =>
    'response' in shown ? undefined : termsOnceUndone(context, first, shown, emit, call.signal),
  );
  let terms: Awaited<typeof undoing>;
  try {
    terms = await undoing;
  } finally {
    await releaseClaims(context, first, [first.attempt.id], call.signal);
  }
  const shown = await presenting;
  if ('response' in shown) return shown.response;
  forgetStableTerms(context, call);
  if (first.attempt.state === 'settled') throw spent(first.attempt, shown.rejected.response);
  if (terms === undefined) throw shown.rejected;
  shown.rejected.response?.body?.cancel().catch(() => undefined);
  const task = { ...buying.task, id: newId(context) };
  return presentOrResign(context, await sign(terms, task), { ...buying, task }, sign);
}

/**
 * The terms of a 402 to a payment that the seller had not asked for, once the chain has shown that
 * the payment can never land; undefined if it has landed, or nothing shows in time what became of
 * it.
 */
async function termsOnceUndone(
  context: PaymentContext,
  open: OpenPayment,
  { rejected: { response } }: Rejected,
  emit: Emit,
  signal: AbortSignal | undefined,
): Promise<PaymentRequired | undefined> {
  const { protocols, config } = context;
  if (response === undefined) return undefined;
  const deadline = startDeadline(config.timeouts.payment, signal);
  try {
    const terms = await detectTerms(protocols, response, {
      timeoutMs: config.timeouts.terms,
      signal,
    });
    await decided(context, open, emit, deadline.signal);
    return open.attempt.state === 'unsettled' ? terms : undefined;
  } catch (error) {
    throwIfAborted(signal);
    if (deadline.passed || isExactChangeError(error)) return undefined;
    throw error;
  } finally {
    deadline.end();
  }
}

/** Refuses an offer that was made for one call alone. */
const onlyPaidAhead: NonNullable<ChooseOptions['refuse']> = ({ memo, recentBlockhash }) =>
  memo === undefined && recentBlockhash === undefined
    ? undefined
    : new ProtocolError(
        'unsupported_offer',
        'The offer cannot be paid ahead, so the seller is asked first.',
        { details: { reason: 'not to be paid ahead' } },
      );
