import type { Outbox } from './outbox.js';
import type { OutboxStep, OutboxStore } from './store.js';

/** Takes a step at the store's present state, and resolves once its records are kept. */
export type OutboxRun = <T>(decide: (store: OutboxStore) => OutboxStep<T>) => Promise<T>;

/**
 * Functions that are called after a write. A listener that throws must not fail the write, because
 * it has happened.
 */
export interface Listeners<T> {
  add(listener: (news: T) => void): () => void;
  call(news: T): void;
}

export function createListeners<T = void>(): Listeners<T> {
  // Wrap each listener: if it is added twice, it is called twice, and each addition ends by itself.
  const entries = new Set<{ readonly listener: (news: T) => void }>();
  return {
    add(listener) {
      const entry = { listener };
      entries.add(entry);
      return () => void entries.delete(entry);
    },
    call(news) {
      for (const { listener } of [...entries]) {
        try {
          listener(news);
        } catch {
          continue;
        }
      }
    },
  };
}

export interface OutboxListeners {
  /** Called when jobs may have been added. */
  readonly added: Listeners<void>;
  /** Called with the number of dropped jobs. */
  readonly dropped: Listeners<number>;
}

export function createOutboxListeners(): OutboxListeners {
  return { added: createListeners(), dropped: createListeners<number>() };
}

/**
 * Calls the listeners of records that have been kept.
 *
 * @param trimmed - Records of jobs that were dropped, because there were too many.
 */
export function announce(
  { added, dropped }: OutboxListeners,
  records: readonly object[],
  trimmed: readonly object[],
): void {
  if (trimmed.length > 0) dropped.call(trimmed.length);
  if (records.some((record) => 'job' in record)) added.call();
}

/** Creates an outbox over a store; `run` keeps the records of each step. */
export function outboxOver(run: OutboxRun, { added, dropped }: OutboxListeners): Outbox {
  return {
    take: (options) => run((store) => store.taking(options)),
    finish: (job, next) => run((store) => store.finishing(job.id, next)),
    waiting: () => run((store) => ({ records: [], result: store.waiting() })),
    endpoints: () => run((store) => ({ records: [], result: store.endpoints() })),
    addEndpoint: (endpoint, most) => run((store) => store.addingEndpoint(endpoint, most)),
    changeEndpoint: (id, change) => run((store) => store.changingEndpoint(id, change)),
    removeEndpoint: (id) => run((store) => store.removingEndpoint(id)),
    onAdded: added.add,
    onDropped: dropped.add,
  };
}
