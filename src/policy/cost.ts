import { formatUsd } from '../amount.js';
import { isObject } from '../internal/record.js';
import type { CostParts } from '../receipt.js';
import { LAMPORTS, PAYMENTS, SWAPS, USD, USD_OF_FEES, USD_OF_SWAPS } from './units.js';

/**
 * A cost by unit: `USD` and its parts in millionths of a dollar, counts, lamports, base units of a
 * mint.
 */
export type Cost = ReadonlyMap<string, bigint>;

/** The cost of an attempt's swaps. It counts even if the payment never lands. */
export interface SwapCost {
  /** Number of signed swaps. */
  readonly swaps: number;
  /**
   * Millionths of a dollar: the value that goes in, less the value that comes back in a pinned
   * token. A token that is not pinned may be worth nothing, so its whole input counts.
   */
  readonly lossMicroUsd: string;
  /** {@link SwapCost.lamports} in millionths of a dollar; 0 if SOL has no price. */
  readonly feeMicroUsd: string;
  /** Network fees, and rent of token accounts that stay open. */
  readonly lamports: string;
  /** Base units that go in, by mint. */
  readonly inputs: Readonly<Record<string, string>>;
  /**
   * Millionths of a dollar of the payment's price that the inputs above have bought already: they
   * must not count twice.
   */
  readonly boughtMicroUsd: string;
  /**
   * Prices that a bound was computed with, so that the amounts on chain count by the same prices.
   */
  readonly prices?: SwapPrices;
  /** Whether a part of this cost has no price, so that the dollars above lack it. */
  readonly unpriced?: boolean;
}

/**
 * Values of 2^64 base units of a swap's input and output when it was signed: millionths of a dollar
 * as decimal strings.
 */
export interface SwapPrices {
  /** Rounded up; absent if the token had no price. */
  readonly input?: string;
  /** Rounded down; absent if the token had no price, or is not pinned. */
  readonly output?: string;
}

export const noSwapCost: SwapCost = {
  swaps: 0,
  lossMicroUsd: '0',
  feeMicroUsd: '0',
  lamports: '0',
  inputs: {},
  boughtMicroUsd: '0',
};

/**
 * The parts of an attempt's cost: its price, and what its swaps took or may take. Amounts are
 * decimal strings.
 */
export interface Expense {
  readonly mint: string;
  /** The price in base units of the mint. */
  readonly amount: string;
  /** The price in millionths of a dollar; absent if the mint has no price. */
  readonly microUsd?: string;
  /** Cost of swaps, as the chain shows it. */
  readonly swapped?: SwapCost;
  /** The most that a swap takes that is about to be signed, or may still land. */
  readonly swapping?: SwapCost;
}

/**
 * Returns the cost of an attempt; no other code defines it. It is the price, unless the price never
 * left; the loss in swaps; network fees and rent. A price that was bought with a counted input is
 * in that input already.
 *
 * @param isPaid - Whether the price has left, or may leave.
 */
export function costOf(
  { mint, amount, microUsd = '0', swapped, swapping }: Expense,
  isPaid: boolean,
): Cost {
  const swaps =
    swapped === undefined || swapping === undefined
      ? (swapped ?? swapping ?? noSwapCost)
      : plusSwap(swapped, swapping);
  const [loss, fees, bought] = [
    unitsOf(swaps.lossMicroUsd),
    unitsOf(swaps.feeMicroUsd),
    unitsOf(swaps.boughtMicroUsd),
  ];
  const price = isPaid ? unitsOf(microUsd) : 0n;
  const cost = new Map<string, bigint>();
  const add = (unit: string, value: bigint) =>
    void (value > 0n && cost.set(unit, (cost.get(unit) ?? 0n) + value));
  add(USD, (price > bought ? price - bought : 0n) + loss + fees);
  add(USD_OF_SWAPS, loss);
  add(USD_OF_FEES, fees);
  // An attempt without a payment, such as a top-up, has an amount of 0.
  add(PAYMENTS, isPaid && unitsOf(amount) > 0n ? 1n : 0n);
  add(SWAPS, BigInt(swaps.swaps));
  add(LAMPORTS, unitsOf(swaps.lamports));
  add(mint, isPaid ? unitsOf(amount) : 0n);
  for (const [input, units] of Object.entries(swaps.inputs)) add(input, unitsOf(units));
  return cost;
}

export function plusSwap(a: SwapCost, b: SwapCost): SwapCost {
  const sum = (x: string, y: string) => (unitsOf(x) + unitsOf(y)).toString();
  const inputs = { ...a.inputs };
  for (const [mint, units] of Object.entries(b.inputs))
    inputs[mint] = sum(inputs[mint] ?? '0', units);
  return {
    swaps: a.swaps + b.swaps,
    lossMicroUsd: sum(a.lossMicroUsd, b.lossMicroUsd),
    feeMicroUsd: sum(a.feeMicroUsd, b.feeMicroUsd),
    lamports: sum(a.lamports, b.lamports),
    inputs,
    boughtMicroUsd: sum(a.boughtMicroUsd, b.boughtMicroUsd),
    ...(a.unpriced === true || b.unpriced === true ? { unpriced: true } : {}),
  };
}

/** Whether parsed JSON is a cost of swaps. Checks each field that sums read. */
export function isSwapCost(value: unknown): value is SwapCost {
  if (!isObject(value)) return false;
  const fields: Partial<Record<keyof SwapCost, unknown>> = value;
  const { swaps, inputs, prices, unpriced = false, ...rest } = fields;
  return (
    typeof swaps === 'number' &&
    Number.isSafeInteger(swaps) &&
    swaps >= 0 &&
    isObject(inputs) &&
    Object.values(inputs).every(isUnits) &&
    [rest.lossMicroUsd, rest.feeMicroUsd, rest.lamports, rest.boughtMicroUsd].every(isUnits) &&
    (prices === undefined || isSwapPrices(prices)) &&
    typeof unpriced === 'boolean'
  );
}

function isSwapPrices(value: unknown): value is SwapPrices {
  if (!isObject(value)) return false;
  const { input = '0', output = '0' }: Partial<Record<keyof SwapPrices, unknown>> = value;
  return isUnits(input) && isUnits(output);
}

/** Reads only digits: a negative number would be credit, and BigInt takes more than decimals. */
function unitsOf(text: string): bigint {
  if (!isUnits(text)) throw new RangeError('What is spent must be decimal digits.');
  return BigInt(text);
}

function isUnits(value: unknown): value is string {
  return typeof value === 'string' && /^[0-9]+$/.test(value);
}

/** Returns a value as text: dollars as decimal text, any other unit as it is. */
export function inUnit(unit: string, value: bigint): string {
  return unit === USD ? formatUsd(value) : value.toString();
}

const WORDS: readonly string[] = [USD, PAYMENTS, SWAPS, LAMPORTS];

/** As {@link inUnit}, with the name of the unit. */
export function amountInUnit(unit: string, value: bigint): string {
  return `${inUnit(unit, value)} ${WORDS.includes(unit) ? unit : 'base units'}`;
}

/** Splits a total in dollars into payments, swaps and fees, given its swaps and fees. */
export function costParts(total: bigint, [swaps = 0n, fees = 0n]: readonly bigint[]): CostParts {
  const prices = total - swaps - fees;
  return {
    payments: formatUsd(prices > 0n ? prices : 0n),
    swaps: formatUsd(swaps),
    fees: formatUsd(fees),
  };
}
