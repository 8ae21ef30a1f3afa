import { createAttemptStore } from './attempt-store.js';
import type { Journal } from './types.js';

/**
 * A journal in memory: right for one process, forgotten when it ends.
 *
 * @example
 * const client = createClient({ walletSecretKey, journal: memoryJournal() });
 */
export function memoryJournal(): Journal {
  const store = createAttemptStore();
  // The store knows no promises: in one process that makes each call one step.
  return {
    reserve: async (attempt, caps) => store.reserve(attempt, caps),
    put: async (attempt) => {
      store.put(attempt);
    },
    release: async (id) => {
      store.release(id);
    },
    similar: async (owner, fingerprint, idempotencyKey) => store.similar(owner, fingerprint, idempotencyKey),
    async *attempts(owner, filter) {
      yield* store.attempts(owner, filter);
    },
    used: async (owner, caps, now) => store.used(owner, caps, now),
  };
}
