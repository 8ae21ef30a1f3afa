import { randomBytes } from '../internal/runtime.js';
import { hex } from '../internal/bytes.js';
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

export type OutboxRecord =
  | { readonly job: OutboxJob }
  | { readonly jobDone: string }
  /** Jobs that the writer has taken, and until when. Milliseconds since the epoch. */
  | { readonly taken: readonly [until: number, ...ids: string[]] }
  | { readonly endpoint: Endpoint }
  | { readonly endpointGone: string };

/** Records of a step that are to be written, and the result of the step. */
export interface OutboxStep<T> {
  readonly records: readonly OutboxRecord[];
  readonly result: T;
  /** Takes back changes that the step made ahead, if its records are not written. */
  undo?(): void;
}

/**
 * Whether a journal adds events even if no outbox was asked for: there are endpoints, and the next
 * process that opens the journal delivers to them.
 */
export function hasReaders(store: OutboxStore): boolean {
  return store.endpoints().some(({ disabledAt }) => disabledAt === undefined);
}

export function hasPlaceFor(
  { id, caller }: Endpoint,
  existing: readonly Endpoint[],
  most: number,
): boolean {
  return (
    existing.every((endpoint) => endpoint.id !== id) &&
    existing.filter((endpoint) => endpoint.caller === caller).length < most
  );
}

/**
 * The jobs and endpoints of a journal that keeps them all in memory. It is synchronous. It says
 * what may happen, and changes only by `apply`.
 * It copies the objects that it is given; the objects that it returns belong to it.
 */
export interface OutboxStore {
  /** Gives ids to jobs that are to be added. */
  adding(next: readonly NextJob[]): OutboxRecord[];
  taking(options: TakeOptions): OutboxStep<OutboxJob[]>;
  finishing(id: string, next: readonly NextJob[]): OutboxStep<void>;
  waiting(): OutboxJob[];
  endpoints(): Endpoint[];
  addingEndpoint(endpoint: Endpoint, most: number): OutboxStep<boolean>;
  changingEndpoint(
    id: string,
    change: (endpoint: Endpoint) => Endpoint | undefined,
  ): OutboxStep<Endpoint | undefined>;
  removingEndpoint(id: string): OutboxStep<boolean>;
  /** Returns records that drop jobs, if there are too many. */
  trimming(): OutboxRecord[];
  apply(record: OutboxRecord): void;
  giveBack(ids: readonly string[]): void;
  /** Returns all jobs and endpoints, without the leases. */
  content(): OutboxRecord[];
}

/** A taken job, and when it may be taken again. Milliseconds since the epoch. */
interface Lease {
  readonly id: string;
  readonly until: number;
}

/** A job on record, with the lane that it waits in while it is not taken. */
type Kept = Turn & { readonly job: OutboxJob };

export function createOutboxStore(): OutboxStore {
  const jobs = new Map<string, Kept>();
  /** Ids of jobs by owner, in the order in which the jobs were added. */
  const owned = new Map<string, Set<string>>();
  /** Owners that may have too many jobs. */
  const full = new Set<string>();
  const endpoints = new Map<string, Endpoint>();
  /** The lease of each taken job, by id. */
  const leases = new Map<string, Lease>();
  const ends = createHeap<Lease>((a, b) => a.until < b.until);
  const turns = createTurns((turn) => jobs.get(turn.id) === turn && !leases.has(turn.id));
  // A random part, because other stores of the same file must not give the same id.
  const name = hex.encode(randomBytes(8));
  let made = 0;
  let added = 0;

  const keep = (job: OutboxJob): void => {
    const kept = { ...laneOf(job), id: job.id, dueAt: job.dueAt, ordinal: (added += 1), job };
    jobs.set(job.id, kept);
    const ownIds = (owned.get(kept.owner) ?? new Set()).add(job.id);
    owned.set(kept.owner, ownIds);
    if (ownIds.size > MOST_JOBS.ofOne) full.add(kept.owner);
    turns.add(kept);
  };
  const withId = (next: NextJob): OutboxRecord => ({
    job: copyOfJob({ ...next, id: `${name}-${(made += 1)}` }),
  });
  const end = (id: string): void => {
    const kept = jobs.get(id);
    if (kept === undefined) return;
    jobs.delete(id);
    const ownIds = owned.get(kept.owner);
    ownIds?.delete(id);
    if (ownIds?.size === 0) owned.delete(kept.owner);
    // A taken job is in no lane.
    if (!leases.delete(id)) turns.forget(kept);
  };
  const lease = (id: string, until: number): void => {
    const kept = jobs.get(id);
    if (kept === undefined) return;
    if (!leases.has(id)) turns.forget(kept);
    const newLease = { id, until };
    leases.set(id, newLease);
    ends.add(newLease);
  };
  const giveBack = (ids: readonly string[]): void => {
    for (const id of ids) {
      const kept = jobs.get(id);
      if (!leases.delete(id) || kept === undefined) continue;
      // Add a new object, because the old turn may still be in the lane.
      const again = { ...kept };
      jobs.set(id, again);
      turns.add(again);
    }
  };
  const endExpired = (now: number) => {
    const expired: Lease[] = [];
    for (let next = ends.first(); next !== undefined && next.until <= now; next = ends.first()) {
      ends.removeFirst();
      if (leases.get(next.id) !== next) continue;
      giveBack([next.id]);
      expired.push(next);
    }
    return expired;
  };

  return {
    adding: (next) => next.map(withId),
    taking(options) {
      const { leaseMs, now } = options;
      const expired = endExpired(now);
      const until = now + leaseMs;
      const ids = turns.take(options).map(({ id }) => id);
      // The jobs have left their lanes, and no other call of this process may take them meanwhile.
      const ahead = ids.map((id) => ({ id, until }));
      for (const mine of ahead) leases.set(mine.id, mine);
      return {
        records: ids.length === 0 ? [] : [{ taken: [until, ...ids] }],
        result: ids.flatMap((id) => jobs.get(id)?.job ?? []),
        undo() {
          // Another process may have taken a job first: then that lease stays.
          giveBack(ahead.flatMap((mine) => (leases.get(mine.id) === mine ? [mine.id] : [])));
          for (const ended of expired) if (!leases.has(ended.id)) lease(ended.id, ended.until);
        },
      };
    },
    finishing: (id, next) => ({
      records: jobs.has(id) ? [{ jobDone: id }, ...next.map(withId)] : [],
      result: undefined,
    }),
    waiting: () => [...jobs.values()].map(({ job }) => job),
    endpoints: () => [...endpoints.values()],
    addingEndpoint(input, most) {
      const endpoint = copyOfEndpoint(input);
      const hasPlace = hasPlaceFor(endpoint, [...endpoints.values()], most);
      return { records: hasPlace ? [{ endpoint }] : [], result: hasPlace };
    },
    changingEndpoint(id, change) {
      const before = endpoints.get(id);
      const after = before && change(before);
      if (after === undefined) return { records: [], result: undefined };
      const endpoint = copyOfEndpoint({ ...after, id });
      return { records: [{ endpoint }], result: endpoint };
    },
    removingEndpoint: (id) => ({
      records: endpoints.has(id) ? [{ endpointGone: id }] : [],
      result: endpoints.has(id),
    }),
    trimming() {
      if (full.size === 0 && jobs.size <= MOST_JOBS.inAll) return [];
      const counts = new Map([...owned].map(([owner, ids]) => [owner, ids.size] as const));
      const oldest = new Map([...owned].map(([owner, ids]) => [owner, ids.values()] as const));
      const dropped: OutboxRecord[] = [];
      const drop = (owner: string): void => {
        const next = oldest.get(owner)?.next();
        counts.set(owner, (counts.get(owner) ?? 0) - 1);
        if (next?.done === false) dropped.push({ jobDone: next.value });
      };
      for (const owner of full) while ((counts.get(owner) ?? 0) > MOST_JOBS.ofOne) drop(owner);
      full.clear();
      while (jobs.size - dropped.length > MOST_JOBS.inAll)
        drop([...counts].reduce((most, count) => (count[1] > most[1] ? count : most))[0]);
      return dropped;
    },
    apply(record) {
      if ('job' in record) keep(record.job);
      else if ('jobDone' in record) end(record.jobDone);
      else if ('endpoint' in record) endpoints.set(record.endpoint.id, record.endpoint);
      else if ('endpointGone' in record) endpoints.delete(record.endpointGone);
      else {
        const [until, ...ids] = record.taken;
        for (const id of ids) lease(id, until);
      }
    },
    giveBack,
    content: () => [
      ...[...endpoints.values()].map((endpoint) => ({ endpoint })),
      ...[...jobs.values()].map(({ job }) => ({ job })),
    ],
  };
}
