import { FundsError, PolicyError, ProtocolError } from '../../errors.js';
import type { Offer } from '../../protocols/types.js';
import type { TokenAccount } from '../../solana/tokens/decode.js';
import type { Address } from '../../solana/types.js';

export function frozenAccount(account: Address): FundsError {
  return new FundsError(
    'account_unusable',
    `The wallet's token account ${account} is frozen by the mint's issuer. Pay with another token.`,
    { details: { account, reason: 'frozen' } },
  );
}

/**
 * Returns the error for an offer that claims wrong decimals: its seller means a different price
 * than the payment would transfer.
 */
export function otherDecimals(mint: Address, decimals: number): ProtocolError {
  return new ProtocolError(
    'unsupported_offer',
    `The offer claims other decimals than the ${decimals} that mint ${mint} has. Nothing was paid; the seller has to correct its terms.`,
    { details: { reason: 'claims other decimals than its mint has' } },
  );
}

/** Returns the error for an offer whose fee payer is an account of the payment: it cannot sign. */
export function feePayerProblem({ feePayer }: Offer): ProtocolError {
  return new ProtocolError(
    'unsupported_offer',
    `The fee payer ${feePayer} of the offer is a token account, which can pay no fee. The seller has to name its facilitator's wallet.`,
    { details: { reason: 'fee payer is a token account' } },
  );
}

/**
 * @param isWallet - Whether the payee is a wallet: then only its token account is the problem.
 * @param account - That account. In `exact` payments the compute-unit price comes right before the
 *   transfer, so no memo does.
 */
export function payeeProblem(
  { payTo, mint }: Offer,
  tokenAccount: Address,
  isWallet: boolean,
  account: Partial<Pick<TokenAccount, 'requiresMemo' | 'isConfidential'>> | undefined,
): FundsError | ProtocolError {
  if (!isWallet)
    return new ProtocolError(
      'unsupported_offer',
      `The payee ${payTo} is itself a token account or mint, not a wallet. The seller has to name the owner.`,
      { details: { reason: 'payee is a token account' } },
    );
  if (account?.requiresMemo === true || account?.isConfidential === true) {
    const [takes, reason] =
      account.requiresMemo === true
        ? ['without a memo before it', 'payee requires a memo before each transfer']
        : ['that is not confidential', 'payee takes confidential transfers alone'];
    return new ProtocolError(
      'unsupported_offer',
      `The payee's token account ${tokenAccount} takes no transfer ${takes}, so no facilitator can settle. The seller has to switch that off.`,
      { details: { reason } },
    );
  }
  return new FundsError(
    'payee_account_missing',
    `The payee ${payTo} has no usable token account for mint ${mint} (${tokenAccount}), so no facilitator can settle. The seller has to create it.`,
    { details: { payTo, mint, tokenAccount } },
  );
}

/** @param most - The most offers of a 402 in tokens that are not pinned that get a price. */
export function notPriced({ mint }: Offer, most: number): PolicyError {
  return new PolicyError(
    'price_unknown',
    `Of one 402, at most ${most} offers in tokens that are not pinned are priced, and the offer in ${mint} comes after them. The seller has to offer fewer.`,
    { details: { mint } },
  );
}
