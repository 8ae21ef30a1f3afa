import {
  readTables,
  type TableOptions,
  type TableReader,
} from '../../solana/transactions/tables.js';
import { resolveInstructions } from '../../solana/transactions/resolve.js';
import type { Address, Instruction } from '../../solana/types.js';
import type { SwapBuild, SwapDecoder } from '../provider.js';
import { isSwap } from './decoders.js';
import { envelopeRules, readTransaction } from './envelope.js';
import { enforce, refusal } from './rule.js';
import { shapeRules } from './shape.js';
import { wrappedAccount } from './surroundings.js';
import { tableNameRules, tableRules } from './tables.js';
import { temporaryIn } from './temporary.js';

/** A foreign transaction that has one swap in it, as its bytes and its lookup tables say. */
export interface ForeignSwap {
  /** With their accounts spelled out. */
  readonly instructions: readonly Instruction[];
  /** Position of the one instruction that swaps. */
  readonly swapAt: number;
  readonly swap: Instruction;
  readonly lookupTables: readonly Address[];
  /** The account for the SOL of this swap, if the transaction makes one. */
  readonly temporary: Address | undefined;
}

/** How a foreign transaction is read. */
export interface ForeignOptions extends TableOptions {
  /** What reads the instructions of each program that may swap. */
  readonly decoders: readonly SwapDecoder[];
}

/**
 * Reads a foreign unsigned transaction, base64 or bytes. Its lookup tables are read from the
 * caller's own node. Throws `unsafe_swap` if it has not one swap.
 */
export async function readForeign(
  rpc: TableReader,
  transaction: unknown,
  wallet: Address,
  { decoders, ...options }: ForeignOptions,
): Promise<ForeignSwap> {
  const decoded = readTransaction(transaction);
  enforce(envelopeRules, { decoded, wallet });
  const lookups = decoded?.lookups ?? [];
  const lookupTables = lookups.map(({ table }) => table);
  enforce(tableNameRules, lookupTables);
  const tables = await readTables(rpc, lookupTables, { ...options, fresh: true });
  enforce(tableRules, { tables, lookups });
  const instructions = decoded === undefined ? undefined : resolveInstructions(decoded, tables);
  enforce(shapeRules, { decoders, instructions, wallet });
  const swapAt = instructions?.findIndex((one) => isSwap(decoders, one, wallet)) ?? -1;
  const swap = instructions?.[swapAt];
  // The rules have refused a transaction without one; the type system cannot know.
  if (instructions === undefined || swap === undefined)
    throw refusal({ id: 'one_swap', refuses: 'it has no instruction that swaps' });
  return {
    ...{ instructions, swapAt, swap, lookupTables },
    temporary: temporaryIn(decoders, instructions, wallet),
  };
}

/**
 * Takes the one swap instruction out of a foreign unsigned transaction, base64 or bytes, and leaves
 * the rest: what surrounds a swap is composed by us. Its lookup tables are read from the caller's
 * own node. Throws `unsafe_swap` for anything that is not such a transaction.
 */
export async function extractSwap(
  rpc: TableReader,
  transaction: unknown,
  wallet: Address,
  options: ForeignOptions,
): Promise<SwapBuild> {
  const foreign = await readForeign(rpc, transaction, wallet, options);
  return { instruction: onOwnAccount(foreign, wallet), lookupTables: foreign.lookupTables };
}

/**
 * The same swap on the wallet's own wrapped SOL account: nothing of ours makes the temporary one.
 */
export function onOwnAccount({ swap, temporary }: ForeignSwap, wallet: Address): Instruction {
  if (temporary === undefined) return swap;
  const own = wrappedAccount({ wallet });
  const accounts = swap.accounts.map((account) =>
    account.address === temporary ? { ...account, address: own } : account,
  );
  return { ...swap, accounts };
}
