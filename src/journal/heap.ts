/**
 * Things of which the first is always at hand. To add or remove one costs the logarithm of how many
 * there are.
 */
export interface Heap<T> {
  add(one: T): void;
  first(): T | undefined;
  removeFirst(): void;
  readonly size: number;
  /** Removes all others. */
  keep(isKept: (one: T) => boolean): void;
}

/** @param isBefore - A strict order. */
export function createHeap<T>(isBefore: (one: T, other: T) => boolean): Heap<T> {
  // Each stands before the two at twice its place and one, and at twice its place and two.
  const all: T[] = [];
  /** Whether what is at the one place goes before what is at the other. */
  const goesBefore = (one: number, other: number): boolean => {
    const [a, b] = [all[one], all[other]];
    return a !== undefined && b !== undefined && isBefore(a, b);
  };
  const swap = (one: number, other: number): void => {
    const [a, b] = [all[one], all[other]];
    if (a === undefined || b === undefined) return;
    [all[one], all[other]] = [b, a];
  };
  const add = (one: T): void => {
    let at = all.push(one) - 1;
    while (at > 0) {
      const above = (at - 1) >>> 1;
      if (!goesBefore(at, above)) return;
      swap(at, above);
      at = above;
    }
  };
  return {
    add,
    get size() {
      return all.length;
    },
    keep(isKept) {
      const kept = all.filter(isKept);
      all.length = 0;
      for (const one of kept) add(one);
    },
    first: () => all[0],
    removeFirst() {
      swap(0, all.length - 1);
      all.pop();
      for (let at = 0; ;) {
        const [left, right] = [2 * at + 1, 2 * at + 2];
        const below = goesBefore(right, left) ? right : left;
        if (!goesBefore(below, at)) return;
        swap(at, below);
        at = below;
      }
    },
  };
}
