import { PolicyError } from '../../errors.js';
import type { OpenPayment } from '../../journal/open-payment.js';
import type { Attempt } from '../../journal/types.js';
import { detectTerms } from '../../protocols/protocol.js';
import type { PaymentRequired } from '../../protocols/types.js';
import type { PaymentContext } from '../context.js';
import type { ChooseOptions } from '../plan/choose.js';
import { outcomes } from './outcomes.js';
import type { Rejected } from './present.js';

/** Terms that one more payment may be signed for, and what it may not be. */
export interface SecondTry {
  readonly terms: PaymentRequired;
  readonly refuse: NonNullable<ChooseOptions['refuse']>;
}

/**
 * What to sign anew after a 402 that shows that nothing was settled, if the caller's policy allows
 * it: to the same payee, for no higher price. Undefined if there is nothing; the first payment may
 * still land, and both count until the chain decides.
 */
export async function secondTryAfter(
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
