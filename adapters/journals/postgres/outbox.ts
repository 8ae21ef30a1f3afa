import { MOST_JOBS, type NextJob, type Outbox } from '../../../src/outbox/outbox.js';
import { createOutboxListeners } from '../../../src/outbox/port.js';
import { batched } from './batch.js';
import type { Database, Query } from './database.js';
import { pastDeadlock } from './deadlock.js';
import { digest } from './keys.js';
import { endpointsIn } from './outbox-endpoints.js';
import type { JobQueue } from './outbox-queue.js';
import { ignored } from './pool.js';
import type { Tables } from './tables.js';

/**
 * How long jobs may wait that another process took since and died over. Looking for them reads all
 * jobs: it is not done each time.
 */
const LOOK_MS = 2_000;

/**
 * Of so many jobs that are added one leads to a count of all, which reads all: the outbox holds
 * about so many more than it is to, for each process.
 */
const COUNTED = 1_000;

/** A transaction that may add jobs, which are announced once it is committed. */
export type Adding = <T>(
  step: string,
  key: string,
  work: (query: Query, add: (jobs: readonly NextJob[]) => Promise<void>) => Promise<T>,
) => Promise<T>;

export interface PostgresOutbox {
  readonly outbox: Outbox;
  readonly adding: Adding;
  /** Calls all that asked: another process has added jobs, or may have, unheard. */
  heard(): void;
  /** Whether any listener asked. */
  readonly listens: boolean;
}

/** How processes tell each other that there are jobs. */
export interface Channel {
  /** Tells the others once the transaction is committed. */
  tell(query: Query): Promise<unknown>;
  /** A listener wants to hear of it from now on. */
  listen(): void;
}

/** An outbox in the tables of the journal and of pg-boss, which exist. */
export function outboxIn(
  database: Database,
  tables: Tables,
  queue: JobQueue,
  channel: Channel,
): PostgresOutbox {
  const { added: listeners, dropped } = createOutboxListeners();
  const stops = new Set<() => void>();
  /** When a lease may be over that was not freed. Milliseconds since the epoch. */
  let lookAt = -Infinity;

  const addingWith =
    (tell: Channel['tell']): Adding =>
    async (step, key, work) => {
      const added: NextJob[] = [];
      const result = await database.transaction(step, key, (query) =>
        work(query, async (jobs) => {
          if (jobs.length === 0) return;
          await queue.add(query, jobs);
          await tell(query);
          added.push(...jobs);
        }),
      );
      if (added.length > 0) listeners.call();
      // By chance, so that it is done also if each process adds but a few; after the write,
      // which must not wait for it or fail with it.
      if (Math.random() * COUNTED < added.length) void trimmed().catch(ignored);
      return result;
    };

  const trimmed = async (): Promise<void> => {
    const count = await pastDeadlock(() =>
      database.transaction('trim', digest('trim'), (query) => queue.trim(query, MOST_JOBS)),
    );
    if (count > 0) dropped.call(count);
  };

  // A process that ends a job delivers, and so hears of what takes its place: to tell the others
  // would only make commits wait for each other.
  const replacing = addingWith(() => Promise.resolve());

  // One statement, which is a transaction by itself: many deliveries end at the same time.
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
      take: (options) =>
        database.transaction('take', digest('take'), async (query) => {
          const { now, leaseMs } = options;
          // A clock that was set back would not look for long.
          if (now >= lookAt || now < lookAt - LOOK_MS)
            lookAt = Math.min((await queue.free(query, now)) ?? Infinity, now + LOOK_MS);
          const jobs = await queue.take(query, options);
          if (jobs.length > 0) lookAt = Math.min(lookAt, now + leaseMs);
          return jobs;
        }),
      async finish(job, next) {
        // Most deliveries end with nothing to follow.
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
