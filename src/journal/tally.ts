/** What payments took, in each unit that a cap may have. */
export interface Taken {
  /** Base units of the mint. */
  readonly amount: bigint;
  readonly microUsd: bigint;
  readonly payments: bigint;
}

export const nothingTaken: Taken = { amount: 0n, microUsd: 0n, payments: 0n };

export function plus(a: Taken, b: Taken): Taken {
  return { amount: a.amount + b.amount, microUsd: a.microUsd + b.microUsd, payments: a.payments + b.payments };
}

export function minus(a: Taken, b: Taken): Taken {
  return { amount: a.amount - b.amount, microUsd: a.microUsd - b.microUsd, payments: a.payments - b.payments };
}

/** Sums over time that need no walk over all that was added. */
export interface Tally {
  readonly total: Taken;
  add(at: number, taken: Taken): void;
  /** Takes back what was added at the same time. */
  subtract(at: number, taken: Taken): void;
  /** What was added at later times than this one. */
  after(at: number): Taken;
}

/** A Fenwick tree over the times, which come nearly in order: a time that comes late rebuilds it. */
export function createTally(): Tally {
  let times: number[] = [];
  let values: Taken[] = [];
  // Node n (from 1) has the sum of the `n & -n` values that end with value n - 1.
  let sums: Taken[] = [];
  let total = nothingTaken;
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
  const first = (count: number): Taken => {
    let sum = nothingTaken;
    for (let node = count; node > 0; node -= node & -node) sum = plus(sum, sums[node - 1] ?? nothingTaken);
    return sum;
  };
  const append = (at: number, value: Taken): void => {
    times.push(at);
    values.push(value);
    const node = times.length;
    sums.push(plus(minus(first(node - 1), first(node - (node & -node))), value));
  };
  const rebuild = (entries: readonly (readonly [number, Taken])[]): void => {
    [times, values, sums, empty] = [[], [], [], 0];
    for (const [at, value] of entries) append(at, value);
  };
  const entries = () => times.map((at, index) => [at, values[index] ?? nothingTaken] as const);
  const change = (index: number, value: Taken): void => {
    const delta = minus(value, values[index] ?? nothingTaken);
    values[index] = value;
    for (let node = index + 1; node <= sums.length; node += node & -node) sums[node - 1] = plus(sums[node - 1] ?? nothingTaken, delta);
  };

  return {
    get total() {
      return total;
    },
    add(at, taken) {
      total = plus(total, taken);
      const place = until(at);
      const value = values[place - 1];
      if (value !== undefined && times[place - 1] === at) {
        if (value.payments === 0n) empty -= 1;
        change(place - 1, plus(value, taken));
      } else if (place === times.length) append(at, taken);
      else rebuild([...entries().slice(0, place), [at, taken], ...entries().slice(place)]);
    },
    subtract(at, taken) {
      total = minus(total, taken);
      const index = until(at) - 1;
      const value = minus(values[index] ?? nothingTaken, taken);
      change(index, value);
      if (value.payments > 0n) return;
      empty += 1;
      // Times that nothing is left of go at once when they are most of all: each then costs a constant share.
      if (empty > 64 && empty > times.length / 2) rebuild(entries().filter(([, { payments }]) => payments > 0n));
    },
    after(at) {
      const before = until(at);
      // Most places have all or nothing in a window.
      if (before === 0) return total;
      return before === times.length ? nothingTaken : minus(total, first(before));
    },
  };
}
