/** Named locks, first come first served. */
export interface Locks {
  /** Runs `work` while holding all `names`. They are taken in one order everywhere, so that no two holders wait for each other. */
  hold<T>(names: readonly string[], work: () => Promise<T>): Promise<T>;
}

export function createLocks(): Locks {
  const tails = new Map<string, Promise<void>>();
  const take = async (name: string): Promise<() => void> => {
    const before = tails.get(name);
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const tail = (before ?? Promise.resolve()).then(() => held);
    tails.set(name, tail);
    await before;
    return () => {
      release();
      if (tails.get(name) === tail) tails.delete(name);
    };
  };
  return {
    async hold(names, work) {
      const releases: (() => void)[] = [];
      try {
        for (const name of [...new Set(names)].sort()) releases.push(await take(name));
        return await work();
      } finally {
        for (const release of releases.reverse()) release();
      }
    },
  };
}
