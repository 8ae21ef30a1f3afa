import { closed } from './failure.js';

/** Knows what is under way, so that closing can wait for it. */
export interface Gate {
  /** Rejects with `journal_unavailable` once the gate is closed. */
  pass<T>(step: string, work: () => Promise<T>): Promise<T>;
  /** Lets no call in any more. Resolves when all are out. */
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
