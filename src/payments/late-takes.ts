/**
 * Calls under way that reserve or hold for an attempt. A call may do its work after its time limit,
 * when its caller has rolled the attempt back already. Nothing else would ever end such a late
 * reservation or hold.
 */
export interface LateTakes {
  /** Notes that `work` reserves or holds for an attempt until it settles. Returns `work`. */
  track<T>(id: string, work: Promise<T>): Promise<T>;
  /** Runs `end` after the calls under way for an attempt, if there are any. Ignores its errors. */
  afterPending(id: string, end: () => Promise<unknown>): void;
  /** Runs `end` now, and once more after the calls under way for an attempt, if there are any. */
  endAfterPending<T>(id: string, end: () => Promise<T>): Promise<T>;
}

export function createLateTakes(): LateTakes {
  /** Calls under way, by attempt id. None of these promises rejects. */
  const taking = new Map<string, Set<Promise<void>>>();
  const afterPending: LateTakes['afterPending'] = (id, end) => {
    const calls = taking.get(id);
    if (calls === undefined) return;
    Promise.all(calls)
      .then(end)
      .catch(() => undefined);
  };
  return {
    afterPending,
    track(id, work) {
      const calls = taking.get(id) ?? new Set();
      taking.set(id, calls);
      const forget = () => {
        calls.delete(settled);
        if (calls.size === 0) taking.delete(id);
      };
      const settled: Promise<void> = work.then(forget, forget);
      calls.add(settled);
      return work;
    },
    endAfterPending(id, end) {
      afterPending(id, end);
      return end();
    },
  };
}
