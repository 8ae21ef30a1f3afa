import type { Outbox } from './outbox.js';
import type { OutboxStep, OutboxStore } from './store.js';

/** Takes a step at a store as it stands, and resolves once that is kept. */
export type OutboxRun = <T>(decide: (store: OutboxStore) => OutboxStep<T>) => Promise<T>;

/**
 * A function that is called when something happened. One that throws must not fail the write that
 * it hears of, which has happened.
 */
export interface Listeners<T> {
  add(listener: (news: T) => void): () => void;
  call(news: T): void;
}

export function createListeners<T = void>(): Listeners<T> {
  // Wrapped: one that is added twice is called twice, and each ends for itself.
  const all = new Set<{ readonly listener: (news: T) => void }>();
  return {
    add(listener) {
      const one = { listener };
      all.add(one);
      return () => void all.delete(one);
    },
    call(news) {
      for (const { listener } of [...all]) {
        try {
          listener(news);
        } catch {
          continue;
        }
      }
    },
  };
}

/** What is to be called when something happens to an outbox. */
export interface OutboxListeners {
  /** Of jobs that may have been added. */
  readonly added: Listeners<void>;
  /** Of how many were dropped. */
  readonly dropped: Listeners<number>;
}

export function createOutboxListeners(): OutboxListeners {
  return { added: createListeners(), dropped: createListeners<number>() };
}

/**
 * Tells of what was written of an outbox, once that is kept.
 *
 * @param trimmed - What went as there was too much.
 */
export function announce(
  { added, dropped }: OutboxListeners,
  records: readonly object[],
  trimmed: readonly object[],
): void {
  if (trimmed.length > 0) dropped.call(trimmed.length);
  if (records.some((record) => 'job' in record)) added.call();
}

/** An outbox over a store, wherever what happens to it is written down. */
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
