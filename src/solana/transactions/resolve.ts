import type { AccountMeta, Address, Instruction, LookupTable } from '../types.js';
import { MAX_ACCOUNTS } from './compile.js';
import type { DecodedMessage } from './transaction.js';

/**
 * The instructions with their accounts spelled out. Undefined if an index is out of range, a
 * program comes from a lookup table, is writable or signs, a table is missing or named twice, or an
 * account appears twice.
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
    const metas = all(accountIndexes.map((index) => accounts[index]));
    if (program === undefined || metas === undefined) return undefined;
    instructions.push({ program, accounts: metas, data });
  }
  return instructions;
}

/**
 * Programs stand among the static accounts; the network treats a writable one as read-only, we do
 * not guess what was meant.
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
 * Static accounts, then all writable and then all read-only ones from tables: the order that
 * indexes count in.
 */
function resolveAccounts(
  decoded: DecodedMessage,
  tables: readonly LookupTable[],
): AccountMeta[] | undefined {
  const { header, staticAccounts, lookups } = decoded;
  const { numRequiredSignatures: signed, numReadonlySigned, numReadonlyUnsigned } = header;
  const fixed = staticAccounts.map((address, index) => ({
    address,
    signer: index < signed,
    writable:
      index < signed
        ? index < signed - numReadonlySigned
        : index < staticAccounts.length - numReadonlyUnsigned,
  }));
  const load = (writable: boolean) =>
    lookups.flatMap((lookup) => {
      const table = tables.find((one) => one.address === lookup.table);
      return (writable ? lookup.writable : lookup.readonly).map((index) => {
        const address = table?.addresses[index];
        return address === undefined ? undefined : { address, signer: false, writable };
      });
    });
  const accounts = all([...fixed, ...load(true), ...load(false)]);
  if (accounts === undefined || accounts.length > MAX_ACCOUNTS) return undefined;
  const distinct = (addresses: readonly Address[]) => new Set(addresses).size === addresses.length;
  return distinct(accounts.map((one) => one.address)) && distinct(lookups.map((one) => one.table))
    ? accounts
    : undefined;
}

function all<T>(items: readonly (T | undefined)[]): T[] | undefined {
  const present = items.filter((item): item is T => item !== undefined);
  return present.length === items.length ? present : undefined;
}
