import { describe } from 'vitest';

/**
 * True in `npm run test:chaos`, where `vitest.chaos.config.ts` sets the variable. It runs the chaos
 * files, and the cases of this module's importers that `npm test` leaves out.
 */
export const inChaos = process.env['CHAOS'] !== undefined;

/**
 * Returns the cases of this run: the sample in `npm test`, and all other cases in
 * `npm run test:chaos`. Each case runs in exactly one of the two.
 */
export function share<T>(cases: readonly T[], sample: readonly T[]): readonly T[] {
  return inChaos ? cases.filter((item) => !sample.includes(item)) : sample;
}

/** Returns a list with only the item at `turn`, modulo the length of the list. */
export function inTurn<T>(items: readonly T[], turn: number): readonly T[] {
  return items.filter((_, index) => index === turn % items.length);
}

/** Returns a cell of each row of a table: the first of row 0, the second of row 1, and so on. */
export function onePerRow<T>(cells: readonly T[], columns: number): readonly T[] {
  return cells.filter((_, index) => index % columns === Math.floor(index / columns) % columns);
}

/** Returns every n-th item; the first is at index `from`, modulo n. */
export function eachNth<T>(items: readonly T[], n: number, from = 0): readonly T[] {
  return items.filter((_, index) => index % n === from % n);
}

/** Works like `describe`, for tests without a sample: only `npm test` runs them. */
export function unsampled(name: string, suite: () => void): void {
  if (!inChaos) describe(name, suite);
}
