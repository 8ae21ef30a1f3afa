import { describe } from 'vitest';

/**
 * `npm run test:chaos` runs: every file of its own, and the rest of those that import this one. Set
 * by `vitest.chaos.config.ts`.
 */
export const inChaos = process.env['CHAOS'] !== undefined;

/**
 * The share of all cases that this run has: in `npm test` those that are taken, in
 * `npm run test:chaos` the others. Each case runs in one of the two.
 */
export function share<T>(all: readonly T[], taken: readonly T[]): readonly T[] {
  return inChaos ? all.filter((one) => !taken.includes(one)) : taken;
}

/** The one whose turn it is. */
export function inTurn<T>(all: readonly T[], turn: number): readonly T[] {
  return all.filter((_, index) => index === turn % all.length);
}

/** One cell of each row, in turn, of a table whose rows have so many columns. */
export function onePerRow<T>(cells: readonly T[], columns: number): readonly T[] {
  return cells.filter((_, index) => index % columns === Math.floor(index / columns) % columns);
}

/** Each n-th, from the one at `from` on. */
export function eachNth<T>(all: readonly T[], n: number, from = 0): readonly T[] {
  return all.filter((_, index) => index % n === from % n);
}

/** As `describe`, for what is not sampled: `npm test` alone runs it. */
export function unsampled(name: string, suite: () => void, timeout = 30_000): void {
  if (!inChaos) describe(name, { timeout }, suite);
}
