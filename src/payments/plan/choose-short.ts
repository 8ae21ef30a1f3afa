import { ProtocolError, type ExactChangeError, type OfferRefusal } from '../../errors.js';
import { ownerOf, type PaymentContext } from '../context.js';
import { swapEngine } from '../on-demand.js';
import type { Priced } from './choose.js';
import type { Funded, FundingChoice } from './choose-funding.js';
import { outdateBalance, tooLittleHeld } from './short-of.js';

/**
 * Chooses among offers that the wallet holds too little for. With `autoSwap`, returns the offer
 * with the cheapest swap; else refuses all offers.
 */
export async function chooseShort(
  context: PaymentContext,
  short: readonly Priced[],
  options: FundingChoice,
): Promise<Funded | undefined> {
  if (context.config.autoSwap) {
    const { chooseFunding } = await swapEngine();
    return chooseFunding(context, short, options);
  }
  for (const { offer, facts } of short) {
    options.refuse(offer, tooLittleHeld(ownerOf(context), offer, facts, false));
    await outdateBalance(context, facts);
  }
  return undefined;
}

const ELSEWHERE: readonly string[] = ['unsupported_network', 'unsupported_offer'];

/**
 * Returns the error if no offer is payable: the reason of the only offer for this network and
 * scheme, else `no_payable_offer` with all reasons.
 */
export function nothingPayable(
  errors: readonly ExactChangeError[],
  offers: readonly OfferRefusal[],
): ExactChangeError {
  const ours = errors.filter(({ code }) => !ELSEWHERE.includes(code));
  const only = ours.length === 1 ? ours[0] : errors.length === 1 ? errors[0] : undefined;
  if (only !== undefined) return only;
  const reason = (ours[0] ?? errors[0])?.message ?? '';
  return new ProtocolError(
    'no_payable_offer',
    `None of the ${offers.length} offers can be paid. ${reason} Each offer's reason is in details.offers.`,
    { details: { offers }, ...(ours[0] === undefined ? {} : { cause: ours[0] }) },
  );
}
