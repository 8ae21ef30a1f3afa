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
  await new Promise<void>((resolve, reject) => {
    const held = () => {
      resolve();
      return new Promise<void>((end) => (leave = end));
    };
    locks.request(`${prefix}${me}`, held).catch(reject);
  });
  return {
    async living(ids) {
      const { held = [] } = await locks.query();
      const names = new Set(held.map(({ name }) => name));
      return new Set([...ids].filter((id) => names.has(`${prefix}${id}`)));
    },
    leave: () => leave(),
  };
}
