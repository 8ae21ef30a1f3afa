import type { Book } from '../../../src/journal/book.js';

/** A book with its amounts as decimal strings, as JSON has no integers of that size. */
interface Written {
  readonly known?: { readonly amount: string; readonly at: number; readonly slot?: number; readonly doubtful: number };
  readonly made: number;
  readonly holds: readonly { readonly id: string; readonly amount: string; readonly ordinal: number }[];
  readonly ended: readonly { readonly id: string; readonly amount: string; readonly slot?: number }[];
}

export function encodeBook(book: Book): string {
  return JSON.stringify(book, (_, value: unknown) => (typeof value === 'bigint' ? value.toString() : value));
}

export function decodeBook(text: string): Book {
  // Written by `encodeBook`.
  const { known, made, holds, ended } = JSON.parse(text) as Written;
  return {
    ...(known === undefined ? {} : { known: { ...known, amount: BigInt(known.amount) } }),
    made,
    holds: holds.map((held) => ({ ...held, amount: BigInt(held.amount) })),
    ended: ended.map((end) => ({ ...end, amount: BigInt(end.amount) })),
  };
}
