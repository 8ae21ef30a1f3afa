import { closed } from './failure.js';

/** Counts the running calls, so that `close` can wait for them. */
export interface Gate {
  /** Rejects with `journal_unavailable` once the gate is closed. */
  pass<T>(step: string, work: () => Promise<T>): Promise<T>;
  /** Refuses new calls. Resolves when all running calls have ended. */
  close(): Promise<void>;
}

export function createGate(): Gate {
  const inside = new Set<Promise<unknown>>();
  let open = true;
  return {
    async pass(step, work) {
      if (!open) throw closed(step);
      const running = work();
      inside.add(running);
      try {
        return await running;
      } finally {
        inside.delete(running);
      }
    },
    async close() {
      open = false;
      await Promise.allSettled(inside);
    },
  };
}
