import type { GivingAccount } from '../../solana/transactions/instructions.js';
import { createAssociatedTokenAccount } from '../../solana/transactions/swap-instructions.js';
import type { Address, Instruction } from '../../solana/types.js';
import type { OwnAccount } from './own-account.js';

/** Creates the wallet's own account, unless it exists. */
export function createOwn(
  wallet: Address,
  { address, mint, tokenProgram }: Pick<OwnAccount, 'address' | 'mint' | 'tokenProgram'>,
  payer = wallet,
): Instruction {
  return createAssociatedTokenAccount({
    payer,
    account: address,
    owner: wallet,
    mint,
    tokenProgram,
  });
}

/** Returns the wallet's own account, as an instruction names it that gives lamports to the wallet. */
export function intoWallet(
  wallet: Address,
  { address, tokenProgram }: Pick<OwnAccount, 'address' | 'tokenProgram'>,
): GivingAccount {
  return { account: address, destination: wallet, authority: wallet, tokenProgram };
}
