import { FundsError } from '../../errors.js';
import type { Owner } from '../../journal/types.js';
import type { Offer } from '../../protocols/types.js';
import type { Address } from '../../solana/types.js';
import { amountText } from '../../token-text.js';
import type { OfferFacts } from './offer-accounts.js';

/** The refusal of an offer whose token the wallet holds too little of. */
export function shortOf(owner: Owner, { mint, amount }: Offer, facts: OfferFacts): FundsError {
  const price = amountText(owner.network, mint, amount, facts.decimals);
  return tooLittle(
    mint,
    amount,
    facts,
    `The price is ${price}, and ${holding(owner, mint, facts)}. Fund it, or turn autoSwap on to swap from another token.`,
  );
}

/** The same if no token that the wallet holds is worth the difference. */
export function short(owner: Owner, mint: Address, needed: bigint, facts: OfferFacts): FundsError {
  const need = amountText(owner.network, mint, needed, facts.decimals);
  return tooLittle(
    mint,
    needed,
    facts,
    `The payment needs ${need}, ${holding(owner, mint, facts)}, and no token it holds is worth the difference. Fund the wallet.`,
  );
}

function holding({ wallet, network }: Owner, mint: Address, facts: OfferFacts): string {
  const { available, decimals } = facts;
  return `the wallet ${wallet} can spend ${amountText(network, mint, available, decimals)}`;
}

function tooLittle(
  mint: Address,
  required: bigint,
  { available }: OfferFacts,
  message: string,
): FundsError {
  return new FundsError('insufficient_funds', message, {
    details: { mint, required: required.toString(), available: available.toString() },
  });
}
