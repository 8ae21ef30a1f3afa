import type { Address } from '@solana/kit';
import type { Message } from './build.js';

interface Lookup {
  readonly table: Address;
  readonly readonly?: readonly number[];
  readonly writable?: readonly number[];
}

/**
 * Adds a lookup at the end of a message. The indexes of a message count static accounts, then
 * writable accounts of all lookups, then read-only accounts.
 */
export function loading(
  message: Message,
  { table: lookupTableAddress, readonly = [], writable = [] }: Lookup,
): Message {
  const lookups = message.addressTableLookups ?? [];
  const readonlyFrom = message.staticAccounts.length + loadedCount(message, 'writableIndexes');
  const moved = (index: number) => (index < readonlyFrom ? index : index + writable.length);
  return {
    ...message,
    addressTableLookups: [
      ...lookups,
      { lookupTableAddress, readonlyIndexes: [...readonly], writableIndexes: [...writable] },
    ],
    instructions: message.instructions.map((one) => ({
      ...one,
      accountIndices: (one.accountIndices ?? []).map(moved),
    })),
  };
}

function loadedCount(
  { addressTableLookups = [] }: Message,
  kind: 'writableIndexes' | 'readonlyIndexes',
): number {
  return addressTableLookups.reduce((total, lookup) => total + lookup[kind].length, 0);
}

/** Counts the accounts of a message, accounts from lookup tables included. */
export function accountCount(message: Message): number {
  return (
    message.staticAccounts.length +
    loadedCount(message, 'writableIndexes') +
    loadedCount(message, 'readonlyIndexes')
  );
}
