/**
 * A binary heap: the first item is always at hand. To add or to remove an item takes logarithmic
 * time.
 */
export interface Heap<T> {
  add(item: T): void;
  first(): T | undefined;
  removeFirst(): void;
  readonly size: number;
  /** Removes all items that `isKept` rejects. */
  keep(isKept: (item: T) => boolean): void;
}

/** @param isBefore - A strict order. */
export function createHeap<T>(isBefore: (a: T, b: T) => boolean): Heap<T> {
  // The item at index i comes before the items at indexes 2i + 1 and 2i + 2.
  const items: T[] = [];
  const goesBefore = (i: number, j: number): boolean => {
    const [a, b] = [items[i], items[j]];
    return a !== undefined && b !== undefined && isBefore(a, b);
  };
  const swap = (i: number, j: number): void => {
    const [a, b] = [items[i], items[j]];
    if (a === undefined || b === undefined) return;
    [items[i], items[j]] = [b, a];
  };
  const add = (item: T): void => {
    let index = items.push(item) - 1;
    while (index > 0) {
      const parent = (index - 1) >>> 1;
      if (!goesBefore(index, parent)) return;
      swap(index, parent);
      index = parent;
    }
  };
  return {
    add,
    get size() {
      return items.length;
    },
    keep(isKept) {
      const kept = items.filter(isKept);
      items.length = 0;
      for (const item of kept) add(item);
    },
    first: () => items[0],
    removeFirst() {
      swap(0, items.length - 1);
      items.pop();
      for (let index = 0; ;) {
        const [left, right] = [2 * index + 1, 2 * index + 2];
        const child = goesBefore(right, left) ? right : left;
        if (!goesBefore(child, index)) return;
        swap(index, child);
        index = child;
      }
    },
  };
}
