import { everyPinnedMint } from '../../network.js';
import { addressBytes } from '../../solana/address.js';
import { isReservedAddress } from '../../solana/reserved-addresses.js';
import type { Account } from '../../solana/rpc/rpc.js';
import { associatedTokenAddress } from '../../solana/tokens/accounts.js';
import { decodeMint } from '../../solana/tokens/decode.js';
import type { AccountMeta, Address, Instruction } from '../../solana/types.js';
import { accountExists } from '../accounts/own-account.js';
import { type Rule, enforce } from './rule.js';

/** Programs of Merkle trees with assets and tokens as leaves: of SPL, Metaplex and Light. */
export const COMPRESSION_PROGRAMS: readonly Address[] = [
  'cmtDvXumGCrqC1Age74AVPhSRVXJMd8PJS91L8KbNCK',
  'mcmt6YrQEMKw8Mw43FmpRLmf7BqRnFMKmAcbxE3xkAW',
  'compr6CUsB5m2jS4Y3831ztGSTnDpnKJTKS95d64XVq',
];

/**
 * Returns the accounts that the swap names besides the wallet's `own`. Each account comes once,
 * writable if any mention of it is. Programs and sysvars that the swap only reads are left out:
 * they are no multisigs and not the wallet's, and one token program is a tenth of a megabyte.
 */
export function foreignAccounts(instruction: Instruction, own: readonly Address[]): AccountMeta[] {
  const foreign = new Map<Address, AccountMeta>();
  for (const account of instruction.accounts) {
    const { address, writable } = account;
    if (own.includes(address) || foreign.get(address)?.writable === true) continue;
    if (!writable && isReservedAddress(address)) continue;
    foreign.set(address, account);
  }
  return [...foreign.values()];
}

/** An account that the swap can reach, as the chain has it. */
export interface Exposed {
  readonly address: Address;
  readonly writable: boolean;
  readonly account: Account | null;
}

export interface ExposureSubject {
  readonly wallet: Address;
  /** The 32 bytes of the wallet's address. */
  readonly key: Uint8Array;
  readonly exposed: readonly Exposed[];
}

export function exposureSubject(wallet: Address, exposed: readonly Exposed[]): ExposureSubject {
  return { wallet, key: addressBytes(wallet), exposed };
}

export const exposureRules: readonly Rule<ExposureSubject>[] = [
  {
    id: 'exposed_account',
    refuses: 'it could write to another account that names the wallet',
    why: 'The wallet signs for the whole instruction: a token account, a stake, a nonce, a program, a loan or whatever else obeys it could be emptied.',
    // Accounts of every program count: we cannot know which programs obey a key in their data.
    passes: ({ key, exposed }) =>
      exposed.every(
        ({ writable, account }) => !writable || account === null || !contains(account.data, key),
      ),
  },
  {
    id: 'exposed_tree',
    refuses: 'it could write to a tree of compressed assets',
    why: 'Such a tree names owners only by hash: the wallet may own a leaf of it, and its signature could give that away.',
    passes: ({ exposed }) =>
      exposed.every(
        ({ writable, account }) =>
          !writable || account === null || !COMPRESSION_PROGRAMS.includes(account.owner),
      ),
  },
  {
    id: 'exposed_vacancy',
    refuses: 'it could write to an address at which a token account of the wallet is yet to come',
    why: 'What arrives there before the swap lands, by a payment or another swap, would lie in reach of the venue.',
    passes: exposesNoVacancy,
  },
  {
    id: 'exposed_multisig',
    refuses:
      'it names, even only to read, another token account of the wallet, a multisig (or what may be one) of which the wallet is a member, or a mint that gives the wallet power over accounts',
    why: 'The signature of the wallet counts for what obeys them, and that need not name the wallet: a position in a pool obeys the owner of the account with its NFT.',
    passes: ({ key, exposed }) =>
      exposed.every(({ account }) => account === null || !contains(powersIn(account), key)),
  },
];

/**
 * Throws `unsafe_swap` if the venue could reach another account of the wallet. This also refuses, on
 * purpose, a route over an intermediate account of the wallet and a market that stores its key.
 */
export function checkExposure(wallet: Address, exposed: readonly Exposed[]): void {
  enforce(exposureRules, exposureSubject(wallet, exposed));
}

function exposesNoVacancy(subject: ExposureSubject): boolean {
  const vacant = subject.exposed.filter(
    ({ writable, account }) => writable && !accountExists(account),
  );
  // Skip the slow derivation of addresses for most swaps, because they name no vacant account.
  const own = vacant.length === 0 ? [] : ownAccounts(subject);
  return !vacant.some(({ address }) => own.includes(address));
}

/**
 * Returns the wallet's accounts for tokens that may well reach it: pinned tokens, and tokens with a
 * mint that the swap names. Any other vacant address may be a market's.
 */
function ownAccounts({ wallet, exposed }: ExposureSubject): Address[] {
  const named = exposed.flatMap(({ address, account }) => {
    const mint = account === null ? undefined : decodeMint(account);
    return mint === undefined ? [] : [{ mint: address, tokenProgram: mint.tokenProgram }];
  });
  return [...everyPinnedMint, ...named].map(({ mint, tokenProgram }) =>
    associatedTokenAddress(wallet, mint, tokenProgram),
  );
}

/**
 * Returns the part of an account that may name wallets with a power over other accounts: owners of
 * NFTs, members of multisigs, and the wallets that a mint lets freeze, move or collect the tokens of
 * others. Accounts of any program count: they may list signers in forms that we do not know.
 */
function powersIn(account: Account): Uint8Array {
  // The mint authority comes first in a mint. It can do nothing with a mint that is only read.
  return decodeMint(account) === undefined ? account.data : account.data.subarray(36);
}

function contains(data: Uint8Array, key: Uint8Array): boolean {
  const [first] = key;
  if (first === undefined) return false;
  for (
    let at = data.indexOf(first);
    at !== -1 && at + key.length <= data.length;
    at = data.indexOf(first, at + 1)
  ) {
    if (key.every((byte, index) => data[at + index] === byte)) return true;
  }
  return false;
}
