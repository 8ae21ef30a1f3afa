/**
 * A map for many entries. A plain `Map` rebuilds itself when it is full, or full of removed
 * entries. With ten thousand entries, that blocks the process for a millisecond.
 */
export interface LargeMap<V> {
  readonly size: number;
  get(key: string): V | undefined;
  has(key: string): boolean;
  set(key: string, value: V): void;
  delete(key: string): void;
  /** Yields the entries in no order. */
  [Symbol.iterator](): Iterator<readonly [string, V]>;
}

/** Number of parts: enough that each part of tens of thousands of entries is small. */
const PARTS = 64;
/** Number of last characters that are hashed: ids and counters differ most at their end. */
const LAST = 6;

/** Creates a map in parts, each of which rebuilds itself at its own time. */
export function createLargeMap<V>(): LargeMap<V> {
  const parts: (Map<string, V> | undefined)[] = [];
  let size = 0;
  const partOf = (key: string): number => {
    let hash = 0;
    for (let at = Math.max(0, key.length - LAST); at < key.length; at += 1)
      hash = (31 * hash + key.charCodeAt(at)) | 0;
    return hash & (PARTS - 1);
  };
  return {
    get size() {
      return size;
    },
    get: (key) => parts[partOf(key)]?.get(key),
    has: (key) => parts[partOf(key)]?.has(key) === true,
    set(key, value) {
      const part = (parts[partOf(key)] ??= new Map<string, V>());
      const before = part.size;
      part.set(key, value);
      size += part.size - before;
    },
    delete(key) {
      if (parts[partOf(key)]?.delete(key) === true) size -= 1;
    },
    *[Symbol.iterator]() {
      for (const part of parts) yield* part ?? [];
    },
  };
}

/** A set for many items, which iterates in insertion order. */
interface LargeSet {
  readonly size: number;
  has(item: string): boolean;
  add(item: string): void;
  delete(item: string): void;
  first(): string | undefined;
  [Symbol.iterator](): Iterator<string>;
}

/** Number of empty places that may stay in the list. */
const FEW = 1_000;

export function createLargeSet(items: Iterable<string> = []): LargeSet {
  const places = createLargeMap<number>();
  let list: (string | undefined)[] = [];
  /** The place of the list's first entry, and the index of its first entry that is not empty. */
  let [from, next] = [0, 0];

  const add = (item: string): void => {
    if (!places.has(item)) places.set(item, from + list.push(item) - 1);
  };
  /** Removes empty entries at the start of the list, then, if many are left, all empty entries. */
  const tidy = (): void => {
    while (next < list.length && list[next] === undefined) next += 1;
    if (next > FEW && 2 * next > list.length) {
      list = list.slice(next);
      [from, next] = [from + next, 0];
    }
    if (list.length <= 2 * places.size + 2 * FEW) return;
    list = list.filter((item) => item !== undefined);
    [from, next] = [0, 0];
    for (const [place, item] of list.entries()) if (item !== undefined) places.set(item, place);
  };
  for (const item of items) add(item);
  return {
    get size() {
      return places.size;
    },
    has: places.has,
    add,
    delete(item) {
      const place = places.get(item);
      if (place === undefined) return;
      places.delete(item);
      list[place - from] = undefined;
      tidy();
    },
    first: () => list[next],
    *[Symbol.iterator]() {
      for (let at = next; at < list.length; at += 1) {
        const item = list[at];
        if (item !== undefined) yield item;
      }
    },
  };
}
