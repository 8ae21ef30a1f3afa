import type { MemoryOutbox } from '../outbox/memory.js';
import type { Cap } from '../policy/caps.js';
import { copyOf } from './attempt-json.js';
import { createAttemptStore } from './attempt-store.js';
import type { Attempt, Journal } from './types.js';

/**
 * A journal in memory: right for one process, forgotten when it ends. It keeps the last 10,000
 * attempts that are over. Of all before, it knows what they took of caps, and for a day at least
 * which keys are spent.
 *
 * @param outbox - Told of all that changes, if events are kept.
 */
export function memoryJournal(outbox?: MemoryOutbox): Journal {
  const store = createAttemptStore();
  const replace = (given: Attempt, caps?: readonly Cap[]) => {
    const attempt = copyOf(given);
    const before = store.replacing(attempt, caps);
    if (before === undefined || 'cap' in before) return before;
    store.keep(attempt);
    outbox?.tell(before, attempt);
    return undefined;
  };
  // The store knows no promises: in one process that makes each call one step.
  return {
    reserve: async (given, caps) => {
      const attempt = copyOf(given);
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
      store.similar(owner, fingerprint, idempotencyKey).map(copyOf),
    async *attempts(owner, filter) {
      // An application may write to the receipts that it lists.
      for (const attempt of store.attempts(owner, filter)) yield copyOf(attempt);
    },
    async *owners() {
      yield* store.owners();
    },
    used: async (owner, caps, now) => store.used(owner, caps, now),
    ...(outbox !== undefined && { outbox: outbox.port }),
  };
}
