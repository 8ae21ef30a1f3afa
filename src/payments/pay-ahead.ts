import { isExactChangeError, ProtocolError } from '../errors.js';
import type { Emit } from '../events.js';
import { startDeadline, throwIfAborted } from '../internal/abort.js';
import { dropBody } from '../internal/drop-body.js';
import type { Call } from '../internal/request.js';
import type { OpenPayment } from '../journal/open-payment.js';
import { detectTerms } from '../protocols/protocol.js';
import type { PaymentRequired } from '../protocols/types.js';
import { receiptOf } from '../receipt.js';
import { newId, type PaymentContext } from './context.js';
import type { Rejected } from './execute/present.js';
import { presentOrResign, presentThen, type SignFor } from './execute/resign.js';
import { asPurchase, signFor, type CallOptions } from './pay.js';
import type { RefuseOffer } from './plan/choose.js';
import { forgetStableTerms, stableTermsOf } from './plan/stable-terms.js';
import { alreadySpent } from './reconcile/earlier-errors.js';
import { receiptOnceDecided } from './reconcile/payment-monitor.js';
import type { Buying } from './task.js';

export { noteTerms } from './plan/stable-terms.js';

/**
 * Pays a call with its first request, by the terms of an earlier call. Resolves to undefined if the
 * seller must be asked for terms first; nothing has left the wallet then.
 */
export async function payByTerms(
  context: PaymentContext,
  call: Call,
  options: CallOptions,
): Promise<Response | undefined> {
  const terms = stableTermsOf(context, call);
  if (terms === undefined) return undefined;
  // A body that is too large or too slow cannot be paid for, but the seller may ask for no payment.
  const isReplayable = await call.replayable().then(
    () => true,
    () => false,
  );
  // After an abort too, fetch gets the body, which it cancels without sending it.
  if (!isReplayable || call.signal?.aborted === true) return undefined;
  const sign = signFor(context);
  // Never swap ahead, even if another call takes the tokens first: the terms may have changed.
  const signAhead = signFor({ ...context, config: { ...context.config, autoSwap: false } });
  const response = await asPurchase(context, { call, terms }, options, async (buying) => {
    const first = await signAhead(terms, buying, onlyPaidAhead).catch((error: unknown) => {
      // Ask the seller first instead: by its present terms the call may cost less, or nothing.
      if (isExactChangeError(error) && error.funds === 'untouched' && !isDeclined(error))
        return undefined;
      throw error;
    });
    return first === undefined ? undefined : presentAhead(context, first, buying, sign);
  });
  // Ask the seller first the next time, because the call was free now or was refused.
  if (response?.ok !== true || receiptOf(response)?.settlement === undefined)
    forgetStableTerms(context, call);
  return response;
}

/** Whether a person or the wallet declined the payment: ask them only once a call. */
function isDeclined(error: unknown): boolean {
  return (
    isExactChangeError(error, 'approval_refused') || isExactChangeError(error, 'signing_failed')
  );
}

/**
 * Presents a payment that the seller has not asked for. If the answer is a 402, waits until the
 * chain shows that this payment can never land. Then pays by the terms of that 402.
 */
async function presentAhead(
  context: PaymentContext,
  first: OpenPayment,
  buying: Buying,
  sign: SignFor,
): Promise<Response> {
  const { call, emit } = buying;
  const { shown, next: terms } = await presentThen(context, first, buying, (rejected) =>
    termsOnceUnsettled(context, first, rejected, emit, call.signal),
  );
  if ('response' in shown) return shown.response;
  forgetStableTerms(context, call);
  if (first.attempt.state === 'settled') throw alreadySpent(first, shown.rejected.response);
  if (terms === undefined) throw shown.rejected;
  dropBody(shown.rejected.response);
  const next = { ...buying, id: newId(context) };
  return presentOrResign(context, await sign(terms, next), next, sign);
}

/**
 * Returns the terms of a 402 when the chain has shown that the payment can never land. Resolves to
 * undefined if the payment has landed, or if the chain does not decide in time.
 */
async function termsOnceUnsettled(
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
    await receiptOnceDecided(context, open, emit, deadline.signal);
    return open.attempt.state === 'unsettled' ? terms : undefined;
  } catch (error) {
    throwIfAborted(signal);
    if (deadline.passed || isExactChangeError(error)) return undefined;
    throw error;
  } finally {
    deadline.end();
  }
}

/** Refuses an offer that belongs to one call, because it has a memo or a blockhash. */
const onlyPaidAhead: RefuseOffer = ({ memo, recentBlockhash }) =>
  memo === undefined && recentBlockhash === undefined
    ? undefined
    : new ProtocolError(
        'unsupported_offer',
        'The offer cannot be paid ahead, so the seller is asked first.',
        { details: { reason: 'not to be paid ahead' } },
      );
