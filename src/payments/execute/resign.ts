import { PolicyError } from '../../errors.js';
import { throwIfAborted } from '../../internal/abort.js';
import { dropBody } from '../../internal/drop-body.js';
import type { OpenPayment } from '../../journal/open-payment.js';
import type { Attempt } from '../../journal/types.js';
import { detectTerms } from '../../protocols/protocol.js';
import type { PaymentRequired } from '../../protocols/types.js';
import { newId, type PaymentContext } from '../context.js';
import type { RefuseOffer } from '../plan/choose.js';
import type { Buying, Task } from '../task.js';
import { outcomes } from './outcomes.js';
import { type Delivered, present, presentAlone, type Rejected } from './present.js';
import { releaseClaims } from './release-claim.js';

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
  const { call, place } = buying;
  const { shown, next: second } = await presentThen(context, first, buying, async (rejected) => {
    const terms = await secondTermsAfter(context, rejected, first, call.signal);
    if (terms === undefined) return undefined;
    const again = { ...buying, id: newId(context), place: { ...place, resigns: first.attempt.id } };
    // Drop an error of the second try, because the refusal of the first payment says more.
    return sign(terms, again, refuseOtherThan(first.attempt)).catch(() => {
      throwIfAborted(call.signal);
      return undefined;
    });
  });
  if ('response' in shown) return shown.response;
  if (second === undefined) throw shown.rejected;
  let unread = shown.rejected.response;
  try {
    const shownSecond = await present(context, second, buying);
    if ('response' in shownSecond) return shownSecond.response;
    const { rejected } = shownSecond;
    if (first.attempt.state === 'unsettled' || rejected.funds !== 'untouched') throw rejected;
    // The second error must not say that funds are untouched if the first payment may have landed.
    unread = rejected.response;
    throw shown.rejected;
  } finally {
    dropBody(unread);
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
  { rejected, outcome }: Rejected,
  { attempt }: OpenPayment,
  signal: AbortSignal | undefined,
): Promise<PaymentRequired | undefined> {
  const { response } = rejected;
  if (!outcomes[outcome].resign || response === undefined || attempt.state === 'settled')
    return undefined;
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
