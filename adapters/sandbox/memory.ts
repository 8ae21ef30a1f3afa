const MOST = 10_000;

/**
 * Remembers what was made for a key, as long as there are not too many: the same few addresses are
 * read and derived again and again.
 */
export function createMemory<T>(): (key: string, make: () => T) => T {
  const known = new Map<string, T>();
  return (key, make) => {
    const before = known.get(key);
    if (before !== undefined) return before;
    const made = make();
    if (known.size >= MOST) known.clear();
    known.set(key, made);
    return made;
  };
}
