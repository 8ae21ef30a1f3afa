import { FundsError } from '../../errors.js';
import { SYSTEM_PROGRAM, WSOL_MINT } from '../../network.js';
import type { Account } from '../../solana/rpc/rpc.js';
import {
  decodeTokenAccount,
  type TokenAccount,
  uncountedLamports,
} from '../../solana/tokens/decode.js';
import type { Address } from '../../solana/types.js';
import { ownAccountRules } from '../firewall/own-accounts.js';
import { brokenBy, type RuleText } from '../firewall/rule.js';

/** A mint, as far as a transfer needs it. */
export interface TokenFacts {
  readonly mint: Address;
  readonly tokenProgram: Address;
  readonly decimals: number;
}

/** An associated token account of the wallet, whether or not it exists yet. */
export interface OwnAccount extends TokenFacts {
  readonly address: Address;
  readonly exists: boolean;
  /** Base units; 0n if it does not exist. */
  readonly balance: bigint;
  /**
   * Lamports that are wrapped SOL as soon as any wallet has them counted (`SyncNative`), and so in
   * reach of the swap.
   */
  readonly uncounted: bigint;
  /** Lamports at the address. */
  readonly lamports: bigint;
}

/**
 * Reads the wallet's own account. One that is frozen, belongs to another wallet, or that another
 * may spend from or close is refused (`account_unusable`): a swap into or out of it could not be
 * guarded.
 */
export function readOwnAccount(
  wallet: Address,
  address: Address,
  token: TokenFacts,
  account: Account | null,
): OwnAccount {
  const { mint, tokenProgram, decimals } = token;
  const missing = {
    address,
    mint,
    tokenProgram,
    decimals,
    exists: false,
    balance: 0n,
    uncounted: 0n,
    lamports: account?.lamports ?? 0n,
  };
  if (account === null || !isThere(account)) return missing;
  const held = heldIn(account, tokenProgram);
  const broken = brokenBy(ownAccountRules, { wallet, mint, held });
  if (broken !== undefined || held === undefined) throw unusable(address, broken);
  return {
    ...missing,
    exists: true,
    balance: held.amount,
    uncounted: uncountedLamports(account, held),
  };
}

/**
 * Lamports that making a missing account takes. Of wrapped SOL, what lies at its address beyond the
 * rent counts as soon as it is made.
 */
export function onceMade(
  missing: OwnAccount,
  rent: bigint,
): { readonly takes: bigint; readonly uncounted: bigint } {
  const { lamports, mint } = missing;
  const beyond = lamports > rent ? lamports - rent : 0n;
  return {
    takes: lamports < rent ? rent - lamports : 0n,
    uncounted: mint === WSOL_MINT ? beyond : 0n,
  };
}

/** Any wallet may send lamports to an address that is no account yet. */
export function isThere(account: Account | null): boolean {
  return account !== null && !(account.owner === SYSTEM_PROGRAM && account.data.length === 0);
}

/** What a token account of this program holds; undefined if it is none. */
export function heldIn(account: Account, tokenProgram: Address): TokenAccount | undefined {
  return account.owner === tokenProgram ? decodeTokenAccount(account) : undefined;
}

function unusable(account: Address, broken: RuleText | undefined): FundsError<'account_unusable'> {
  const reason = broken?.refuses ?? 'it cannot be read';
  const rule = broken === undefined ? '' : ` (rule ${broken.id})`;
  return new FundsError(
    'account_unusable',
    `The token account ${account} cannot take part in a swap: ${reason}${rule}. Repair it, or use another token.`,
    { details: { account, reason } },
  );
}
