import { address } from '@solana/kit';
import type { Address } from '@solana/kit';
import type { ChainAccount } from '../types.js';
import { addressOf, keyBytes, view } from './bytes.js';
import type { WireTransaction } from './wire.js';

export const LOOKUP_TABLE_PROGRAM = address('AddressLookupTab1e1111111111111111111111111');
const HEADER_SIZE = 56;
const NEVER = 0xffff_ffff_ffff_ffffn;

/** Encodes an active lookup table, extended long ago, so that transactions can use it at once. */
export function lookupTableData(
  addresses: readonly Address[],
  authority: Address | undefined,
): Uint8Array {
  const data = new Uint8Array(HEADER_SIZE + 32 * addresses.length);
  const numbers = view(data);
  numbers.setUint32(0, 1, true);
  numbers.setBigUint64(4, NEVER, true);
  if (authority) {
    data[21] = 1;
    data.set(keyBytes(authority), 22);
  }
  addresses.forEach((entry, index) => data.set(keyBytes(entry), HEADER_SIZE + 32 * index));
  return data;
}

/** Returns the addresses of a lookup table; undefined for any other account. */
export function readLookupTable(account: ChainAccount | undefined): Address[] | undefined {
  if (
    account?.owner !== LOOKUP_TABLE_PROGRAM ||
    account.data.length < HEADER_SIZE ||
    view(account.data).getUint32(0, true) !== 1
  )
    return undefined;
  const { data } = account;
  return Array.from({ length: Math.floor((data.length - HEADER_SIZE) / 32) }, (_, index) =>
    addressOf(data.slice(HEADER_SIZE + 32 * index, HEADER_SIZE + 32 * (index + 1))),
  );
}

export interface LoadedKeys {
  readonly writable: readonly Address[];
  readonly readonly: readonly Address[];
}

/** Returns all accounts of a transaction, in the order of the indexes in its instructions. */
export function allKeys(transaction: WireTransaction, loaded: LoadedKeys): Address[] {
  return [...transaction.keys, ...loaded.writable, ...loaded.readonly];
}

/**
 * Returns the accounts that the transaction's lookups load. Returns undefined if a lookup does not
 * resolve; then the runtime reports the error.
 */
export function loadKeys(
  transaction: WireTransaction,
  read: (address: Address) => ChainAccount | undefined,
): LoadedKeys | undefined {
  const writable: Address[] = [];
  const readonly: Address[] = [];
  for (const lookup of transaction.lookups) {
    const table = readLookupTable(read(lookup.table));
    for (const [indexes, into] of [
      [lookup.writable, writable] as const,
      [lookup.readonly, readonly] as const,
    ]) {
      for (const index of indexes) {
        const entry = table?.[index];
        if (entry === undefined) return undefined;
        into.push(entry);
      }
    }
  }
  return { writable, readonly };
}
