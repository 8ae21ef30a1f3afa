const MOST = 10_000;

/**
 * Makes a cache of values by key, which empties itself when it is full. The same few addresses are
 * read and derived repeatedly.
 */
export function createMemory<T>(): (key: string, make: () => T) => T {
  const known = new Map<string, T>();
  return (key, make) => {
    const cached = known.get(key);
    if (cached !== undefined) return cached;
    const value = make();
    if (known.size >= MOST) known.clear();
    known.set(key, value);
    return value;
  };
}
