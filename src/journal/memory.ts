import { systemRuntime } from '../internal/runtime.js';
import { jobsOf } from '../outbox/notices.js';
import { announce, createOutboxListeners, outboxOver } from '../outbox/port.js';
import { createOutboxStore, type OutboxRecord } from '../outbox/store.js';
import type { Cap } from '../policy/caps.js';
import { copyOf } from './attempt-json.js';
import { createAttemptStore } from './attempt-store.js';
import { wantsOutbox, type JournalOptions } from './options.js';
import type { Attempt, Journal } from './types.js';

/**
 * A journal in memory: right for one process, forgotten when it ends. It keeps the last 10,000
 * attempts that are over. Of all before, it knows what they took of caps, and for a day at least
 * which keys are spent. Throws `ConfigError` (`invalid_option`).
 *
 * @example
 * const client = createClient({ walletSecretKey, journal: memoryJournal() });
 */
export function memoryJournal(options: JournalOptions = {}): Journal {
  const store = createAttemptStore();
  const outbox = wantsOutbox(options) ? createOutbox() : undefined;
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
  const write = (records: readonly OutboxRecord[]) => {
    records.forEach(store.apply);
    const trimmed = store.trimming();
    trimmed.forEach(store.apply);
    announce(listeners, records, trimmed);
  };
  return {
    tell: (before: Attempt | undefined, after: Attempt | undefined) =>
      write(store.adding(jobsOf(before, after, systemRuntime.now()))),
    port: outboxOver(async (decide) => {
      const { records, result } = decide(store);
      write(records);
      return result;
    }, listeners),
  };
}
