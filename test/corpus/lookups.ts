import type { Address } from '@solana/kit';
import type { Message } from './build.js';

interface Lookup {
  readonly table: Address;
  readonly readonly?: readonly number[];
  readonly writable?: readonly number[];
}

/**
 * The message with one more lookup at its end. Its indexes count static accounts, then all that is
 * loaded writable, then the rest.
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

/** How many accounts the message has, those from lookup tables among them. */
export function accountCount(message: Message): number {
  return (
    message.staticAccounts.length +
    loadedCount(message, 'writableIndexes') +
    loadedCount(message, 'readonlyIndexes')
  );
}
