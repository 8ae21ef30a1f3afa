/** Median of some measurements, or another share of them that is below. */
export function median(values: readonly number[], share = 0.5): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length * share)] ?? Number.NaN;
}

/** One measurement of each side, right after each other. */
export interface Pair {
  readonly ours: number;
  readonly other: number;
}

/** Medians of both sides of some pairs, and of the ratios of each pair. */
export function paired(pairs: readonly Pair[]) {
  return {
    ours: median(pairs.map(({ ours }) => ours)),
    other: median(pairs.map(({ other }) => other)),
    ratio: median(pairs.map(({ ours, other }) => ours / other)),
  };
}

/**
 * The tenth of both sides that was quickest: of what takes a millisecond, most of the rest is what
 * else the machine does.
 */
export function undisturbed(pairs: readonly Pair[]) {
  const of = (side: keyof Pair) =>
    median(
      pairs.map((pair) => pair[side]),
      0.1,
    );
  return { ours: of('ours'), other: of('other') };
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

export const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
