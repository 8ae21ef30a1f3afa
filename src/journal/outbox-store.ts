import { randomBytes } from '@noble/hashes/utils';
import { hex } from '@scure/base';
import { copyOfEndpoint, copyOfJob } from './outbox-json.js';
import type { Endpoint, NextJob, Outbox, OutboxJob } from './outbox.js';

/** All that an outbox knows. */
export interface OutboxContent {
  /** In the order in which they were added. */
  readonly jobs: readonly OutboxJob[];
  /** In the order in which they were made. */
  readonly endpoints: readonly Endpoint[];
}

/** One thing that happened to an outbox. */
export type OutboxRecord =
  | { readonly job: OutboxJob }
  /** The id of the job that was ended. */
  | { readonly jobDone: string }
  | { readonly endpoint: Endpoint }
  /** The id of the endpoint that was removed. */
  | { readonly endpointGone: string };

/** Whether a journal that nobody asked for its outbox adds to it all the same: somebody is to be told, by whoever opens it next. */
export function hasReaders(store: OutboxStore): boolean {
  return store.endpoints().some(({ disabledAt }) => disabledAt === undefined);
}

/** Whether one more endpoint may be added to those that there are. */
export function hasPlaceFor({ id, caller }: Endpoint, all: readonly Endpoint[], most: number): boolean {
  return all.every((one) => one.id !== id) && all.filter((one) => one.caller === caller).length < most;
}

/** Until when jobs that were taken are nobody else's, by their ids. Milliseconds since the epoch. */
export type Leases = ReadonlyMap<string, number>;

/**
 * The jobs and endpoints of a journal that has them all at hand. It knows nothing of promises: each call is one step. What it is given it
 * copies; what it gives belongs to it.
 */
export interface OutboxStore {
  /** Names a job and adds it. */
  add(next: NextJob): OutboxJob;
  take(options: Parameters<Outbox['take']>[0]): OutboxJob[];
  /** As the outbox's; returns the jobs that were put in its place, or undefined where it had been ended. */
  finish(id: string, next: readonly NextJob[]): OutboxJob[] | undefined;
  endpoints(): Endpoint[];
  /** As the outbox's; returns the endpoint as kept, undefined where it was not added. */
  addEndpoint(endpoint: Endpoint, most: number): Endpoint | undefined;
  changeEndpoint(id: string, change: (endpoint: Endpoint) => Endpoint | undefined): Endpoint | undefined;
  removeEndpoint(id: string): boolean;
  leases(): Leases;
  /** Does again what was written down. */
  restore(record: OutboxRecord): void;
  content(): OutboxContent;
}

/** Who waits, in the order in which they are given. */
interface Waiting {
  readonly id: string;
  readonly dueAt: number;
  readonly ordinal: number;
}

/** @param before - What was taken of it, by a store that knew the same jobs. */
export function createOutboxStore(records: Iterable<OutboxRecord> = [], before: Leases = new Map()): OutboxStore {
  const jobs = new Map<string, Waiting & { readonly job: OutboxJob }>();
  const endpoints = new Map<string, Endpoint>();
  const leases = new Map<string, number>();
  // Those that nobody has, what is due first coming first. What is ended stays until its turn comes.
  const queue: Waiting[] = [];
  // No id is given twice, also by stores that follow each other on one file.
  const name = hex.encode(randomBytes(8));
  let made = 0;
  let added = 0;

  const wait = (one: Waiting): void => {
    let [low, high] = [0, queue.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const other = queue[middle];
      if (other !== undefined && isBefore(other, one)) low = middle + 1;
      else high = middle;
    }
    queue.splice(low, 0, one);
  };
  const keep = (job: OutboxJob): void => {
    const one = { id: job.id, dueAt: job.dueAt, ordinal: (added += 1), job };
    jobs.set(job.id, one);
    wait(one);
  };
  const named = (next: NextJob): OutboxJob => copyOfJob({ ...next, id: `${name}-${(made += 1)}` });
  const end = (id: string): boolean => {
    leases.delete(id);
    return jobs.delete(id);
  };
  const restore = (record: OutboxRecord): void => {
    if ('job' in record) keep(record.job);
    else if ('jobDone' in record) end(record.jobDone);
    else if ('endpoint' in record) endpoints.set(record.endpoint.id, record.endpoint);
    else endpoints.delete(record.endpointGone);
  };
  const freeLate = (now: number): void => {
    for (const [id, until] of leases) {
      if (until > now) continue;
      leases.delete(id);
      const one = jobs.get(id);
      if (one !== undefined) wait(one);
    }
  };

  for (const record of records) restore(record);
  for (const [id, until] of before) if (jobs.has(id)) leases.set(id, until);

  return {
    add(next) {
      const job = named(next);
      keep(job);
      return job;
    },
    take({ limit, leaseMs, now }) {
      freeLate(now);
      const taken: OutboxJob[] = [];
      let seen = 0;
      for (const { id, dueAt } of queue) {
        if (dueAt > now || taken.length >= limit) break;
        seen += 1;
        const job = jobs.get(id)?.job;
        if (job === undefined || leases.has(id)) continue;
        leases.set(id, now + leaseMs);
        taken.push(job);
      }
      queue.splice(0, seen);
      return taken;
    },
    finish(id, next) {
      if (!jobs.has(id)) return undefined;
      // Named before anything is ended: what is no job must leave all as it was.
      const copies = next.map(named);
      end(id);
      for (const job of copies) keep(job);
      return copies;
    },
    endpoints: () => [...endpoints.values()],
    addEndpoint(given, most) {
      const endpoint = copyOfEndpoint(given);
      if (!hasPlaceFor(endpoint, [...endpoints.values()], most)) return undefined;
      endpoints.set(endpoint.id, endpoint);
      return endpoint;
    },
    changeEndpoint(id, change) {
      const before = endpoints.get(id);
      const after = before && change(before);
      if (after === undefined) return undefined;
      const endpoint = copyOfEndpoint({ ...after, id });
      endpoints.set(id, endpoint);
      return endpoint;
    },
    removeEndpoint: (id) => endpoints.delete(id),
    leases: () => new Map(leases),
    restore,
    content: () => ({ jobs: [...jobs.values()].map(({ job }) => job), endpoints: [...endpoints.values()] }),
  };
}

function isBefore(one: Waiting, other: Waiting): boolean {
  return one.dueAt === other.dueAt ? one.ordinal < other.ordinal : one.dueAt < other.dueAt;
}
