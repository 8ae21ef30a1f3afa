/** Median of some measurements. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** One row: ours, theirs, and the ratio that is worth comparing between machines. */
export function row(name: string, ours: number, theirs: number, unit: 'ms' | 'µs' = 'ms'): string {
  const time = (value: number) => `${value.toFixed(1)} ${unit}`.padStart(10);
  return `${name.padEnd(44)} ${time(ours)} ${time(theirs)} ${(ours / theirs).toFixed(2).padStart(7)}`;
}

export async function timed(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now();
  await work();
  return performance.now() - from;
}
