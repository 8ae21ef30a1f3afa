import { isExactChangeError, type ExactChangeError } from '../../errors.js';
import type { Offer } from '../../protocols/types.js';
import type { PaymentContext } from '../context.js';
import type { Priced } from './choose.js';
import { broughtBy, findFunding, type Funding } from './funding.js';

// Quotes are scarce: of several offers that all need a swap, so many are compared.
const MAX_COMPARED = 3;

interface Funded {
  readonly one: Priced;
  readonly funding: Funding;
}

/**
 * The offer whose swap costs least, and the swap; undefined if there is none for any of them.
 *
 * @param short - Offers in tokens that the wallet holds too little of, by price.
 */
export async function chooseFunding(
  context: PaymentContext,
  short: readonly Priced[],
  options: {
    /** The swap of the one that is chosen is made next. */
    readonly toSwap: boolean;
    readonly signalFor: (offer: Offer) => AbortSignal;
    /** What a step failed with, in words of ours. */
    readonly explain: (error: unknown) => unknown;
    readonly refuse: (offer: Offer, reason: ExactChangeError) => void;
  },
): Promise<Funded | undefined> {
  const funded: Funded[] = [];
  for (const one of short.slice(0, MAX_COMPARED)) {
    const funding = await findFunding(context, one.offer, one.facts, one.offer.amount, {
      signal: options.signalFor(one.offer),
      // The cheapest as it stands is mostly the one that is paid.
      toPay: options.toSwap && one === short[0] ? one.offer : undefined,
    }).catch((error: unknown) => asRefusal(options.explain(error)));
    if (isExactChangeError(funding)) options.refuse(one.offer, funding);
    else funded.push({ one, funding });
  }
  return cheapest(funded);
}

/**
 * Swaps out of the same token compare by what they take for the payment itself; others keep the
 * order of their prices.
 */
function cheapest(funded: readonly Funded[]): Funded | undefined {
  return funded.reduce<Funded | undefined>((best, next) => {
    if (best === undefined) return next;
    return best.funding.inputMint === next.funding.inputMint && costsLess(next, best) ? next : best;
  }, undefined);
}

/**
 * A swap may bring more than the payment takes, and what is left over is no cost: both are compared
 * at the rate of their swap.
 */
function costsLess(a: Funded, b: Funded): boolean {
  const cost = ({ one, funding }: Funded) => one.offer.amount * funding.maxInAmount;
  return cost(a) * broughtBy(b.funding) < cost(b) * broughtBy(a.funding);
}

/**
 * What concerns one offer refuses that offer; what concerns everything (a node that is down, say)
 * ends the call.
 */
function asRefusal(error: unknown): ExactChangeError {
  if (isExactChangeError(error) && ['QuoteError', 'FundsError', 'PolicyError'].includes(error.name))
    return error;
  throw error;
}
