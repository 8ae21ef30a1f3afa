import type { Address } from '@solana/kit';
import type { ChainAccount } from '../types.js';
import type { Balances, TokenBalance } from './history.js';
import { readMint, readToken } from './token.js';

export function readBalances(
  keys: readonly Address[],
  read: (address: Address) => ChainAccount | undefined,
): Balances {
  const accounts = keys.map(read);
  const tokens = accounts.flatMap((account, accountIndex): TokenBalance[] => {
    const token = readToken(account);
    if (!account || !token) return [];
    const { mint, owner, amount } = token;
    return [
      {
        accountIndex,
        mint,
        owner,
        programId: account.owner,
        amount,
        decimals: readMint(read(mint))?.decimals ?? 0,
      },
    ];
  });
  return { lamports: accounts.map((account) => account?.lamports ?? 0n), tokens };
}
