import { MOST_JOBS, type NextJob, type Outbox } from '../../../src/outbox/outbox.js';
import { createOutboxListeners } from '../../../src/outbox/port.js';
import { batched } from './batch.js';
import type { Database, Query } from './database.js';
import { digest } from './keys.js';
import { endpointsIn } from './outbox-endpoints.js';
import type { JobQueue } from './outbox-queue.js';
import { ignored } from './pool.js';
import type { Tables } from './tables.js';

/**
 * Milliseconds between searches for expired leases of processes that died. A search reads all jobs,
 * so not every `take` does one.
 */
const LOOK_MS = 2_000;

/**
 * About one in this many added jobs leads to a trim, which reads all jobs. So the outbox may exceed
 * its limit by about this many jobs for each process.
 */
const COUNTED = 1_000;

/** Runs a transaction that may add jobs. Announces the jobs once the transaction is committed. */
export type Adding = <T>(
  step: string,
  key: string,
  work: (query: Query, add: (jobs: readonly NextJob[]) => Promise<void>) => Promise<T>,
) => Promise<T>;

export interface PostgresOutbox {
  readonly outbox: Outbox;
  readonly adding: Adding;
  /** Calls all listeners, because another process has, or may have, added jobs. */
  heard(): void;
  readonly listens: boolean;
}

export interface Channel {
  /** Notifies the other processes once the transaction of `query` is committed. */
  tell(query: Query): Promise<unknown>;
  /** Called when a listener is added: from now on, notices must arrive. */
  listen(): void;
}

/** Returns an outbox in the tables of the journal and of pg-boss, which must exist. */
export function outboxIn(
  database: Database,
  tables: Tables,
  queue: JobQueue,
  channel: Channel,
): PostgresOutbox {
  const { added: listeners, dropped } = createOutboxListeners();
  const stops = new Set<() => void>();
  /** When to search for expired leases next. Milliseconds since the epoch. */
  let lookAt = -Infinity;

  const addingWith =
    (tell: Channel['tell']): Adding =>
    async (step, key, work) => {
      let added: NextJob[] = [];
      const result = await database.transaction(step, key, (query) => {
        added = [];
        return work(query, async (jobs) => {
          if (jobs.length === 0) return;
          await queue.add(query, jobs);
          await tell(query);
          added.push(...jobs);
        });
      });
      if (added.length > 0) listeners.call();
      // Trim by chance, so that it also happens if each process adds only a few jobs. Trim in the
      // background: the write must not wait for the trim or fail with it.
      if (Math.random() * COUNTED < added.length) void trimmed().catch(ignored);
      return result;
    };

  const trimmed = async (): Promise<void> => {
    const count = await database.transaction('trim', digest('trim'), (query) =>
      queue.trim(query, MOST_JOBS),
    );
    if (count > 0) dropped.call(count);
  };

  // Only a process that delivers ends jobs, and its own listeners hear of the new jobs. To notify
  // other processes would only make commits wait for each other.
  const replacing = addingWith(() => Promise.resolve());

  // Batch the ends, because many deliveries end at the same time. One statement is a transaction.
  const ending = batched<string>(database, 'finish', async (inner, ids) => {
    await inner.connection('finish', (query) => queue.end(query, ids));
    return [];
  });

  return {
    adding: addingWith(channel.tell),
    heard: listeners.call,
    get listens() {
      return stops.size > 0;
    },
    outbox: {
      ...endpointsIn(database, tables),
      async take(options) {
        const { now, leaseMs } = options;
        // The second condition is for a clock that was set back: it would not search for long.
        const looks = now >= lookAt || now < lookAt - LOOK_MS;
        const taking = await database.transaction('take', digest('take'), async (query) => {
          const next = looks ? await queue.free(query, now) : undefined;
          return { next, jobs: await queue.take(query, options) };
        });
        // Only now, because a transaction that fails ends no lease.
        if (looks) lookAt = Math.min(taking.next ?? Infinity, now + LOOK_MS);
        if (taking.jobs.length > 0) lookAt = Math.min(lookAt, now + leaseMs);
        return taking.jobs;
      },
      async finish(job, next) {
        // Most deliveries end without a new job.
        if (next.length === 0) return void (await ending('jobs', job.id));
        await replacing('finish', digest('job', job.id), async (query, add) => {
          if ((await queue.end(query, [job.id])) > 0) await add(next);
        });
      },
      onDropped: dropped.add,
      onAdded(listener) {
        const stop = listeners.add(listener);
        stops.add(stop);
        channel.listen();
        return () => {
          stops.delete(stop);
          stop();
        };
      },
    },
  };
}
