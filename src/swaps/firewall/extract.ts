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
import type { SwapInPlace } from './placed-instructions.js';
import { enforce, refusal } from './rule.js';
import { shapeRules } from './shape.js';
import { wrappedAccount } from './surroundings.js';
import { tableNameRules, tableRules } from './tables.js';
import { temporaryIn } from './temporary.js';

/** A foreign transaction with exactly one swap, read from its bytes and its lookup tables. */
export interface ForeignSwap extends Omit<SwapInPlace, 'expected'> {
  readonly swap: Instruction;
  readonly lookupTables: readonly Address[];
  /** The temporary SOL account, if the transaction makes one. */
  readonly temporary: Address | undefined;
}

export interface ForeignOptions extends TableOptions {
  /** Decoders of all programs that may swap. */
  readonly decoders: readonly SwapDecoder[];
}

/**
 * Reads a foreign unsigned transaction, base64 or bytes, and its lookup tables from the caller's own
 * node. Throws `unsafe_swap` if it breaks a rule, or has not exactly one swap.
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
  const swapAt =
    instructions?.findIndex((instruction) => isSwap(decoders, instruction, wallet)) ?? -1;
  const swap = instructions?.[swapAt];
  // The rules have refused a transaction without a swap, but the type system cannot know.
  if (instructions === undefined || swap === undefined)
    throw refusal({ id: 'one_swap', refuses: 'it has no instruction that swaps' });
  return {
    ...{ instructions, swapAt, swap, lookupTables },
    temporary: temporaryIn(decoders, instructions, wallet),
  };
}

/**
 * Returns only the swap instruction of a foreign unsigned transaction, base64 or bytes, because we
 * compose the rest ourselves. Lookup tables are read from the caller's own node. Throws
 * `unsafe_swap` for anything but a transaction with one swap.
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
 * Returns the swap with the wallet's own wrapped SOL account in place of the temporary account: our
 * transaction makes no temporary account.
 */
export function onOwnAccount({ swap, temporary }: ForeignSwap, wallet: Address): Instruction {
  if (temporary === undefined) return swap;
  const own = wrappedAccount({ wallet });
  const accounts = swap.accounts.map((account) =>
    account.address === temporary ? { ...account, address: own } : account,
  );
  return { ...swap, accounts };
}
