/** What is an amount in balances and their changes: JSON has no integers of that size. */
const AMOUNTS: readonly string[] = ['amount', 'moved'];

/** A balance, or a change of one, as JSON has it: amounts are decimal strings. */
export function withTexts(value: object): object {
  return JSON.parse(
    JSON.stringify(value, (_, one: unknown) => (typeof one === 'bigint' ? one.toString() : one)),
  ) as object;
}

/** The same again. Throws if an amount is none. */
export function withAmounts<T extends object>(json: object): T {
  return JSON.parse(JSON.stringify(json), (name, one: string) =>
    AMOUNTS.includes(name) ? BigInt(one) : one,
  ) as T; // Written by `withTexts`.
}
