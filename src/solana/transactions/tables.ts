import { U64_MAX } from '../../amount.js';
import { setNewest } from '../../internal/newest.js';
import { viewOf } from '../../internal/bytes.js';
import { sinceThen, systemRuntime } from '../../internal/runtime.js';
import { LOOKUP_TABLE_PROGRAM } from '../programs.js';
import { keyAt } from '../tokens/accounts.js';
import type { Account, CallOptions, Rpc } from '../rpc/rpc.js';
import type { Address, LookupTable } from '../types.js';

const HEADER_BYTES = 56;
const KEY_BYTES = 32;
const MAX_KEYS = 256;
/**
 * Milliseconds that a copy is used. A table only grows, and it is deactivated long before it is
 * closed. So an old copy may be smaller, but never wrong.
 */
const MAX_AGE_MS = 5 * 60_000;
const CACHE_ENTRIES = 256;

export interface ReadTable extends LookupTable {
  /** `none` if there is no lookup table at the address. */
  readonly state: 'none' | 'inactive' | 'active';
}

interface Cached {
  readonly table: ReadTable;
  readonly at: number;
}

export interface TableOptions extends CallOptions {
  /** Asks the node for cached tables too. */
  readonly fresh?: boolean;
}

export type TableReader = Pick<Rpc, 'accounts'>;

const caches = new WeakMap<TableReader, Map<Address, Cached>>();

/** Reads up to 100 lookup tables from the caller's own node, in the order of `addresses`. */
export async function readTables(
  rpc: TableReader,
  addresses: readonly Address[],
  { fresh = false, ...options }: TableOptions = {},
  now: () => number = () => systemRuntime.now(),
): Promise<ReadTable[]> {
  const cache = caches.get(rpc) ?? new Map<Address, Cached>();
  caches.set(rpc, cache);
  const isOld = (at: number) => fresh || sinceThen({ now }, at) >= MAX_AGE_MS;
  const missing = addresses.filter((address) => isOld(cache.get(address)?.at ?? -Infinity));
  const fetched = new Map<Address, ReadTable>();
  if (missing.length > 0) {
    const { slot, accounts } = await rpc.accounts(missing, options);
    missing.forEach((address, index) =>
      fetched.set(address, readTable(address, accounts[index] ?? null, slot)),
    );
  }
  const tables = addresses.map((address) => fetched.get(address) ?? cache.get(address)?.table);
  for (const [address, table] of fetched)
    if (table.state === 'active') setNewest(cache, address, { table, at: now() }, CACHE_ENTRIES);
  return tables.filter((table): table is ReadTable => table !== undefined);
}

function readTable(address: Address, account: Account | null, slot: number): ReadTable {
  const data = account?.data ?? new Uint8Array();
  const count = (data.length - HEADER_BYTES) / KEY_BYTES;
  const view = viewOf(data);
  const isTable =
    account?.owner === LOOKUP_TABLE_PROGRAM &&
    Number.isInteger(count) &&
    count >= 0 &&
    count <= MAX_KEYS;
  // Layout: u32 state 1, u64 deactivation slot, u64 last extended slot, u8 start of that extension.
  if (!isTable || view.getUint32(0, true) !== 1) return { address, state: 'none', addresses: [] };
  if (view.getBigUint64(4, true) !== U64_MAX) return { address, state: 'inactive', addresses: [] };
  // Keys added in this slot can be used only from the next slot on. Without them in the copy, no
  // transaction can name them.
  const usable =
    view.getBigUint64(12, true) < BigInt(slot) ? count : Math.min(count, view.getUint8(20));
  return {
    address,
    state: 'active',
    addresses: Array.from({ length: usable }, (_, index) =>
      keyAt(data, HEADER_BYTES + KEY_BYTES * index),
    ),
  };
}
