import { PolicyError } from '../../errors.js';
import { throwIfAborted } from '../../internal/abort.js';
import type { OpenPayment } from '../../journal/open-payment.js';
import type { Attempt } from '../../journal/types.js';
import { detectTerms } from '../../protocols/protocol.js';
import type { PaymentRequired } from '../../protocols/types.js';
import { newId, type PaymentContext } from '../context.js';
import type { RefuseOffer } from '../plan/choose.js';
import type { Buying, Task } from '../task.js';
import { outcomes } from './outcomes.js';
import { present, type Rejected } from './present.js';
import { releaseClaims } from './release-claim.js';

/** Chooses the offer to pay, and signs the payment for it. */
export type SignFor = (
  terms: PaymentRequired,
  task: Task,
  refuse?: RefuseOffer,
) => Promise<OpenPayment>;

/**
 * Presents a payment. If the seller refuses it and the caller's policy allows a second payment,
 * signs and presents that too.
 */
export async function presentOrResign(
  context: PaymentContext,
  first: OpenPayment,
  buying: Buying,
  sign: SignFor,
): Promise<Response> {
  const { call, place } = buying;
  const mayResign = context.config.policy.resign > 0;
  const presenting = present(context, first, { ...buying, keepsClaim: mayResign });
  const signing = presenting.then(async (shown) => {
    const retry =
      'response' in shown ? undefined : await secondTryAfter(context, shown, first, call.signal);
    if (retry === undefined) return undefined;
    const again = { ...buying, id: newId(context), place: { ...place, resigns: first.attempt.id } };
    // Drop an error of the second try, because the refusal of the first payment says more.
    return sign(retry.terms, again, retry.refuse).catch(() => {
      throwIfAborted(call.signal);
      return undefined;
    });
  });
  let second: Awaited<typeof signing>;
  try {
    second = await signing;
  } finally {
    // Keep the claim until both payments are on record, so that no other call presents the first.
    if (mayResign) await releaseClaims(context, first, [first.attempt.id], call.signal);
  }
  const shown = await presenting;
  if ('response' in shown) return shown.response;
  if (second === undefined) throw shown.rejected;
  const shownSecond = await present(context, second, buying);
  if ('response' in shownSecond) return shownSecond.response;
  // The second error must not say that funds are untouched if the first payment may have landed.
  throw first.attempt.state !== 'unsettled' && shownSecond.rejected.funds === 'untouched'
    ? shown.rejected
    : shownSecond.rejected;
}

interface SecondTry {
  readonly terms: PaymentRequired;
  readonly refuse: RefuseOffer;
}

/**
 * Returns the terms for a second payment after a 402. Undefined if the first payment is settled or
 * may be, by the outcome, or if the caller's policy allows no second. The second payment must go to
 * the same payee, for no higher price. The first may still land, so both count until the chain
 * decides.
 */
async function secondTryAfter(
  { config, protocols }: PaymentContext,
  { rejected, outcome }: Rejected,
  { attempt }: OpenPayment,
  signal: AbortSignal | undefined,
): Promise<SecondTry | undefined> {
  const { response } = rejected;
  if (
    config.policy.resign === 0 ||
    !outcomes[outcome].resign ||
    response === undefined ||
    attempt.state === 'settled'
  )
    return undefined;
  const terms = await detectTerms(protocols, response, {
    timeoutMs: config.timeouts.terms,
    signal,
  }).catch(() => undefined);
  return terms === undefined ? undefined : { terms, refuse: refuseOtherThan(attempt) };
}

/** Returns a check that refuses another payee or a higher price: neither was approved. */
function refuseOtherThan({ payTo, mint, amount, microUsd }: Attempt): RefuseOffer {
  return (offer, price) => {
    if (offer.payTo !== payTo) {
      return new PolicyError(
        'not_allowed',
        'The payee has changed since the first payment. Check with the seller before paying again.',
        {
          details: { list: 'resign', value: offer.payTo },
        },
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
