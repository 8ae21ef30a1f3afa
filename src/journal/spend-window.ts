import type { Cost } from '../policy/cost.js';

/** Sums over time that need no walk over all that was added. */
export interface SpendWindow {
  /** How many values were added, less those that were taken back. */
  readonly size: number;
  add(at: number, value: bigint): void;
  /** Takes back what was added at the same time. */
  subtract(at: number, value: bigint): void;
  /** What was added at later times than this one. */
  after(at: number): bigint;
}

/**
 * A Fenwick tree over the times, which come nearly in order: a time that comes late rebuilds it.
 */
export function createSpendWindow(): SpendWindow {
  let times: number[] = [];
  let values: bigint[] = [];
  // How many values are in each time: a time without any is left out of the next rebuild.
  let counts: number[] = [];
  // Node n (from 1) has the sum of the `n & -n` values that end with value n - 1.
  let sums: bigint[] = [];
  let total = 0n;
  let size = 0;
  let empty = 0;

  /** How many times are not later than this one. */
  const until = (at: number): number => {
    let [low, high] = [0, times.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((times[middle] ?? Infinity) <= at) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  const first = (count: number): bigint => {
    let sum = 0n;
    for (let node = count; node > 0; node -= node & -node) sum += sums[node - 1] ?? 0n;
    return sum;
  };
  const append = (at: number, value: bigint, count: number): void => {
    times.push(at);
    values.push(value);
    counts.push(count);
    const node = times.length;
    sums.push(first(node - 1) - first(node - (node & -node)) + value);
  };
  const rebuild = (
    entries: readonly (readonly [at: number, value: bigint, count: number])[],
  ): void => {
    [times, values, counts, sums, empty] = [[], [], [], [], 0];
    for (const entry of entries) append(...entry);
  };
  const entries = () =>
    times.map((at, index) => [at, values[index] ?? 0n, counts[index] ?? 0] as const);
  const change = (index: number, delta: bigint, count: number): void => {
    values[index] = (values[index] ?? 0n) + delta;
    counts[index] = (counts[index] ?? 0) + count;
    for (let node = index + 1; node <= sums.length; node += node & -node)
      sums[node - 1] = (sums[node - 1] ?? 0n) + delta;
  };

  return {
    get size() {
      return size;
    },
    add(at, value) {
      total += value;
      size += 1;
      const place = until(at);
      if (place > 0 && times[place - 1] === at) {
        if (counts[place - 1] === 0) empty -= 1;
        change(place - 1, value, 1);
      } else if (place === times.length) append(at, value, 1);
      else rebuild([...entries().slice(0, place), [at, value, 1], ...entries().slice(place)]);
    },
    subtract(at, value) {
      total -= value;
      size -= 1;
      const index = until(at) - 1;
      change(index, -value, -1);
      if ((counts[index] ?? 0) > 0) return;
      empty += 1;
      // Times that nothing is left of go at once when they are most of all: each then costs a
      // constant share.
      if (empty > 64 && empty > times.length / 2)
        rebuild(entries().filter(([, , count]) => count > 0));
    },
    after(at) {
      const before = until(at);
      // Most places have all or nothing in a window.
      if (before === 0) return total;
      return before === times.length ? 0n : total - first(before);
    },
  };
}

/** Sums over time of what leaves, by unit. */
export interface SpendWindows {
  /** Whether nothing is left of what was added. */
  readonly isEmpty: boolean;
  add(at: number, cost: Cost): void;
  /** Takes back what was added at the same time. */
  subtract(at: number, cost: Cost): void;
  /** What was added of a unit at later times than this one. */
  after(at: number, unit: string): bigint;
}

export function createSpendWindows(): SpendWindows {
  const windows = new Map<string, SpendWindow>();
  return {
    get isEmpty() {
      return windows.size === 0;
    },
    add(at, cost) {
      for (const [unit, value] of cost) {
        let window = windows.get(unit);
        if (window === undefined) windows.set(unit, (window = createSpendWindow()));
        window.add(at, value);
      }
    },
    subtract(at, cost) {
      for (const [unit, value] of cost) {
        const window = windows.get(unit);
        window?.subtract(at, value);
        if (window?.size === 0) windows.delete(unit);
      }
    },
    after: (at, unit) => windows.get(unit)?.after(at) ?? 0n,
  };
}
