/** Returns the median, or another quantile, of measurements. */
export function median(values: readonly number[], share = 0.5): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length * share)] ?? Number.NaN;
}

/** Measurements of both sides, made right after each other. */
export interface Pair {
  readonly ours: number;
  readonly other: number;
}

/** Returns the medians of both sides, and the median of the ratios of the pairs. */
export function paired(pairs: readonly Pair[]) {
  return {
    ours: median(pairs.map(({ ours }) => ours)),
    other: median(pairs.map(({ other }) => other)),
    ratio: median(pairs.map(({ ours, other }) => ours / other)),
  };
}

/**
 * Returns the 10 % quantile of both sides. For steps of a millisecond, slower measurements mostly
 * show other work of the machine.
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
