/** The largest amount that a token account, and so a payment, can hold. */
export const U64_MAX = 2n ** 64n - 1n;

/** A whole in basis points. */
export const WHOLE = 10_000n;

const BASE_UNITS = /^(0|[1-9][0-9]{0,19})$/;
const DECIMAL = /^(0|[1-9][0-9]{0,19})(?:\.([0-9]{1,18}))?$/;

/** Reads a strict decimal string of base units (0 to 2^64-1); undefined for any other value. */
export function parseAmount(value: unknown): bigint | undefined {
  if (typeof value !== 'string' || !BASE_UNITS.test(value)) return undefined;
  const amount = BigInt(value);
  return amount <= U64_MAX ? amount : undefined;
}

/**
 * Reads an amount argument: a bigint, or a decimal string of base units. Undefined unless it is
 * within 0 to 2^64-1.
 */
export function toAmount(value: unknown): bigint | undefined {
  if (typeof value === 'bigint') return value >= 0n && value <= U64_MAX ? value : undefined;
  return parseAmount(value);
}

/**
 * Reads decimal text such as `"0.25"` into base units of a token with `decimals` decimals.
 * Undefined if the text is malformed or has more fraction digits than `decimals`.
 */
export function parseUiAmount(text: unknown, decimals: number): bigint | undefined {
  const match = typeof text === 'string' ? DECIMAL.exec(text) : null;
  if (match === null) return undefined;
  const [, whole = '0', fraction = ''] = match;
  if (fraction.length > decimals) return undefined;
  return BigInt(whole) * 10n ** BigInt(decimals) + BigInt(fraction.padEnd(decimals, '0') || '0');
}

/** Returns base units as decimal text for people: `formatUiAmount(2500000n, 6)` is `"2.5"`. */
export function formatUiAmount(amount: bigint, decimals: number): string {
  if (amount < 0n) return `-${formatUiAmount(-amount, decimals)}`;
  const digits = amount.toString().padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '');
  return fraction === '' ? whole : `${whole}.${fraction}`;
}

/** Decimals of a dollar amount inside the library. */
export const USD_DECIMALS = 6;

/** Returns millionths of a dollar as text: `"1.25"` for `1250000n`. */
export function formatUsd(microUsd: bigint): string {
  return formatUiAmount(microUsd, USD_DECIMALS);
}

/** Divides and rounds up; both arguments must be positive. */
export function ceilDiv(numerator: bigint, denominator: bigint): bigint {
  return (numerator + denominator - 1n) / denominator;
}

export function maxAmount(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

export function minAmount(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

export function sumAmounts(amounts: readonly bigint[]): bigint {
  return amounts.reduce((sum, amount) => sum + amount, 0n);
}
