/** Set by `vitest.chaos.config.ts`, which runs every file that imports this one. */
export const everyCase = process.env['EVERY_CASE'] !== undefined;

/** All in `npm run test:chaos`; in `npm test` the one whose turn it is. */
export function inTurn<T>(all: readonly T[], turn: number): readonly T[] {
  return everyCase ? all : all.filter((_, index) => index === turn % all.length);
}

/**
 * The cells of a table whose rows have so many columns, one row after the other: all in
 * `npm run test:chaos`, in `npm test` one of each row, in turn.
 */
export function sampled<T>(cells: readonly T[], columns: number): readonly T[] {
  return everyCase
    ? cells
    : cells.filter((_, index) => index % columns === Math.floor(index / columns) % columns);
}

/** All in `npm run test:chaos`; in `npm test` each n-th, from the one at `from` on. */
export function eachNth<T>(all: readonly T[], n: number, from = 0): readonly T[] {
  return everyCase ? all : all.filter((_, index) => index % n === from % n);
}
