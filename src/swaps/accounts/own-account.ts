import { FundsError } from '../../errors.js';
import { WSOL_MINT } from '../../network.js';
import { SYSTEM_PROGRAM } from '../../solana/programs.js';
import type { Account } from '../../solana/rpc/rpc.js';
import {
  decodeTokenAccount,
  type TokenAccount,
  uncountedLamports,
} from '../../solana/tokens/decode.js';
import type { Address } from '../../solana/types.js';
import { brokenBy, type RuleText } from '../../internal/rule.js';
import { ownAccountRules } from './own-account-rules.js';

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
   * Lamports that become wrapped SOL as soon as any wallet has them counted (`SyncNative`). The swap
   * could then take them.
   */
  readonly uncounted: bigint;
  readonly lamports: bigint;
}

/** The wallet's associated account for a token as the chain has it, before it is judged. */
export interface RawAccount {
  readonly token: TokenFacts;
  readonly address: Address;
  readonly account: Account | null;
}

/**
 * Reads the wallet's own account. Throws `account_unusable` if it breaks a rule of
 * {@link ownAccountRules}: the guard could not protect it, or a venue could not pay into it.
 */
export function readOwnAccount(
  wallet: Address,
  { address, token, account }: RawAccount,
): OwnAccount {
  const { mint, tokenProgram } = token;
  const missing = {
    ...token,
    address,
    exists: false,
    balance: 0n,
    uncounted: 0n,
    lamports: account?.lamports ?? 0n,
  };
  if (!accountExists(account)) return missing;
  const held = decodeHeldAccount(account, tokenProgram);
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
 * Returns the lamports that it takes to create a missing account. For wrapped SOL, also returns the
 * lamports at its address beyond the rent, which count as soon as the account exists.
 */
export function creationCost(
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

/** Whether an account exists. Lamports alone do not count, because any wallet may send them. */
export function accountExists(account: Account | null): account is Account {
  return account !== null && !(account.owner === SYSTEM_PROGRAM && account.data.length === 0);
}

/** Decodes a token account of this program; undefined if it is none. */
export function decodeHeldAccount(
  account: Account | null,
  tokenProgram: Address,
): TokenAccount | undefined {
  return account?.owner === tokenProgram ? decodeTokenAccount(account) : undefined;
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
