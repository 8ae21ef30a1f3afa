import type { TokenAccount } from '../../solana/tokens/decode.js';
import type { Address } from '../../solana/types.js';
import { type Rule, rulesOn } from '../../internal/rule.js';

/** A token account of the wallet, as the chain has it before the swap. */
export interface OwnAccountSubject {
  readonly wallet: Address;
  readonly mint: Address;
  /** Undefined if the account is no token account of the mint's token program. */
  readonly held: TokenAccount | undefined;
}

const onHeld = rulesOn(({ held }: OwnAccountSubject) => held);

/** Rules on the wallet's token accounts: the guard cannot protect an account that breaks a rule. */
export const ownAccountRules: readonly Rule<OwnAccountSubject>[] = [
  onHeld(
    'own_account_kind',
    "the wallet's token account is no token account of this mint",
    'Whatever lies at the address would not obey the guard.',
    (held, { mint }) => held.mint === mint,
  ),
  onHeld(
    'own_account_owner',
    "the wallet's token account belongs to another wallet",
    'Its owner can have been changed since it was derived; what arrives there belongs to that owner.',
    (held, { wallet }) => held.owner === wallet,
  ),
  onHeld(
    'own_account_frozen',
    "the wallet's token account is frozen",
    'Nothing can be moved out of it, so the guard could not prove what it holds.',
    ({ state }) => state === 'initialized',
  ),
  onHeld(
    'own_account_delegate',
    "a delegate may spend from the wallet's token account",
    'The delegate can take what arrives, or bring the source below what the guard asks for.',
    ({ delegate }) => delegate === undefined,
  ),
  onHeld(
    'own_account_close_authority',
    "another key may close the wallet's token account",
    'The key that closes a wrapped SOL account gets the SOL in it, and the guard cannot take that right away.',
    ({ closeAuthority }, { wallet }) => closeAuthority === undefined || closeAuthority === wallet,
  ),
  onHeld(
    'own_account_memo',
    "the wallet's token account takes no transfer without a memo before it",
    'A venue writes no memo, and the guard moves tokens of the account to itself.',
    ({ requiresMemo }) => !requiresMemo,
  ),
  onHeld(
    'own_account_confidential',
    "the wallet's token account takes confidential transfers alone",
    'A venue sends tokens by plain transfers, which fail.',
    ({ isConfidential }) => isConfidential !== true,
  ),
];
