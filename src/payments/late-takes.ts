/**
 * What attempts are being put on record for, and given to hold. A caller may give up meanwhile, and
 * a call that is over time may do its work all the same: what lands after its attempt was given up,
 * nothing else would ever end.
 */
export interface LateTakes {
  /** Something is being taken for an attempt. */
  during<T>(id: string, work: Promise<T>): Promise<T>;
  /** Ends, if anything is being taken for an attempt, what has landed by then. Never rejects. */
  after(id: string, end: () => Promise<unknown>): void;
  /** Ends what was taken for an attempt: once now, and after what is being taken. */
  ending<T>(id: string, end: () => Promise<T>): Promise<T>;
}

export function createLateTakes(): LateTakes {
  /** By attempt. None of it rejects. */
  const taking = new Map<string, Set<Promise<void>>>();
  const after: LateTakes['after'] = (id, end) => {
    const all = taking.get(id);
    if (all === undefined) return;
    Promise.all(all)
      .then(end)
      .catch(() => undefined);
  };
  return {
    after,
    during(id, work) {
      const all = taking.get(id) ?? new Set();
      taking.set(id, all);
      const end = () => {
        all.delete(done);
        if (all.size === 0) taking.delete(id);
      };
      const done: Promise<void> = work.then(end, end);
      all.add(done);
      return work;
    },
    ending(id, end) {
      after(id, end);
      return end();
    },
  };
}
