import type { Outbox } from './outbox.js';
import type { OutboxRecord, OutboxStore } from './outbox-store.js';

/** Runs work on a store as one step, and resolves once what it wrote is kept. */
export type OutboxRun = <T>(work: (store: OutboxStore, write: (record: OutboxRecord) => void) => T) => Promise<T>;

/** Who is called where jobs may have been added. One that throws must not fail the write that it hears of, which has happened. */
export interface AddedListeners {
  add(listener: () => void): () => void;
  call(): void;
}

export function createListeners(): AddedListeners {
  // Wrapped: one that is added twice is called twice, and each ends for itself.
  const all = new Set<{ readonly listener: () => void }>();
  return {
    add(listener) {
      const one = { listener };
      all.add(one);
      return () => void all.delete(one);
    },
    call() {
      for (const { listener } of [...all]) {
        try {
          listener();
        } catch {
          continue;
        }
      }
    },
  };
}

/** Whether it was added to. */
export function isJob(record: object): boolean {
  return 'job' in record;
}

/** An outbox over a store, wherever what happens to it is written down. */
export function outboxOver(run: OutboxRun, onAdded: Outbox['onAdded']): Outbox {
  return {
    take: (options) => run((store) => store.take(options)),
    finish: (job, next) =>
      run((store, write) => {
        const added = store.finish(job.id, next);
        if (added === undefined) return;
        write({ jobDone: job.id });
        for (const one of added) write({ job: one });
      }),
    endpoints: () => run((store) => store.endpoints()),
    addEndpoint: (endpoint, most) =>
      run((store, write) => {
        const added = store.addEndpoint(endpoint, most);
        if (added !== undefined) write({ endpoint: added });
        return added !== undefined;
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
    onAdded,
  };
}
