import type { AccountMeta, Address, Instruction, LookupTable } from '../types.js';
import { MAX_ACCOUNTS } from './compile.js';
import { type DecodedMessage, isWritable } from './transaction.js';

/**
 * Returns the instructions with the addresses of their accounts. Returns undefined if:
 * - an index is out of range, or a table is missing;
 * - a program comes from a lookup table, is writable, or signs;
 * - an account or a table is named twice.
 */
export function resolveInstructions(
  decoded: DecodedMessage,
  tables: readonly LookupTable[],
): Instruction[] | undefined {
  const accounts = resolveAccounts(decoded, tables);
  if (accounts === undefined) return undefined;
  const instructions: Instruction[] = [];
  for (const { programIndex, accountIndexes, data } of decoded.instructions) {
    const program = programAt(decoded, accounts, programIndex);
    const metas = allPresent(accountIndexes.map((index) => accounts[index]));
    if (program === undefined || metas === undefined) return undefined;
    instructions.push({ program, accounts: metas, data });
  }
  return instructions;
}

/**
 * Returns the address of a program, which must be among the static accounts. The network treats a
 * writable program as read-only. Here it is refused, so that the meaning is never guessed.
 */
function programAt(
  { staticAccounts }: DecodedMessage,
  accounts: readonly AccountMeta[],
  index: number,
): Address | undefined {
  const meta = index < staticAccounts.length ? accounts[index] : undefined;
  return meta === undefined || meta.writable || meta.signer ? undefined : meta.address;
}

/**
 * Returns the accounts in the order of their indexes: static accounts, then writable accounts of
 * tables, then read-only accounts of tables.
 */
function resolveAccounts(
  decoded: DecodedMessage,
  tables: readonly LookupTable[],
): AccountMeta[] | undefined {
  const { header, staticAccounts, lookups } = decoded;
  const fixed = staticAccounts.map((address, index) => ({
    address,
    signer: index < header.numRequiredSignatures,
    writable: isWritable(decoded, index),
  }));
  const load = (writable: boolean) =>
    lookups.flatMap((lookup) => {
      const table = tables.find((candidate) => candidate.address === lookup.table);
      return (writable ? lookup.writable : lookup.readonly).map((index) => {
        const address = table?.addresses[index];
        return address === undefined ? undefined : { address, signer: false, writable };
      });
    });
  const accounts = allPresent([...fixed, ...load(true), ...load(false)]);
  if (accounts === undefined || accounts.length > MAX_ACCOUNTS) return undefined;
  const distinct = (addresses: readonly Address[]) => new Set(addresses).size === addresses.length;
  return distinct(accounts.map((account) => account.address)) &&
    distinct(lookups.map((lookup) => lookup.table))
    ? accounts
    : undefined;
}

function allPresent<T>(items: readonly (T | undefined)[]): T[] | undefined {
  const present = items.filter((item): item is T => item !== undefined);
  return present.length === items.length ? present : undefined;
}
