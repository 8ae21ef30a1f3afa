import type { Outbox } from './outbox.js';
import type { Added, OutboxRecord, OutboxStore } from './store.js';

/** Runs work on a store as one step, and resolves once what it wrote is kept. */
export type OutboxRun = <T>(
  work: (store: OutboxStore, write: (record: OutboxRecord) => void) => T,
) => Promise<T>;

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

/** Tells of what was written of an outbox, once that is kept. */
export function announce(
  { added, dropped }: OutboxListeners,
  store: OutboxStore,
  records: readonly object[],
): void {
  const count = store.dropped();
  if (count > 0) dropped.call(count);
  if (records.some((record) => 'job' in record)) added.call();
}

/** Writes down what was added, and what was dropped for it. */
export function writeAdded({ jobs, dropped }: Added, write: (record: OutboxRecord) => void): void {
  for (const job of jobs) write({ job });
  for (const jobDone of dropped) write({ jobDone });
}

/** An outbox over a store, wherever what happens to it is written down. */
export function outboxOver(run: OutboxRun, { added, dropped }: OutboxListeners): Outbox {
  return {
    take: (options) => run((store) => store.take(options)),
    finish: (job, next) =>
      run((store, write) => {
        const done = store.finish(job.id, next);
        if (done === undefined) return;
        write({ jobDone: job.id });
        writeAdded(done, write);
      }),
    endpoints: () => run((store) => store.endpoints()),
    addEndpoint: (endpoint, most) =>
      run((store, write) => {
        const kept = store.addEndpoint(endpoint, most);
        if (kept !== undefined) write({ endpoint: kept });
        return kept !== undefined;
      }),
    changeEndpoint: (id, change) =>
      run((store, write) => {
        const changed = store.changeEndpoint(id, change);
        if (changed !== undefined) write({ endpoint: changed });
        return changed;
      }),
    removeEndpoint: (id) =>
      run((store, write) => {
        const removed = store.removeEndpoint(id);
        if (removed) write({ endpointGone: id });
        return removed;
      }),
    onAdded: added.add,
    onDropped: dropped.add,
  };
}
