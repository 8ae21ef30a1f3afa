/** Median of some measurements. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** Medians of both sides of some pairs, and of the ratios of each pair. */
export function paired(pairs: readonly { readonly ours: number; readonly other: number }[]) {
  return {
    ours: median(pairs.map(({ ours }) => ours)),
    other: median(pairs.map(({ other }) => other)),
    ratio: median(pairs.map(({ ours, other }) => ours / other)),
  };
}

export async function timed(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now();
  await work();
  return performance.now() - from;
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

export const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
