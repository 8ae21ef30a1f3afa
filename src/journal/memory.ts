import { systemRuntime } from '../internal/runtime.js';
import { jobsOf } from '../outbox/notices.js';
import { announce, createOutboxListeners, outboxOver } from '../outbox/port.js';
import { createOutboxStore, type OutboxRecord } from '../outbox/store.js';
import type { Cap } from '../policy/caps.js';
import { createAttemptStore } from './attempt-store.js';
import { wantsOutbox, type JournalOptions } from './options.js';
import type { Attempt, Journal } from './types.js';

/**
 * A journal in memory: right for one process, forgotten when it ends. Throws `ConfigError`
 * (`invalid_option`).
 *
 * @example
 * const client = createClient({ walletSecretKey, journal: memoryJournal() });
 */
export function memoryJournal(options: JournalOptions = {}): Journal {
  const store = createAttemptStore();
  const outbox = wantsOutbox(options) ? createOutbox() : undefined;
  const replace = (attempt: Attempt, caps?: readonly Cap[]) => {
    const before = store.get(attempt.id);
    const done = store.put(attempt, caps);
    if ('cap' in done) return done;
    if (done.kept !== undefined) outbox?.tell(before, done.kept);
    return undefined;
  };
  // The store knows no promises: in one process that makes each call one step.
  return {
    reserve: async (attempt, caps) => store.reserve(attempt, caps),
    put: async (attempt) => void replace(attempt),
    raise: async (attempt, caps) => replace(attempt, caps),
    release: async (id) => {
      const before = store.get(id);
      if (store.release(id)) outbox?.tell(before, undefined);
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

function createOutbox() {
  const store = createOutboxStore();
  const listeners = createOutboxListeners();
  return {
    tell(before: Attempt | undefined, after: Attempt | undefined) {
      const { jobs } = store.add(jobsOf(before, after, systemRuntime.now()));
      announce(
        listeners,
        store,
        jobs.map((job) => ({ job })),
      );
    },
    port: outboxOver(async (work) => {
      const records: OutboxRecord[] = [];
      const result = work(store, (record) => records.push(record));
      announce(listeners, store, records);
      return result;
    }, listeners),
  };
}
