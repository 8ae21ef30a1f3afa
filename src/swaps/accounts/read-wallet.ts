import { FundsError } from '../../errors.js';
import { TOKEN_PROGRAM, TOKEN_PROGRAMS, WSOL_MINT } from '../../network.js';
import { SYSTEM_PROGRAM } from '../../solana/programs.js';
import type { Account, CallOptions, Rpc } from '../../solana/rpc/rpc.js';
import { ACCOUNT_BYTES, associatedTokenAddress } from '../../solana/tokens/accounts.js';
import { type Mint, mintAt } from '../../solana/tokens/decode.js';
import type { Address } from '../../solana/types.js';
import {
  accountExists,
  decodeHeldAccount,
  type OwnAccount,
  type RawAccount,
  readOwnAccount,
} from './own-account.js';

/** The account and the mint of one side of a swap, as the chain has them. */
export interface Leg {
  readonly account: OwnAccount;
  readonly mint: Mint;
  /** See {@link rentedBytes}. */
  readonly bytes: number | undefined;
}

export interface WalletFacts {
  readonly slot: number;
  readonly lamports: bigint;
  readonly legs: readonly Leg[];
}

/** One side of a swap, before the wallet's account is judged. */
export interface RawLeg extends RawAccount {
  readonly mint: Mint;
}

export interface RawWalletFacts extends Omit<WalletFacts, 'legs'> {
  readonly legs: readonly RawLeg[];
}

/**
 * Reads the wallet and its own accounts for these mints in one request. It asks for the associated
 * accounts of both token programs, and the mint's owner tells which of them counts. Throws
 * `unknown_mint`, `mint_not_supported` or `account_unusable`.
 */
export async function readWallet(
  rpc: Rpc,
  wallet: Address,
  mints: readonly Address[],
  options: CallOptions,
): Promise<WalletFacts> {
  const { legs, ...facts } = await readRawWallet(rpc, wallet, mints, options);
  return {
    ...facts,
    legs: legs.map((leg) => ({
      account: readOwnAccount(wallet, leg),
      mint: leg.mint,
      bytes: rentedBytes(leg),
    })),
  };
}

/**
 * Reads the same as {@link readWallet}, but does not judge the token accounts. Throws
 * `unknown_mint`, `mint_not_supported`, or `account_unusable` for the wallet itself.
 */
export async function readRawWallet(
  rpc: Pick<Rpc, 'accounts'>,
  wallet: Address,
  mints: readonly Address[],
  options: CallOptions,
): Promise<RawWalletFacts> {
  const accountsOf = (mint: Address) =>
    TOKEN_PROGRAMS.map((program) => associatedTokenAddress(wallet, mint, program));
  const addresses = [...new Set([wallet, ...mints.flatMap((mint) => [mint, ...accountsOf(mint)])])];
  const { slot, accounts } = await rpc.accounts(addresses, options);
  const at = (address: Address): Account | null => accounts[addresses.indexOf(address)] ?? null;
  return {
    slot,
    lamports: walletLamports(wallet, at(wallet)),
    legs: mints.map((name) => {
      const mint = readMint(name, at(name));
      const address = associatedTokenAddress(wallet, name, mint.tokenProgram);
      return {
        token: { mint: name, tokenProgram: mint.tokenProgram, decimals: mint.decimals },
        mint,
        address,
        account: at(address),
      };
    }),
  };
}

/**
 * Returns the bytes of an account, or of the new account at its address, with lamports for its rent
 * alone; undefined if its lamports are its tokens too.
 */
export function rentedBytes({ account, token, mint }: RawLeg): number | undefined {
  if (!accountExists(account)) return token.mint === WSOL_MINT ? undefined : accountBytes(mint);
  const held = decodeHeldAccount(account, token.tokenProgram);
  return held?.isNative === false ? account.data.length : undefined;
}

function walletLamports(wallet: Address, account: Account | null): bigint {
  if (account === null) return 0n;
  if (account.owner === SYSTEM_PROGRAM && account.data.length === 0) return account.lamports;
  const reason = 'it is not a plain wallet';
  throw new FundsError(
    'account_unusable',
    `The wallet ${wallet} cannot sign a swap: ${reason}. Use a wallet that is one.`,
    { details: { account: wallet, reason } },
  );
}

function readMint(address: Address, account: Account | null): Mint {
  const mint = mintAt(address, account);
  const reason = unsupported(mint);
  if (reason === undefined) return mint;
  throw new FundsError(
    'mint_not_supported',
    `The token ${address} cannot be swapped: ${reason}. Use another token.`,
    { details: { mint: address, reason } },
  );
}

function unsupported(mint: Mint): string | undefined {
  // Transfers with a hook need accounts that only the hook knows, so we could not build the guard.
  if (mint.transferHookProgram !== undefined) return 'its transfers call another program';
  if (mint.paused) return 'its transfers are paused';
  if (mint.extensions.includes('nonTransferable')) return 'it cannot be transferred';
  if (mint.extensions.some((name) => name.startsWith('unknown:')))
    return 'it has an extension that is not known';
  return undefined;
}

/** Bytes that each extension of a mint adds to its new accounts: type, length and value. */
const ACCOUNT_EXTENSION_BYTES: Readonly<Record<string, number>> = {
  transferFeeConfig: 12,
  transferHook: 5,
  pausable: 4,
};

/**
 * Returns the bytes of a new associated token account. Token-2022 adds the account type and the
 * immutable-owner extension to each account.
 */
export function accountBytes(mint: Mint): number {
  if (mint.tokenProgram === TOKEN_PROGRAM) return ACCOUNT_BYTES;
  return mint.extensions.reduce((bytes, name) => bytes + (ACCOUNT_EXTENSION_BYTES[name] ?? 0), 170);
}

/** Returns the rent of the wallet's own account for a mint; 0n if the account exists. */
export async function newAccountRent(
  rpc: Pick<Rpc, 'accounts' | 'rent'>,
  wallet: Address,
  mint: Address,
  options: CallOptions,
): Promise<bigint> {
  const { legs } = await readRawWallet(rpc, wallet, [mint], options);
  const [leg] = legs;
  if (leg === undefined || accountExists(leg.account)) return 0n;
  return rpc.rent(accountBytes(leg.mint), options);
}
