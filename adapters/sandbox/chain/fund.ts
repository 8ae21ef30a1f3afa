import type { Address } from '@solana/kit';
import { SANDBOX_MINTS } from '../mints.js';
import type { ChainAccount, SandboxMint } from '../types.js';
import {
  associatedTokenAccount,
  isExtended,
  readMint,
  readToken,
  tokenData,
  withU64,
} from './token.js';

/** The part of a chain that funding uses. */
interface Accounts {
  account(address: Address): ChainAccount | undefined;
  setAccount(address: Address, account: ChainAccount): void;
  /** Returns the lamports that make an account with `bytes` bytes of data rent-exempt. */
  rent(bytes: bigint): bigint;
}

/** Adds tokens to an owner's associated account, and creates it if needed; returns its address. */
export async function fundToken(
  chain: Accounts,
  owner: Address,
  mint: SandboxMint,
  amount: bigint,
): Promise<Address> {
  const address = await associatedTokenAccount(owner, mint.address, mint.tokenProgram);
  const native = mint.address === SANDBOX_MINTS.SOL.address;
  const account = chain.account(address) ?? emptyToken(chain, owner, mint, native);
  const held = readToken(account)?.amount ?? 0n;
  chain.setAccount(address, {
    ...account,
    lamports: account.lamports + (native ? amount : 0n),
    data: withU64(account.data, 64, held + amount),
  });
  if (!native) mintSupply(chain, mint, amount);
  return address;
}

function emptyToken(
  chain: Accounts,
  owner: Address,
  mint: SandboxMint,
  native: boolean,
): ChainAccount {
  const fields = {
    tokenProgram: mint.tokenProgram,
    mint: mint.address,
    owner,
    amount: 0n,
    asPyusd: isExtended(chain.account(mint.address)),
  };
  const lamports = chain.rent(BigInt(tokenData(fields).length));
  const data = tokenData({ ...fields, nativeReserve: native ? lamports : undefined });
  return { lamports, data, owner: mint.tokenProgram, executable: false };
}

function mintSupply(chain: Accounts, { address }: SandboxMint, amount: bigint): void {
  const account = chain.account(address);
  const mint = readMint(account);
  if (account && mint)
    chain.setAccount(address, {
      ...account,
      data: withU64(account.data, 36, mint.supply + amount),
    });
}
