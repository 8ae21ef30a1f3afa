import { FundsError } from '../../errors.js';
import { SYSTEM_PROGRAM, TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../network.js';
import type { Account, CallOptions, Rpc } from '../../solana/rpc/rpc.js';
import { associatedTokenAddress } from '../../solana/tokens/accounts.js';
import { type Mint, decodeMint } from '../../solana/tokens/decode.js';
import type { Address } from '../../solana/types.js';
import { type OwnAccount, readOwnAccount, type TokenFacts } from './own-account.js';

/** One side of a swap as the chain has it. */
export interface Leg {
  readonly account: OwnAccount;
  readonly mint: Mint;
}

export interface WalletFacts {
  readonly slot: number;
  readonly lamports: bigint;
  readonly legs: readonly Leg[];
}

/** One side of a swap before the wallet's account for it was judged. */
export interface RawLeg {
  readonly token: TokenFacts;
  readonly mint: Mint;
  /** The wallet's associated token account, and what lies there. */
  readonly address: Address;
  readonly account: Account | null;
}

export interface RawWalletFacts extends Omit<WalletFacts, 'legs'> {
  readonly legs: readonly RawLeg[];
}

const PROGRAMS = [TOKEN_PROGRAM, TOKEN_2022_PROGRAM];

/** Of the older token program. */
export const TOKEN_ACCOUNT_BYTES = 165;

/**
 * The wallet and its own accounts for these mints, in one read: the associated account of either
 * token program is asked for, and the mint's owner says which of the two counts. Throws
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
    legs: legs.map((leg) => ({ account: ownAccountOf(wallet, leg), mint: leg.mint })),
  };
}

/**
 * As {@link readWallet}, with the token accounts as they lie there. Throws `unknown_mint`,
 * `mint_not_supported`, or `account_unusable` of the wallet itself.
 */
export async function readRawWallet(
  rpc: Pick<Rpc, 'accounts'>,
  wallet: Address,
  mints: readonly Address[],
  options: CallOptions,
): Promise<RawWalletFacts> {
  const accountsOf = (mint: Address) =>
    PROGRAMS.map((program) => associatedTokenAddress(wallet, mint, program));
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

/** The wallet's own account of one side. Throws `account_unusable`. */
export function ownAccountOf(wallet: Address, { address, token, account }: RawLeg): OwnAccount {
  return readOwnAccount(wallet, address, token, account);
}

function walletLamports(wallet: Address, account: Account | null): bigint {
  if (account === null) return 0n;
  if (account.owner === SYSTEM_PROGRAM && account.data.length === 0) return account.lamports;
  const reason = 'it is not a plain wallet';
  throw new FundsError(
    'account_unusable',
    `The wallet ${wallet} cannot sign a swap: ${reason}. Use a wallet that is one.`,
    {
      details: { account: wallet, reason },
    },
  );
}

function readMint(address: Address, account: Account | null): Mint {
  const mint = account === null ? undefined : decodeMint(account);
  if (mint === undefined) {
    throw new FundsError(
      'unknown_mint',
      `There is no token mint at ${address} on this network. Check the mint, and the network of the client.`,
      { details: { mint: address } },
    );
  }
  const reason = unsupported(mint);
  if (reason === undefined) return mint;
  throw new FundsError(
    'mint_not_supported',
    `The token ${address} cannot be swapped: ${reason}. Use another token.`,
    {
      details: { mint: address, reason },
    },
  );
}

function unsupported(mint: Mint): string | undefined {
  // Its transfers need accounts that only the hook knows, so the guard could not be built.
  if (mint.transferHookProgram !== undefined) return 'its transfers call another program';
  if (mint.paused) return 'its transfers are paused';
  if (mint.extensions.includes('nonTransferable')) return 'it cannot be transferred';
  if (mint.extensions.some((name) => name.startsWith('unknown:')))
    return 'it has an extension that is not known';
  return undefined;
}

/** What each extension of a mint adds to a new account of it: type and length, then the value. */
const ACCOUNT_EXTENSION_BYTES: Readonly<Record<string, number>> = {
  transferFeeConfig: 12,
  transferHook: 5,
  pausable: 4,
};

/**
 * Bytes of a new associated token account. Token-2022 adds its kind and the mark of an immutable
 * owner to every one.
 */
export function accountBytes(mint: Mint): number {
  if (mint.tokenProgram === TOKEN_PROGRAM) return TOKEN_ACCOUNT_BYTES;
  return mint.extensions.reduce((bytes, name) => bytes + (ACCOUNT_EXTENSION_BYTES[name] ?? 0), 170);
}

/** Rent of the wallet's own account for a mint, if there is none yet. */
export async function newAccountRent(
  rpc: Pick<Rpc, 'accounts' | 'rent'>,
  wallet: Address,
  mint: Address,
  options: CallOptions,
): Promise<bigint> {
  const { legs } = await readRawWallet(rpc, wallet, [mint], options);
  const [leg] = legs;
  return leg === undefined || leg.account !== null ? 0n : rpc.rent(accountBytes(leg.mint), options);
}
