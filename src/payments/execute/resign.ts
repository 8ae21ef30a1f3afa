import { PolicyError } from '../../errors.js';
import { throwIfAborted } from '../../internal/abort.js';
import type { OpenPayment } from '../../journal/open-payment.js';
import type { Attempt } from '../../journal/types.js';
import { detectTerms } from '../../protocols/protocol.js';
import type { PaymentRequired } from '../../protocols/types.js';
import { newId, type PaymentContext } from '../context.js';
import type { ChooseOptions } from '../plan/choose.js';
import type { Buying, Task } from '../task.js';
import { outcomes } from './outcomes.js';
import { present, type Rejected } from './present.js';
import { releaseClaims } from './release-claim.js';

/** Chooses the offer to pay, and signs the payment for it. */
export type SignFor = (
  terms: PaymentRequired,
  task: Task,
  refuse?: ChooseOptions['refuse'],
) => Promise<OpenPayment>;

/**
 * Presents a payment; and one more, if the seller refuses the first and the caller's policy allows
 * a second.
 */
export async function presentOrResign(
  context: PaymentContext,
  first: OpenPayment,
  { task, presentation }: Buying,
  sign: SignFor,
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
    return sign(again.terms, { ...task, id: newId(context), place }, again.refuse).catch(() => {
      throwIfAborted(call.signal);
      return undefined;
    });
  });
  let second: Awaited<typeof signing>;
  try {
    second = await signing;
  } finally {
    // Until both are on record, no other call presents the first again.
    if (mayResign) await releaseClaims(context, first, [first.attempt.id], call.signal);
  }
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

/** Terms that one more payment may be signed for, and what it may not be. */
interface SecondTry {
  readonly terms: PaymentRequired;
  readonly refuse: NonNullable<ChooseOptions['refuse']>;
}

/**
 * What to sign anew after a 402 that shows that nothing was settled, if the caller's policy allows
 * it: to the same payee, for no higher price. Undefined if there is nothing; the first payment may
 * still land, and both count until the chain decides.
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
  return terms === undefined ? undefined : { terms, refuse: dearerThan(attempt) };
}

/** Refuses what is not what was approved: another payee, or a higher price. */
function dearerThan({ payTo, mint, amount, microUsd }: Attempt): SecondTry['refuse'] {
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
