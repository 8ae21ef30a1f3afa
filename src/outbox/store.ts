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

/** One thing that happened to an outbox. */
export type OutboxRecord =
  | { readonly job: OutboxJob }
  /** The id of the job that was ended. */
  | { readonly jobDone: string }
  /** Jobs that the writer has taken, and until when. Milliseconds since the epoch. */
  | { readonly taken: readonly [until: number, ...ids: string[]] }
  | { readonly endpoint: Endpoint }
  /** The id of the endpoint that was removed. */
  | { readonly endpointGone: string };

/** What is to happen to an outbox, and what it leads to. */
export interface OutboxStep<T> {
  readonly records: readonly OutboxRecord[];
  readonly result: T;
  /** Takes back what was done ahead, if the records are not written. */
  undo?(): void;
}

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
 * The jobs and endpoints of a journal that has them all at hand. It knows nothing of promises. It
 * says what may happen, and changes only by `apply`.
 * What it is given it copies; what it gives belongs to it.
 */
export interface OutboxStore {
  /** Names jobs that are to be added. */
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
  /** What has to go, as there is too much of it. */
  trimming(): OutboxRecord[];
  apply(record: OutboxRecord): void;
  /** Lets jobs that were taken be taken again. */
  giveBack(ids: readonly string[]): void;
  /** All that is known, but for what was taken. */
  content(): OutboxRecord[];
}

/** A job that is on record, in the lane that it waits in while it is not taken. */
type Kept = Turn & { readonly job: OutboxJob };

export function createOutboxStore(): OutboxStore {
  const jobs = new Map<string, Kept>();
  /** The same by owner, each in the order in which they were added. */
  const owned = new Map<string, Set<string>>();
  /** Owners that may have too many. */
  const full = new Set<string>();
  const endpoints = new Map<string, Endpoint>();
  /** Until when jobs that were taken are one process's alone. Milliseconds since the epoch. */
  const leases = new Map<string, number>();
  const ends = createHeap<{ readonly id: string; readonly until: number }>(
    (one, other) => one.until < other.until,
  );
  const turns = createTurns((turn) => jobs.get(turn.id) === turn && !leases.has(turn.id));
  // No id is given twice, also by stores that follow each other on one file, or share it.
  const name = hex.encode(randomBytes(8));
  let made = 0;
  let added = 0;

  const keep = (job: OutboxJob): void => {
    const one = { ...laneOf(job), id: job.id, dueAt: job.dueAt, ordinal: (added += 1), job };
    jobs.set(job.id, one);
    const own = (owned.get(one.owner) ?? new Set()).add(job.id);
    owned.set(one.owner, own);
    if (own.size > MOST_JOBS.ofOne) full.add(one.owner);
    turns.add(one);
  };
  const named = (next: NextJob): OutboxRecord => ({
    job: copyOfJob({ ...next, id: `${name}-${(made += 1)}` }),
  });
  const end = (id: string): void => {
    const one = jobs.get(id);
    if (one === undefined) return;
    jobs.delete(id);
    const own = owned.get(one.owner);
    own?.delete(id);
    if (own?.size === 0) owned.delete(one.owner);
    // What is taken is in no lane.
    if (!leases.delete(id)) turns.forget(one);
  };
  const lease = (id: string, until: number): void => {
    const one = jobs.get(id);
    if (one === undefined) return;
    if (!leases.has(id)) turns.forget(one);
    leases.set(id, until);
    ends.add({ id, until });
  };
  const giveBack = (ids: readonly string[]): void => {
    for (const id of ids) {
      const one = jobs.get(id);
      if (!leases.delete(id) || one === undefined) continue;
      // Its last turn may still be in the lane.
      const again = { ...one };
      jobs.set(id, again);
      turns.add(again);
    }
  };
  /** Ends leases that are over; returns them. */
  const freeLate = (now: number) => {
    const late: { readonly id: string; readonly until: number }[] = [];
    for (let next = ends.first(); next !== undefined && next.until <= now; next = ends.first()) {
      ends.removeFirst();
      if (leases.get(next.id) !== next.until) continue;
      giveBack([next.id]);
      late.push(next);
    }
    return late;
  };

  return {
    adding: (next) => next.map(named),
    taking(options) {
      const { leaseMs, now } = options;
      const late = freeLate(now);
      const until = now + leaseMs;
      const ids = turns.take(options).map(({ id }) => id);
      // They have left their lanes: no other call of this process may take them meanwhile.
      for (const id of ids) leases.set(id, until);
      return {
        records: ids.length === 0 ? [] : [{ taken: [until, ...ids] }],
        result: ids.flatMap((id) => jobs.get(id)?.job ?? []),
        undo() {
          giveBack(ids);
          for (const one of late) lease(one.id, one.until);
        },
      };
    },
    finishing: (id, next) => ({
      records: jobs.has(id) ? [{ jobDone: id }, ...next.map(named)] : [],
      result: undefined,
    }),
    waiting: () => [...jobs.values()].map(({ job }) => job),
    endpoints: () => [...endpoints.values()],
    addingEndpoint(given, most) {
      const endpoint = copyOfEndpoint(given);
      const has = hasPlaceFor(endpoint, [...endpoints.values()], most);
      return { records: has ? [{ endpoint }] : [], result: has };
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
      const left = new Map([...owned].map(([owner, ids]) => [owner, ids.size] as const));
      const oldest = new Map([...owned].map(([owner, ids]) => [owner, ids.values()] as const));
      const gone: OutboxRecord[] = [];
      const drop = (owner: string): void => {
        const next = oldest.get(owner)?.next();
        left.set(owner, (left.get(owner) ?? 0) - 1);
        if (next?.done === false) gone.push({ jobDone: next.value });
      };
      for (const owner of full) while ((left.get(owner) ?? 0) > MOST_JOBS.ofOne) drop(owner);
      full.clear();
      while (jobs.size - gone.length > MOST_JOBS.inAll)
        drop([...left].reduce((most, one) => (one[1] > most[1] ? one : most))[0]);
      return gone;
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
