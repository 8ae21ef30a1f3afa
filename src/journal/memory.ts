import type { MemoryOutbox } from '../outbox/memory.js';
import type { Cap } from '../policy/caps.js';
import { copyOf } from './attempt-json.js';
import { createAttemptStore } from './attempt-store.js';
import type { Attempt, Journal } from './types.js';

/**
 * Creates a journal in memory, for one process; it is lost when the process ends. It keeps the last
 * 10,000 closed attempts. Of older attempts, it keeps what they took of caps, and spent keys for a
 * day at least.
 *
 * @param outbox - Gets each change of an attempt, if events are kept.
 */
export function createMemoryJournal(outbox?: MemoryOutbox): Journal {
  const store = createAttemptStore();
  const replace = (input: Attempt, caps?: readonly Cap[]) => {
    const attempt = copyOf(input);
    const before = store.replacing(attempt, caps);
    if (before === undefined || 'cap' in before) return before;
    store.keep(attempt);
    outbox?.tell(before, attempt);
    return undefined;
  };
  // The store is synchronous, so each call is one step in this process.
  return {
    reserve: async (input, caps) => {
      const attempt = copyOf(input);
      const refusal = store.refusal(attempt, caps);
      if (refusal === undefined) store.keep(attempt);
      return refusal;
    },
    put: async (attempt) => void replace(attempt),
    raise: async (attempt, caps) => replace(attempt, caps),
    release: async (id) => {
      const before = store.releasable(id);
      if (before === undefined) return;
      store.remove(id);
      outbox?.tell(before, undefined);
    },
    similar: async (owner, fingerprint, idempotencyKey) =>
      store.similar(owner, fingerprint, idempotencyKey),
    async *attempts(owner, filter) {
      yield* store.attempts(owner, filter);
    },
    async *owners() {
      yield* store.owners();
    },
    used: async (owner, caps, now) => store.used(owner, caps, now),
    ...(outbox !== undefined && { outbox: outbox.port }),
  };
}
