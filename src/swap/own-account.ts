import { FundsError } from '../errors.js';
import { SYSTEM_PROGRAM } from '../network.js';
import { decodeTokenAccount } from '../solana/accounts.js';
import type { Account } from '../solana/rpc.js';
import type { Address } from '../solana/types.js';

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
  /** Base units; 0n where it does not exist. */
  readonly balance: bigint;
  /** Lamports at the address. */
  readonly lamports: bigint;
}

/**
 * Reads the wallet's own account. One that is frozen, belongs to somebody else, or that somebody else may spend from or close is
 * refused (`account_unusable`): a swap into or out of it could not be guarded.
 */
export function readOwnAccount(wallet: Address, address: Address, token: TokenFacts, account: Account | null): OwnAccount {
  const { mint, tokenProgram, decimals } = token;
  const missing = { address, mint, tokenProgram, decimals, exists: false, balance: 0n, lamports: account?.lamports ?? 0n };
  // Anybody may send lamports to an address that is no account yet.
  if (account === null || (account.owner === SYSTEM_PROGRAM && account.data.length === 0)) return missing;
  const held = account.owner === tokenProgram ? decodeTokenAccount(account) : undefined;
  if (held === undefined || held.mint !== mint) throw unusable(address, 'it is no token account of this mint');
  if (held.owner !== wallet) throw unusable(address, 'it belongs to another wallet');
  if (held.state !== 'initialized') throw unusable(address, 'it is frozen');
  if (held.delegate !== undefined) throw unusable(address, 'a delegate may spend from it');
  if (held.closeAuthority !== undefined && held.closeAuthority !== wallet) throw unusable(address, 'somebody else may close it');
  return { ...missing, exists: true, balance: held.amount };
}

function unusable(account: Address, reason: string): FundsError<'account_unusable'> {
  return new FundsError(
    'account_unusable',
    `The wallet's token account ${account} cannot take part in a swap: ${reason}. Repair it, or use another token.`,
    {
      details: { account, reason },
    },
  );
}
