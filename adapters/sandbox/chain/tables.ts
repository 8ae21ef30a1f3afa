import { address } from '@solana/kit';
import type { Address } from '@solana/kit';
import type { ChainAccount } from '../types.js';
import { addressOf, keyBytes, view } from './bytes.js';
import type { WireTransaction } from './wire.js';

export const LOOKUP_TABLE_PROGRAM = address('AddressLookupTab1e1111111111111111111111111');
const HEADER_SIZE = 56;
const NEVER = 0xffff_ffff_ffff_ffffn;

/**
 * A lookup table, active and extended long ago, so that it serves from the slot it is written in.
 */
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

/** Undefined for an account that is no lookup table. */
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

/** All accounts of a transaction, in the order in which its instructions count them. */
export function allKeys(transaction: WireTransaction, loaded: LoadedKeys): Address[] {
  return [...transaction.keys, ...loaded.writable, ...loaded.readonly];
}

/**
 * What the transaction's lookups load, undefined if one of them does not resolve (the runtime then
 * says why).
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
