import type { AccountBalance, BalanceChange, Reading } from '../../src/journal/account-balance.js';

/** What is an amount in balances and their changes: JSON has no integers of that size. */
const AMOUNTS: readonly string[] = ['amount', 'moved'];

/** A balance, or a change of one, as JSON has it: amounts are decimal strings. */
export function withTexts(value: object): object {
  return JSON.parse(
    JSON.stringify(value, (_, one: unknown) => (typeof one === 'bigint' ? one.toString() : one)),
  ) as object;
}

// The same again, of what was written by `withTexts`.
export const balanceFrom = (json: object) => withAmounts(json) as AccountBalance;
export const changeFrom = (json: object) => withAmounts(json) as BalanceChange;
export const readingFrom = (json: object) => withAmounts(json) as Reading;

/** Throws if an amount is none. */
function withAmounts(json: unknown): unknown {
  if (typeof json !== 'object' || json === null) return json;
  if (Array.isArray(json)) return json.map(withAmounts);
  const fields = Object.entries(json).map(([name, one]: [string, unknown]) => {
    return [name, AMOUNTS.includes(name) ? BigInt(String(one)) : withAmounts(one)] as const;
  });
  return Object.fromEntries(fields);
}
