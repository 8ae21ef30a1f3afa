import { maxAmount } from '../../amount.js';
import { FundsError } from '../../errors.js';
import type { Owner } from '../../journal/types.js';
import type { Offer } from '../../protocols/types.js';
import type { Address } from '../../solana/types.js';
import { WSOL_MINT } from '../../network.js';
import { amountText, fundingLink, solText } from '../../token-text.js';
import { ownerOf, type PaymentContext } from '../context.js';
import { KEEP_LAMPORTS } from './keep-lamports.js';
import type { OwnFacts } from './offer-accounts.js';

/** @param autoSwap - Whether a swap was possible: if not, the error advises to allow it. */
export function tooLittleHeld(
  owner: Owner,
  { mint, amount }: Offer,
  facts: OwnFacts,
  autoSwap: boolean,
): FundsError {
  const withSwaps = 'Turn autoSwap on to swap from another token, or fund the wallet';
  const advice = autoSwap ? 'Fund the wallet' : withSwaps;
  const price = amountText(owner.network, mint, amount, facts.decimals);
  return tooLittle(
    owner,
    mint,
    amount,
    facts,
    `The price is ${price}, and ${holding(owner, mint, facts)}. ${advice}`,
  );
}

/** Returns the error if also no token that may be swapped is worth the difference. */
export function noTokenCovers(
  context: PaymentContext,
  mint: Address,
  needed: bigint,
  facts: OwnFacts,
): FundsError {
  const owner = ownerOf(context);
  const need = amountText(owner.network, mint, needed, facts.decimals);
  const { swapFrom } = context.config;
  const allowed = swapFrom === undefined ? '' : 'of swapFrom that ';
  const kept =
    swapFrom?.includes(WSOL_MINT) === false ? '' : `, beyond ${solText(KEEP_LAMPORTS)} for fees,`;
  return tooLittle(
    owner,
    mint,
    needed,
    facts,
    `The payment needs ${need}, ${holding(owner, mint, facts)}, and no token ${allowed}it holds${kept} is worth the difference. Fund the wallet`,
  );
}

function holding({ wallet, network }: Owner, mint: Address, facts: OwnFacts): string {
  const { available, decimals } = facts;
  return `the wallet ${wallet} can spend ${amountText(network, mint, available, decimals)}`;
}

function tooLittle(
  { wallet }: Owner,
  mint: Address,
  required: bigint,
  { available, decimals }: OwnFacts,
  message: string,
): FundsError {
  // The balance may have grown since the payment was found to be short.
  const missing = maxAmount(required - available, 0n);
  const link = fundingLink(wallet, mint, missing, decimals);
  return new FundsError('insufficient_funds', `${message} (${link}).`, {
    details: { mint, required: required.toString(), available: available.toString(), link },
  });
}

/**
 * Makes the next call read a short balance again, because the wallet may be funded meanwhile. The
 * balance is kept with an old time: a reading that follows no known balance would subtract payments
 * that have landed twice, until their holds end. It is the balance of now, because a payment may
 * have left since the facts were read.
 */
export async function outdateBalance(
  { ledger }: Pick<PaymentContext, 'ledger'>,
  { source }: Pick<OwnFacts, 'source'>,
): Promise<void> {
  await ledger
    .available(source, { from: 0, to: Infinity })
    .then((amount) => (amount === undefined ? amount : ledger.see(source, { amount, at: 0 })))
    .catch(() => undefined);
}
