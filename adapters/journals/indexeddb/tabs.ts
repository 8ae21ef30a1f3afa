/**
 * Tells which tabs have a journal open. Each tab holds a Web Lock, which the browser frees when the
 * tab ends, also after a crash.
 */
export interface Tabs {
  /** Returns the ids of the given tabs that live. */
  living(ids: ReadonlySet<string>): Promise<ReadonlySet<string>>;
  /** Frees the Web Lock of this tab. */
  leave(): void;
}

/** Resolves once the other tabs can see this tab. */
export async function joinTabs(locks: LockManager, path: string, me: string): Promise<Tabs> {
  const prefix = `exact-change ${path} `;
  let leave = (): void => undefined;
  const left = new Promise<void>((resolve) => (leave = resolve));
  const join = (): Promise<void> =>
    new Promise<void>((resolve, reject) => {
      let fail: (error: unknown) => void = reject;
      const held = () => {
        // WebKit takes the lock from a page that enters its back/forward cache, and reports this
        // when the user comes back. Without the lock, other tabs free all claims of this tab.
        fail = () => void join().catch(() => undefined);
        resolve();
        return left;
      };
      locks.request(`${prefix}${me}`, held).catch((error: unknown) => fail(error));
    });
  await join();
  return {
    async living(ids) {
      const { held = [] } = await locks.query();
      const names = new Set(held.map(({ name }) => name));
      return new Set([...ids].filter((id) => names.has(`${prefix}${id}`)));
    },
    leave,
  };
}
