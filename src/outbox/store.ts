import { randomBytes } from '../internal/random.js';
import { hex } from '../internal/hex.js';
import { createHeap } from '../journal/heap.js';
import { copyOfEndpoint, copyOfJob } from './json.js';
import {
  MOST_JOBS,
  type Endpoint,
  type NextJob,
  type OutboxJob,
  type TakeOptions,
} from './outbox.js';
import { createTurns, laneOf, type Turn } from './turns.js';

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

/**
 * Whether a journal whose outbox was not asked for adds to it all the same: there are endpoints,
 * which the next process that opens it tells.
 */
export function hasReaders(store: OutboxStore): boolean {
  return store.endpoints().some(({ disabledAt }) => disabledAt === undefined);
}

/** Whether one more endpoint may be added to those that there are. */
export function hasPlaceFor(
  { id, caller }: Endpoint,
  all: readonly Endpoint[],
  most: number,
): boolean {
  return (
    all.every((one) => one.id !== id) && all.filter((one) => one.caller === caller).length < most
  );
}

/**
 * Until when jobs that were taken are one process's alone, by their ids. Milliseconds since the
 * epoch.
 */
export type Leases = ReadonlyMap<string, number>;

/** What became of an outbox when jobs were added. */
export interface Added {
  readonly jobs: readonly OutboxJob[];
  /** Ids of those that were dropped for them. */
  readonly dropped: readonly string[];
}

/**
 * The jobs and endpoints of a journal that has them all at hand. It knows nothing of promises: each
 * call is one step. What it is given it copies; what it gives belongs to it.
 */
export interface OutboxStore {
  /** Names jobs and adds them. */
  add(next: readonly NextJob[]): Added;
  take(options: TakeOptions): OutboxJob[];
  /** As the outbox's; undefined if it had been ended. */
  finish(id: string, next: readonly NextJob[]): Added | undefined;
  endpoints(): Endpoint[];
  /** As the outbox's; returns the endpoint as kept, undefined if it was not added. */
  addEndpoint(endpoint: Endpoint, most: number): Endpoint | undefined;
  changeEndpoint(
    id: string,
    change: (endpoint: Endpoint) => Endpoint | undefined,
  ): Endpoint | undefined;
  removeEndpoint(id: string): boolean;
  leases(): Leases;
  /** How many jobs were dropped since this was asked last. */
  dropped(): number;
  /** Does again what was written down. */
  restore(record: OutboxRecord): void;
  content(): OutboxContent;
}

/** A job that is on record, in the lane that it waits in while it is not taken. */
type Kept = Turn & { readonly job: OutboxJob };

/** @param before - What was taken of it, by a store that knew the same jobs. */
export function createOutboxStore(
  records: Iterable<OutboxRecord> = [],
  before: Leases = new Map(),
): OutboxStore {
  const jobs = new Map<string, Kept>();
  /** The same by owner, each in the order in which they were added. */
  const owned = new Map<string, Set<string>>();
  const endpoints = new Map<string, Endpoint>();
  const leases = new Map<string, number>();
  const ends = createHeap<{ readonly id: string; readonly until: number }>(
    (one, other) => one.until < other.until,
  );
  const turns = createTurns(({ id }) => jobs.has(id) && !leases.has(id));
  // No id is given twice, also by stores that follow each other on one file.
  const name = hex.encode(randomBytes(8));
  let made = 0;
  let added = 0;
  let lost = 0;

  const keep = (job: OutboxJob): Kept => {
    const one = { ...laneOf(job), id: job.id, dueAt: job.dueAt, ordinal: (added += 1), job };
    jobs.set(job.id, one);
    owned.set(one.owner, (owned.get(one.owner) ?? new Set()).add(job.id));
    // What is taken is in no lane.
    if (!leases.has(job.id)) turns.add(one);
    return one;
  };
  const named = (next: NextJob): OutboxJob => copyOfJob({ ...next, id: `${name}-${(made += 1)}` });
  const end = (id: string): void => {
    const one = jobs.get(id);
    if (one === undefined) return;
    jobs.delete(id);
    const own = owned.get(one.owner);
    own?.delete(id);
    if (own?.size === 0) owned.delete(one.owner);
    if (!leases.delete(id)) turns.forget(one);
  };
  const lease = (id: string, until: number): void => {
    leases.set(id, until);
    ends.add({ id, until });
  };
  const freeLate = (now: number): void => {
    for (let next = ends.first(); next !== undefined && next.until <= now; next = ends.first()) {
      ends.removeFirst();
      if (leases.get(next.id) !== next.until) continue;
      leases.delete(next.id);
      const one = jobs.get(next.id);
      if (one !== undefined) turns.add(one);
    }
  };
  const largest = (): string =>
    [...owned].reduce<readonly [string, number]>(
      (most, [owner, { size }]) => (size > most[1] ? [owner, size] : most),
      ['', 0],
    )[0];
  const dropFrom = (owner: string): string[] => {
    const [oldest] = owned.get(owner) ?? [];
    if (oldest === undefined) return [];
    end(oldest);
    return [oldest];
  };
  const addAll = (all: readonly OutboxJob[]): Added => {
    const dropped = all.flatMap((job) => {
      const { owner } = keep(job);
      if ((owned.get(owner)?.size ?? 0) > MOST_JOBS.ofOne) return dropFrom(owner);
      return jobs.size > MOST_JOBS.inAll ? dropFrom(largest()) : [];
    });
    lost += dropped.length;
    return { jobs: all, dropped };
  };
  const restore = (record: OutboxRecord): void => {
    if ('job' in record) keep(record.job);
    else if ('jobDone' in record) end(record.jobDone);
    else if ('endpoint' in record) endpoints.set(record.endpoint.id, record.endpoint);
    else endpoints.delete(record.endpointGone);
  };

  for (const [id, until] of before) lease(id, until);
  for (const record of records) restore(record);

  return {
    add: (next) => addAll(next.map(named)),
    take(options) {
      const { leaseMs, now } = options;
      freeLate(now);
      return turns.take(options).flatMap(({ id }) => {
        lease(id, now + leaseMs);
        return jobs.get(id)?.job ?? [];
      });
    },
    finish(id, next) {
      if (!jobs.has(id)) return undefined;
      // Named before anything is ended: what is no job must leave all as it was.
      const copies = next.map(named);
      end(id);
      return addAll(copies);
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
    dropped() {
      const count = lost;
      lost = 0;
      return count;
    },
    restore,
    content: () => ({
      jobs: [...jobs.values()].map(({ job }) => job),
      endpoints: [...endpoints.values()],
    }),
  };
}
