import { formatUsd } from '../amount.js';
import type { CostParts } from '../receipt.js';
import { LAMPORTS, PAYMENTS, SWAPS, USD } from './units.js';

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
