import { isExactChangeError, PolicyError } from '../../errors.js';
import { amendError } from '../../errors/amend.js';
import { follow, throwIfAborted } from '../../internal/abort.js';
import { dropBody } from '../../internal/drop-body.js';
import type { OpenPayment } from '../../journal/open-payment.js';
import type { Attempt } from '../../journal/types.js';
import { detectTerms } from '../../protocols/protocol.js';
import type { PaymentRequired } from '../../protocols/types.js';
import { newId, type PaymentContext } from '../context.js';
import type { RefuseOffer } from '../plan/choose.js';
import { monitorPayment, receiptOnceDecided } from '../reconcile/payment-monitor.js';
import type { Buying, Task } from '../task.js';
import { type Delivered, movedByPayment, present, presentAlone, type Rejected } from './present.js';
import { bodyClaim, releaseClaims } from './release-claim.js';

export type SignFor = (
  terms: PaymentRequired,
  task: Task,
  refuse?: RefuseOffer,
) => Promise<OpenPayment>;

/** Presents a payment, and a second payment if the seller refuses it and the policy allows that. */
export async function presentOrResign(
  context: PaymentContext,
  first: OpenPayment,
  buying: Buying,
  sign: SignFor,
): Promise<Response> {
  if (context.config.policy.resign === 0) return presentAlone(context, first, buying);
  const { call, emit, moved } = buying;
  const { shown, next: second } = await presentThen(context, first, buying, async (refused) => {
    const terms = await secondTermsAfter(context, refused, first, call.signal);
    return (
      terms &&
      signUnlessSettled(context, first, refused, buying, (again) => {
        const id = newId(context);
        const place = { ...buying.place, resigns: first.attempt.id };
        return sign(terms, { ...again, id, place }, refuseOtherThan(first.attempt));
      })
    );
  });
  if ('response' in shown) return shown.response;
  if (second === undefined) throw shown.rejected;
  if (first.attempt.state === 'settled') {
    // The seller could take both, so the second never leaves. It is on record until it expires.
    second.isShared = true;
    void monitorPayment(context, second, emit);
    const { id } = second.attempt;
    await releaseClaims(context, second, [id, bodyClaim(id)], call.signal);
    throw shown.rejected;
  }
  let unread = shown.rejected.response;
  try {
    const shownSecond = await present(context, second, buying);
    if ('response' in shownSecond) return shownSecond.response;
    const { rejected } = shownSecond;
    const { state } = first.attempt;
    if (state === 'unsettled' || (state === 'signed' && rejected.funds !== 'untouched'))
      throw rejected;
    // The second error does not tell that the first payment has landed, or may have.
    unread = rejected.response;
    throw shown.rejected;
  } finally {
    moved.push(...movedByPayment(first), ...movedByPayment(second));
    dropBody(unread);
  }
}

/**
 * Signs a second payment. Stops if the chain shows that the first has settled, as if the caller had
 * given up. Resolves to undefined if nothing is signed: the refusal of the first payment says more
 * than that error. Unless the first has settled, throws `swap_uncertain`: that refusal does not tell
 * of the swap.
 */
async function signUnlessSettled(
  context: PaymentContext,
  first: OpenPayment,
  { rejected }: Rejected,
  buying: Buying,
  sign: (buying: Buying) => Promise<OpenPayment>,
): Promise<OpenPayment | undefined> {
  const { call, emit } = buying;
  const { controller, end } = follow(call.signal);
  const { signal } = controller;
  void receiptOnceDecided(context, first, emit, signal).then(
    ({ state }) => state === 'settled' && controller.abort(),
    () => undefined,
  );
  try {
    return await sign({ ...buying, signal });
  } catch (error) {
    throwIfAborted(call.signal);
    if (first.attempt.state !== 'settled' && isExactChangeError(error, 'swap_uncertain')) {
      const { response } = rejected;
      throw amendError(error, { ...(response && { response }) });
    }
    return undefined;
  } finally {
    end();
  }
}

/**
 * Presents a payment, and follows a rejection with `after`. Keeps the attempt's claim until then, so
 * that no other call presents the payment.
 */
export async function presentThen<T>(
  context: PaymentContext,
  open: OpenPayment,
  buying: Buying,
  after: (rejected: Rejected) => Promise<T | undefined>,
): Promise<{ readonly shown: Delivered | Rejected; readonly next: T | undefined }> {
  try {
    const shown = await present(context, open, { ...buying, keepsClaim: true });
    return { shown, next: 'response' in shown ? undefined : await after(shown) };
  } finally {
    await releaseClaims(context, open, [open.attempt.id], buying.call.signal);
  }
}

/**
 * Returns the terms for a second payment after a 402. Undefined if the first payment is settled or
 * may be, by the outcome. The first may still land, so both count until the chain decides.
 */
async function secondTermsAfter(
  { config, protocols }: PaymentContext,
  { rejected, mayResign }: Rejected,
  { attempt }: OpenPayment,
  signal: AbortSignal | undefined,
): Promise<PaymentRequired | undefined> {
  const { response } = rejected;
  if (!mayResign || response === undefined || attempt.state === 'settled') return undefined;
  const { terms: timeoutMs } = config.timeouts;
  return detectTerms(protocols, response, { timeoutMs, signal }).catch(() => undefined);
}

/** Returns a check that refuses another payee or a higher price: neither was approved. */
function refuseOtherThan({ payTo, mint, amount, microUsd }: Attempt): RefuseOffer {
  return (offer, price) => {
    if (offer.payTo !== payTo) {
      return new PolicyError(
        'not_allowed',
        'The payee has changed since the first payment. Check with the seller before paying again.',
        { details: { list: 'resign', value: offer.payTo } },
      );
    }
    const inKind = offer.mint === mint && offer.amount <= BigInt(amount);
    const inDollars =
      offer.mint !== mint &&
      price !== undefined &&
      microUsd !== undefined &&
      price <= BigInt(microUsd);
    if (inKind || inDollars) return undefined;
    return new PolicyError(
      'amount_over_limit',
      'The price has risen since the first payment. Check with the seller before paying again.',
      {
        details: {
          cap: 'resign',
          limit: amount,
          amount: offer.amount.toString(),
          unit: offer.mint,
        },
      },
    );
  };
}
