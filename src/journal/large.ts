/**
 * What may have many entries. A `Map` that is full, or full of what was removed, is made anew at
 * once: with ten thousand entries that takes a millisecond in which nothing else is done.
 */
export interface LargeMap<V> {
  readonly size: number;
  get(key: string): V | undefined;
  has(key: string): boolean;
  set(key: string, value: V): void;
  delete(key: string): void;
  /** In no order. */
  [Symbol.iterator](): Iterator<readonly [string, V]>;
}

/** As many as make a part of tens of thousands small. */
const PARTS = 64;
/** Of a key: the end of an id, or of what a caller counts, is where it differs most. */
const LAST = 6;

/** In parts, each of which is made anew at its own time. */
export function createLargeMap<V>(): LargeMap<V> {
  const parts: (Map<string, V> | undefined)[] = [];
  let size = 0;
  const placeOf = (key: string): number => {
    let hash = 0;
    for (let at = Math.max(0, key.length - LAST); at < key.length; at += 1)
      hash = (31 * hash + key.charCodeAt(at)) | 0;
    return hash & (PARTS - 1);
  };
  return {
    get size() {
      return size;
    },
    get: (key) => parts[placeOf(key)]?.get(key),
    has: (key) => parts[placeOf(key)]?.has(key) === true,
    set(key, value) {
      const part = (parts[placeOf(key)] ??= new Map<string, V>());
      const before = part.size;
      part.set(key, value);
      size += part.size - before;
    },
    delete(key) {
      if (parts[placeOf(key)]?.delete(key) === true) size -= 1;
    },
    *[Symbol.iterator]() {
      for (const part of parts) yield* part ?? [];
    },
  };
}

/** The same of a `Set`, in the order in which things were added. */
interface LargeSet {
  readonly size: number;
  has(one: string): boolean;
  add(one: string): void;
  delete(one: string): void;
  /** The one that was added first. */
  first(): string | undefined;
  [Symbol.iterator](): Iterator<string>;
}

/** So many places that nothing is at any more are no matter. */
const FEW = 1_000;

export function createLargeSet(given: Iterable<string> = []): LargeSet {
  const places = createLargeMap<number>();
  let all: (string | undefined)[] = [];
  /** The place of the first in the list, and where in the list the first is that is there. */
  let [from, next] = [0, 0];

  const add = (one: string): void => {
    if (!places.has(one)) places.set(one, from + all.push(one) - 1);
  };
  /** Drops what nothing is at: in front of the others, or else between them. */
  const tidy = (): void => {
    while (next < all.length && all[next] === undefined) next += 1;
    if (next > FEW && 2 * next > all.length) {
      all = all.slice(next);
      [from, next] = [from + next, 0];
    }
    if (all.length <= 2 * places.size + 2 * FEW) return;
    all = all.filter((one) => one !== undefined);
    [from, next] = [0, 0];
    for (const [place, one] of all.entries()) if (one !== undefined) places.set(one, place);
  };
  for (const one of given) add(one);
  return {
    get size() {
      return places.size;
    },
    has: places.has,
    add,
    delete(one) {
      const place = places.get(one);
      if (place === undefined) return;
      places.delete(one);
      all[place - from] = undefined;
      tidy();
    },
    first: () => all[next],
    *[Symbol.iterator]() {
      for (let at = next; at < all.length; at += 1) {
        const one = all[at];
        if (one !== undefined) yield one;
      }
    },
  };
}
