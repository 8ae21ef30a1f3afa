import { resolveInstructions } from '../../solana/transaction.js';
import { readTables, type TableOptions, type TableReader } from '../../solana/tables.js';
import type { Address, Instruction } from '../../solana/types.js';
import type { SwapBuild } from '../types.js';
import { envelopeRules, readTransaction } from './envelope.js';
import { enforce, refusal } from './rule.js';
import { isSwap, shapeRules } from './shape.js';
import { wrappedAccount } from './surroundings.js';
import { tableNameRules, tableRules } from './tables.js';
import { temporaryIn } from './temporary.js';

/**
 * Takes the one swap instruction out of a foreign unsigned transaction, base64 or bytes, and leaves the rest: what surrounds a swap is
 * composed by us. Its lookup tables are read from the caller's own node. Throws `unsafe_swap` for anything that is not such a transaction.
 */
export async function extractSwap(rpc: TableReader, transaction: unknown, wallet: Address, options: TableOptions): Promise<SwapBuild> {
  const decoded = readTransaction(transaction);
  enforce(envelopeRules, { decoded, wallet });
  const lookups = decoded?.lookups ?? [];
  const names = lookups.map(({ table }) => table);
  enforce(tableNameRules, names);
  const tables = await readTables(rpc, names, { ...options, fresh: true });
  enforce(tableRules, { tables, lookups });
  const instructions = decoded === undefined ? undefined : resolveInstructions(decoded, tables);
  enforce(shapeRules, { instructions, wallet });
  const instruction = instructions?.find((one) => isSwap(one, wallet));
  // The rules have refused a transaction without one; the type system cannot know.
  if (instruction === undefined) throw refusal({ id: 'one_swap', refuses: 'it has no instruction of Jupiter' });
  return { instruction: withOwnAccount(instruction, temporaryIn(instructions ?? [], wallet), wallet), lookupTables: names };
}

/** The same swap on the wallet's own wrapped SOL account: nothing of ours makes the temporary one. */
function withOwnAccount(instruction: Instruction, temporary: Address | undefined, wallet: Address): Instruction {
  if (temporary === undefined) return instruction;
  const own = wrappedAccount({ wallet });
  const accounts = instruction.accounts.map((account) => (account.address === temporary ? { ...account, address: own } : account));
  return { ...instruction, accounts };
}
