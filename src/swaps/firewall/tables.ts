import { isAddress } from '../../solana/address.js';
import type { DecodedLookup } from '../../solana/transactions/transaction.js';
import {
  readTables,
  type ReadTable,
  type TableOptions,
  type TableReader,
} from '../../solana/transactions/tables.js';
import type { Address, LookupTable } from '../../solana/types.js';
import { enforce, type Rule } from './rule.js';

const MAX_TABLES = 6;

/** Rules on the addresses of the lookup tables that a transaction names. */
export const tableNameRules: readonly Rule<readonly Address[]>[] = [
  {
    id: 'lookup_tables',
    refuses: `it names more than ${MAX_TABLES} lookup tables, or one of them twice`,
    why: 'A table named twice can hide an account behind two names; a crowd of them makes the node read for nothing.',
    passes: (names) =>
      names.length <= MAX_TABLES && new Set(names).size === names.length && names.every(isAddress),
  },
];

/** Lookup tables as the caller's own node has them, and the entries that a transaction uses. */
export interface TablesSubject {
  readonly tables: readonly ReadTable[];
  readonly lookups: readonly DecodedLookup[];
}

export const tableRules: readonly Rule<TablesSubject>[] = [
  {
    id: 'lookup_table_owner',
    refuses: 'a lookup table of it does not exist or is not one',
    why: 'An account of another program can be rewritten between the check and the landing.',
    passes: ({ tables }) => tables.every(({ state }) => state !== 'none'),
  },
  {
    id: 'lookup_table_inactive',
    refuses: 'a lookup table of it is being closed',
    why: 'A closed table can be replaced by another, and the transaction would name other accounts.',
    passes: ({ tables }) => tables.every(({ state }) => state !== 'inactive'),
  },
  {
    id: 'lookup_table_entry',
    refuses: 'it takes an account that a lookup table does not have yet',
    why: 'An entry that is not there can still be written, after the check.',
    passes: ({ tables, lookups }) => lookups.every((lookup) => hasEntries(lookup, tables)),
  },
];

function hasEntries(
  { table, writable, readonly }: DecodedLookup,
  tables: readonly ReadTable[],
): boolean {
  const length = tables.find(({ address }) => address === table)?.addresses.length ?? 0;
  return [...writable, ...readonly].every((index) => index < length);
}

/**
 * Reads from the caller's own node the lookup tables that a service suggests for its swap. Throws
 * `unsafe_swap` if they break a rule.
 */
export async function fetchLookupTables(
  rpc: TableReader,
  names: readonly Address[],
  options?: TableOptions,
): Promise<LookupTable[]> {
  enforce(tableNameRules, names);
  const tables = await readTables(rpc, names, options);
  enforce(tableRules, { tables, lookups: [] });
  return tables;
}
