import { FundsError } from '../../errors.js';
import type { Offer } from '../../protocols/types.js';
import type { Address } from '../../solana/types.js';
import type { OfferFacts } from './offer-accounts.js';

/** The refusal of an offer whose token the wallet holds too little of. */
export function shortOf({ mint, amount }: Offer, { available }: OfferFacts): FundsError {
  return new FundsError(
    'insufficient_funds',
    `The price is ${amount} base units of ${mint}, and the wallet can spend ${available}. Fund it, or turn autoSwap on to swap from another token.`,
    { details: { mint, required: amount.toString(), available: available.toString() } },
  );
}

export function short(mint: Address, needed: bigint, { available }: OfferFacts): FundsError {
  return new FundsError(
    'insufficient_funds',
    `The payment needs ${needed} base units of ${mint}, the wallet can spend ${available}, and no token it holds is worth the difference. Fund the wallet.`,
    { details: { mint, required: needed.toString(), available: available.toString() } },
  );
}
