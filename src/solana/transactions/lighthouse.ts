import type { RuleText } from '../../internal/rule.js';
import type { Address } from '../types.js';

/**
 * The program with which wallets guard their users. Its instructions compare accounts with the
 * values that the wallet showed, and fail the transaction if they differ.
 */
export const LIGHTHOUSE_PROGRAM: Address = 'L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95';

/** The guards that only read: first byte of the data, and the number of accounts. */
export const GUARD_ACCOUNTS: ReadonlyMap<number | undefined, number> = new Map([
  // A number without a name here is the `Multi` form of the instruction above it.
  [2, 1], // AssertAccountData
  [3, 1],
  [4, 2], // AssertAccountDelta
  [5, 1], // AssertAccountInfo
  [6, 1],
  [7, 1], // AssertMintAccount
  [8, 1],
  [9, 1], // AssertTokenAccount
  [10, 1],
  [11, 1], // AssertStakeAccount
  [12, 1],
  [13, 1], // AssertUpgradeableLoaderAccount
  [14, 1],
  [15, 0], // AssertSysvarClock
]);

/** Log levels, in the second byte of the data, at which a guard calls no other program. */
export const QUIET_LEVELS: ReadonlySet<number | undefined> = new Set([0, 1, 2, 4, 5]);

/** The instructions of the program that do more than read. */
export const REFUSED_GUARDS: readonly (RuleText & { readonly first: number })[] = [
  {
    first: 0,
    id: 'wallet_memory_write',
    refuses: 'it adds MemoryWrite, which makes an account',
    why: 'The wallet or the fee payer is charged its rent, about 0.0011 SOL.',
  },
  {
    first: 1,
    id: 'wallet_memory_close',
    refuses: 'it adds MemoryClose, which closes an account',
    why: 'The lamports of that account move.',
  },
  {
    first: 16,
    id: 'wallet_merkle_tree',
    refuses: 'it adds AssertMerkleTreeAccount, which calls another program',
    why: 'That program gets the accounts, and the wallet as their signer.',
  },
  {
    first: 17,
    id: 'wallet_bubblegum_tree',
    refuses: 'it adds AssertBubblegumTreeConfigAccount',
    why: 'It is not known to read only.',
  },
];
