import { formatUsd } from '../amount.js';
import type { CostParts } from '../receipt.js';
import { LAMPORTS, PAYMENTS, SWAPS, USD, USD_OF_FEES, USD_OF_SWAPS } from './units.js';

/**
 * What leaves a wallet, or is counted, by unit: `USD` and its parts in millionths of a dollar,
 * counts, lamports, base units of a mint.
 */
export type Cost = ReadonlyMap<string, bigint>;

/** What the swaps of an attempt take. It stays counted whatever becomes of the payment. */
export interface SwapCost {
  /** How many swaps were signed. */
  readonly swaps: number;
  /**
   * Millionths of a dollar: what goes in beyond what comes back in a pinned token. Into a token
   * that is not pinned the whole input counts, for what was bought may be worth nothing.
   */
  readonly lossMicroUsd: string;
  /** Millionths of a dollar of {@link SwapCost.lamports}; 0 if SOL has no price. */
  readonly feeMicroUsd: string;
  /** Network fees, and rent of token accounts that stay. */
  readonly lamports: string;
  /** Base units that go in, by mint. */
  readonly inputs: Readonly<Record<string, string>>;
  /**
   * Millionths of a dollar of the price that the inputs above have bought already, and that must
   * not count twice.
   */
  readonly boughtMicroUsd: string;
  /**
   * Of a bound: what it was reckoned with, so that what the chain shows later counts by the same
   * prices.
   */
  readonly prices?: SwapPrices;
}

/**
 * What 2^64 base units of what a swap takes and brings were worth when it was signed: millionths of
 * a dollar as decimal strings.
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
 * What an attempt to pay takes of a wallet: its price, and what its swaps took or may take. Amounts
 * are decimal strings.
 */
export interface Expense {
  readonly mint: string;
  /** The price in base units of the mint. */
  readonly amount: string;
  /** The price in millionths of a dollar; absent if the mint has no price. */
  readonly microUsd?: string;
  /** What swaps took, as the chain shows it. */
  readonly swapped?: SwapCost;
  /** What a swap takes at most that is about to be signed, or may still land. */
  readonly swapping?: SwapCost;
}

/**
 * The one definition of what an attempt costs: its price, unless it never left; what swaps took
 * beyond what they brought in a pinned token; network fees and rent. A price that was bought with a
 * counted input is in it already.
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
  // What is for no payment costs 0.
  add(PAYMENTS, isPaid && unitsOf(amount) > 0n ? 1n : 0n);
  add(SWAPS, BigInt(swaps.swaps));
  add(LAMPORTS, unitsOf(swaps.lamports));
  add(mint, isPaid ? unitsOf(amount) : 0n);
  for (const [input, units] of Object.entries(swaps.inputs)) add(input, unitsOf(units));
  return cost;
}

export function plusSwap(a: SwapCost, b: SwapCost): SwapCost {
  const sum = (one: string, other: string) => (unitsOf(one) + unitsOf(other)).toString();
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
  };
}

/** Whether parsed JSON is the cost of swaps, in all that sums look at. */
export function isSwapCost(value: unknown): value is SwapCost {
  if (typeof value !== 'object' || value === null) return false;
  const { swaps, inputs, prices, ...rest }: Partial<Record<keyof SwapCost, unknown>> = value;
  return (
    typeof swaps === 'number' &&
    Number.isSafeInteger(swaps) &&
    swaps >= 0 &&
    typeof inputs === 'object' &&
    inputs !== null &&
    Object.values(inputs).every(isUnits) &&
    [rest.lossMicroUsd, rest.feeMicroUsd, rest.lamports, rest.boughtMicroUsd].every(isUnits) &&
    (prices === undefined || isSwapPrices(prices))
  );
}

function isSwapPrices(value: unknown): value is SwapPrices {
  if (typeof value !== 'object' || value === null) return false;
  const { input = '0', output = '0' }: Partial<Record<keyof SwapPrices, unknown>> = value;
  return isUnits(input) && isUnits(output);
}

/** A negative number would be credit, and BigInt takes more than decimals. */
function unitsOf(text: string): bigint {
  if (!isUnits(text)) throw new RangeError('What is spent must be decimal digits.');
  return BigInt(text);
}

function isUnits(value: unknown): value is string {
  return typeof value === 'string' && /^[0-9]+$/.test(value);
}

/** A value in the words of its unit: dollars, or as it is. */
export function inUnit(unit: string, value: bigint): string {
  return unit === USD ? formatUsd(value) : value.toString();
}

const WORDS: readonly string[] = [USD, PAYMENTS, SWAPS, LAMPORTS];

/** The same with the unit itself. */
export function sayIn(unit: string, value: bigint): string {
  return `${inUnit(unit, value)} ${WORDS.includes(unit) ? unit : 'base units'}`;
}

/** What dollars are made of: all of them, and those of swaps and of fees. */
export function costParts(all: bigint, [swaps = 0n, fees = 0n]: readonly bigint[]): CostParts {
  const rest = all - swaps - fees;
  return {
    payments: formatUsd(rest > 0n ? rest : 0n),
    swaps: formatUsd(swaps),
    fees: formatUsd(fees),
  };
}
