/** Ids by names: mostly one by each, of which there are many. */
export interface NameIndex {
  add(names: readonly string[], id: string): void;
  remove(names: readonly string[], id: string): void;
  find(name: string): readonly string[];
}

export function createNameIndex(): NameIndex {
  // A set for each takes five times as much.
  const index = new Map<string, string | Set<string>>();
  return {
    add(names, id) {
      for (const name of names) {
        const ids = index.get(name);
        if (typeof ids === 'object') ids.add(id);
        else index.set(name, ids === undefined || ids === id ? id : new Set([ids, id]));
      }
    },
    remove(names, id) {
      for (const name of names) {
        const ids = index.get(name);
        if (typeof ids === 'object') ids.delete(id);
        if (ids === id || (typeof ids === 'object' && ids.size === 0)) index.delete(name);
      }
    },
    find(name) {
      const ids = index.get(name) ?? [];
      return typeof ids === 'string' ? [ids] : [...ids];
    },
  };
}
