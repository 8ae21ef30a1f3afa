import { U64_MAX } from '../amount.js';
import { QuoteError } from '../errors.js';
import { LOOKUP_TABLE_PROGRAM } from '../network.js';
import { systemRuntime } from '../runtime.js';
import { addressOf, isAddress } from './address.js';
import type { Account, CallOptions, Rpc } from './rpc.js';
import type { Address, LookupTable } from './types.js';

const MAX_TABLES = 6;
const HEADER_BYTES = 56;
const KEY_BYTES = 32;
/** Tables only grow and are deactivated long before they are gone, so an old copy is a smaller one, never a wrong one. */
const MAX_AGE_MS = 5 * 60_000;
const CACHE_ENTRIES = 256;

interface Cached {
  readonly table: LookupTable;
  readonly at: number;
}

const caches = new WeakMap<Rpc, Map<Address, Cached>>();

/**
 * Fetches address lookup tables from the caller's own node. Throws `unsafe_swap` with rule `L1` (too many, twice, or no
 * address), `L2` (not an active table) or `L3` (nothing usable in it yet).
 */
export async function fetchLookupTables(
  rpc: Rpc,
  addresses: readonly Address[],
  options?: CallOptions,
  now: () => number = () => systemRuntime.now(),
): Promise<LookupTable[]> {
  if (addresses.length > MAX_TABLES || new Set(addresses).size !== addresses.length || !addresses.every(isAddress)) {
    throw unsafe('L1', `it names ${addresses.length} lookup tables, of at most ${MAX_TABLES} different ones`);
  }
  const cache = caches.get(rpc) ?? new Map<Address, Cached>();
  caches.set(rpc, cache);
  const cutoff = now() - MAX_AGE_MS;
  const missing = addresses.filter((address) => (cache.get(address)?.at ?? -Infinity) <= cutoff);
  const fetched = new Map<Address, LookupTable>();
  if (missing.length > 0) {
    const { slot, accounts } = await rpc.accounts(missing, options);
    missing.forEach((address, index) => fetched.set(address, readTable(address, accounts[index] ?? null, slot)));
  }
  const tables = addresses.map((address) => fetched.get(address) ?? cache.get(address)?.table);
  for (const [address, table] of fetched) remember(cache, address, { table, at: now() });
  return tables.filter((table): table is LookupTable => table !== undefined);
}

function remember(cache: Map<Address, Cached>, address: Address, entry: Cached): void {
  cache.delete(address);
  cache.set(address, entry);
  for (const oldest of cache.keys()) {
    if (cache.size <= CACHE_ENTRIES) return;
    cache.delete(oldest);
  }
}

function readTable(address: Address, account: Account | null, slot: number): LookupTable {
  const data = account?.data ?? new Uint8Array();
  const count = (data.length - HEADER_BYTES) / KEY_BYTES;
  if (account?.owner !== LOOKUP_TABLE_PROGRAM || !Number.isInteger(count) || count < 0 || count > 256) {
    throw unsafe('L2', 'a lookup table does not exist or is not one');
  }
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  // u32 state 1, u64 deactivation slot, u64 last extended slot, u8 where that extension starts.
  if (view.getUint32(0, true) !== 1 || view.getBigUint64(4, true) !== U64_MAX) throw unsafe('L2', 'a lookup table is not active');
  // What was added in this very slot can only be used from the next one on: left out, nobody can name it.
  const usable = view.getBigUint64(12, true) < BigInt(slot) ? count : Math.min(count, view.getUint8(20));
  if (usable === 0) throw unsafe('L3', 'a lookup table holds nothing that can be used yet');
  const keyAt = (index: number) => addressOf(data.subarray(HEADER_BYTES + KEY_BYTES * index, HEADER_BYTES + KEY_BYTES * (index + 1)));
  return { address, addresses: Array.from({ length: usable }, (_, index) => keyAt(index)) };
}

function unsafe(rule: string, reason: string): QuoteError {
  return new QuoteError('unsafe_swap', `The swap was refused: ${reason} (rule ${rule}). Nothing was signed; take another quote.`, {
    details: { rule },
  });
}
