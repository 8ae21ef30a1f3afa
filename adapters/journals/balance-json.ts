import type { AccountBalance, BalanceChange, Reading } from '../../src/journal/account-balance.js';

/** Fields of balances and changes that hold a bigint: JSON has no integers of that size. */
const AMOUNTS: readonly string[] = ['amount', 'moved'];

/** Returns a balance or a change as JSON has it: amounts are decimal strings. */
export function withTexts(value: object): object {
  return JSON.parse(
    JSON.stringify(value, (_, field: unknown) =>
      typeof field === 'bigint' ? field.toString() : field,
    ),
  ) as object;
}

// These read the JSON that `withTexts` writes.
export const balanceFrom = (json: object) => withAmounts(json) as AccountBalance;
export const changeFrom = (json: object) => withAmounts(json) as BalanceChange;
export const readingFrom = (json: object) => withAmounts(json) as Reading;

/** Turns the decimal strings of amounts into bigints. Throws if a string is no integer. */
function withAmounts(json: unknown): unknown {
  if (typeof json !== 'object' || json === null) return json;
  if (Array.isArray(json)) return json.map(withAmounts);
  const fields = Object.entries(json).map(([name, field]: [string, unknown]) => {
    return [name, AMOUNTS.includes(name) ? BigInt(String(field)) : withAmounts(field)] as const;
  });
  return Object.fromEntries(fields);
}
