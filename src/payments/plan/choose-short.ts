import { ownerOf, type PaymentContext } from '../context.js';
import { swapEngine } from '../on-demand.js';
import type { Priced } from './choose.js';
import type { chooseFunding } from './choose-funding.js';
import { forgetBalance, tooLittleHeld } from './short-of.js';

/**
 * Chooses among offers that the wallet holds too little for. With `autoSwap`, returns the offer
 * with the cheapest swap; else refuses all offers.
 */
export async function chooseShort(
  context: PaymentContext,
  short: readonly Priced[],
  options: Parameters<typeof chooseFunding>[2],
): Promise<Awaited<ReturnType<typeof chooseFunding>>> {
  if (context.config.autoSwap) {
    const { chooseFunding } = await swapEngine();
    return chooseFunding(context, short, options);
  }
  for (const { offer, facts } of short) {
    options.refuse(offer, tooLittleHeld(ownerOf(context), offer, facts));
    await forgetBalance(context, facts);
  }
  return undefined;
}
