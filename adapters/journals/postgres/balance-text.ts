import type { AccountBalance } from '../../../src/journal/account-balance.js';

/** A balance with its amounts as decimal strings, as JSON has no integers of that size. */
interface Written {
  readonly known?: {
    readonly amount: string;
    readonly at: number;
    readonly slot?: number;
    readonly doubtful: number;
  };
  readonly reading?: { readonly amount: string; readonly slot: number };
  readonly made: number;
  readonly holds: readonly {
    readonly id: string;
    readonly amount: string;
    readonly ordinal: number;
  }[];
  readonly spent: readonly {
    readonly id: string;
    readonly amount: string;
    readonly slot?: number;
  }[];
}

export function encodeBalance(balance: AccountBalance): string {
  return JSON.stringify(balance, (_, value: unknown) =>
    typeof value === 'bigint' ? value.toString() : value,
  );
}

export function decodeBalance(text: string): AccountBalance {
  // Written by `encodeBalance`.
  const { known, reading, made, holds, spent } = JSON.parse(text) as Written;
  return {
    ...(known === undefined ? {} : { known: { ...known, amount: BigInt(known.amount) } }),
    ...(reading === undefined ? {} : { reading: { ...reading, amount: BigInt(reading.amount) } }),
    made,
    holds: holds.map((held) => ({ ...held, amount: BigInt(held.amount) })),
    spent: spent.map((one) => ({ ...one, amount: BigInt(one.amount) })),
  };
}
