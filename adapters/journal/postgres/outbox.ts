import type { NextJob, Outbox } from '../../../src/journal/outbox.js';
import { createListeners } from '../../../src/journal/outbox-port.js';
import type { Database, Query } from './database.js';
import { digest } from './keys.js';
import { endpointsIn } from './outbox-endpoints.js';
import type { JobQueue } from './outbox-queue.js';
import type { Tables } from './schema.js';

/** How long jobs may wait that another process took since and died over. Looking for them reads all jobs: it is not done each time. */
const LOOK_MS = 2_000;

/** A transaction that may add jobs, which are announced once it is committed. */
export type Adding = <T>(
  step: string,
  key: string,
  work: (query: Query, add: (jobs: readonly NextJob[]) => Promise<void>) => Promise<T>,
) => Promise<T>;

export interface PostgresOutbox {
  readonly outbox: Outbox;
  readonly adding: Adding;
}

/** An outbox in the tables of the journal and of pg-boss, which exist. */
export function outboxIn(database: Database, tables: Tables, queue: JobQueue): PostgresOutbox {
  const listeners = createListeners();
  /** When a lease may be over that nobody has freed. Milliseconds since the epoch. */
  let lookAt = -Infinity;

  const adding: Adding = async (step, key, work) => {
    const added: NextJob[] = [];
    const result = await database.transaction(step, key, (query) =>
      work(query, async (jobs) => {
        if (jobs.length === 0) return;
        await queue.add(query, jobs);
        added.push(...jobs);
      }),
    );
    if (added.length > 0) listeners.call();
    return result;
  };

  return {
    adding,
    outbox: {
      ...endpointsIn(database, tables),
      take: (options) =>
        database.transaction('take', digest('take'), async (query) => {
          const { now, leaseMs } = options;
          // A clock that was set back would not look for long.
          if (now >= lookAt || now < lookAt - LOOK_MS) lookAt = Math.min((await queue.free(query, now)) ?? Infinity, now + LOOK_MS);
          const jobs = await queue.take(query, options);
          if (jobs.length > 0) lookAt = Math.min(lookAt, now + leaseMs);
          return jobs;
        }),
      async finish(job, next) {
        await adding('finish', digest('job', job.id), async (query, add) => {
          if (await queue.end(query, job.id)) await add(next);
        });
      },
      onAdded: listeners.add,
    },
  };
}
