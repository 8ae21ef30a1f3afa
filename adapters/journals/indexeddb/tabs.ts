/**
 * Which tabs have a journal open: each holds a Web Lock, which the browser frees when the tab ends,
 * however that happens.
 */
export interface Tabs {
  /** Those of some that are there. */
  living(ids: ReadonlySet<string>): Promise<ReadonlySet<string>>;
  /** This one is there no more. */
  leave(): void;
}

/** Resolves once this tab can be seen. */
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
