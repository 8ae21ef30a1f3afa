import { LOOKUP_TABLE_PROGRAM, SYSTEM_PROGRAM, TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../network.js';
import { addressBytes } from '../../solana/address.js';
import type { Account } from '../../solana/rpc.js';
import type { Address, Instruction } from '../../solana/types.js';
import { type Rule, enforce } from './rule.js';

/** Programs whose accounts obey a key that is written in them, and the wallet's signature reaches every venue of the swap. */
const OBEDIENT: ReadonlySet<Address> = new Set([
  TOKEN_PROGRAM,
  TOKEN_2022_PROGRAM,
  LOOKUP_TABLE_PROGRAM,
  // Durable nonces.
  SYSTEM_PROGRAM,
  'Stake11111111111111111111111111111111111111',
  'Vote111111111111111111111111111111111111111',
  'BPFLoaderUpgradeab1e11111111111111111111111',
  'LoaderV411111111111111111111111111111111111',
]);

/** The accounts that the swap may write to and that are not its own source, output or wallet. */
export function foreignWritable(instruction: Instruction, own: readonly Address[]): Address[] {
  const writable = instruction.accounts.filter((account) => account.writable && !own.includes(account.address));
  return [...new Set(writable.map((account) => account.address))];
}

export interface ExposureSubject {
  readonly wallet: Uint8Array;
  readonly accounts: readonly (Account | null)[];
}

export const exposureRules: readonly Rule<ExposureSubject>[] = [
  {
    id: 'exposed_account',
    refuses: 'it could write to another account that the wallet controls',
    why: 'The wallet signs for the whole instruction: a venue could move what lies in any account that obeys it.',
    passes: ({ wallet, accounts }) =>
      accounts.every((account) => account === null || !OBEDIENT.has(account.owner) || !contains(account.data, wallet)),
  },
];

/**
 * Refuses a swap that hands the venue another account of the wallet: a token account, a mint, a stake, a nonce, a program or a
 * table that names the wallet in its data. A route over an intermediate account of the wallet is refused with it, on purpose.
 */
export function checkExposure(wallet: Address, accounts: readonly (Account | null)[]): void {
  enforce(exposureRules, { wallet: addressBytes(wallet), accounts });
}

function contains(data: Uint8Array, key: Uint8Array): boolean {
  const [first] = key;
  if (first === undefined) return false;
  for (let at = data.indexOf(first); at !== -1 && at + key.length <= data.length; at = data.indexOf(first, at + 1)) {
    if (key.every((byte, index) => data[at + index] === byte)) return true;
  }
  return false;
}
