import type { OutboxJob } from '../../src/journal/outbox.js';

/** A job that is to be delivered, and until when nobody else is given it. */
export interface Leased {
  readonly job: OutboxJob;
  readonly endpoint: string;
  /** Milliseconds since the epoch. */
  readonly until: number;
}

export interface LaneLimits {
  /** Deliveries at once. */
  readonly concurrency: number;
  /** Of those, to one endpoint: one that is slow leaves room for the others. */
  readonly perEndpoint: number;
  /** Of a lease, that a delivery which begins must still have. */
  readonly neededMs: number;
  /** For how long a job may be put off. */
  readonly longestMs: number;
}

/** Jobs that run, and jobs that wait for their endpoint to have room. */
export interface Lanes {
  readonly waiting: number;
  /** Whether more is to be asked for: not while a quick endpoint has enough to do, which will be over soon. */
  hasRoom(now: number): boolean;
  /** Takes a job in, and gives 0; or the milliseconds after which a slow endpoint, for which enough wait, may get to it. */
  add(leased: Leased, now: number): number;
  /** One that may run now, and counts as running until it has ended. */
  next(now: number): Leased | undefined;
  end(leased: Leased, now: number): void;
  /** All that wait, which wait no longer. */
  clear(): readonly Leased[];
}

/** What runs at a time. */
interface View {
  runningFor(endpoint: string): number;
  /** How long an endpoint takes, its slowest delivery that runs included. */
  paceOf(endpoint: string): number;
  /** Whether those of its kind have no place left. */
  isKindFull(endpoint: string): boolean;
}

/** Enough to do for an endpoint, for each delivery that it may have at once. */
const WAITING_PER_PLACE = 16;
/** An endpoint that takes longer is not waited for. */
const SLOW_MS = 100;
const SOONEST_MS = 1_000;
/** Endpoints that take longer share half of the places, however many they are: who answers in time waits for none of them. */
const LATE_MS = 2_000;
/** Of all places, those that endpoints may have together of which nothing is known yet, and those that are late. */
const UNPROVEN = 3 / 4;
const LATE = 1 / 2;
/** Of how many endpoints it is remembered how long they take, and how much was put off. */
const REMEMBERED = 10_000;

export function createLanes({ concurrency, perEndpoint, neededMs, longestMs }: LaneLimits): Lanes {
  // By the job's id: one whose lease was over is given again.
  const running = new Map<string, Leased & { readonly since: number }>();
  const waiting = new Map<string, Leased>();
  /** How long deliveries to an endpoint take: as the last one, or half of what was said before. */
  const took = new Map<string, number>();
  /** When a slow endpoint gets to the last job that was put off. Milliseconds since the epoch. */
  const turns = new Map<string, number>();
  const waitingFor = (endpoint: string) => [...waiting.values()].reduce((sum, one) => sum + (one.endpoint === endpoint ? 1 : 0), 0);
  const isFull = (endpoint: string) => waitingFor(endpoint) >= perEndpoint * WAITING_PER_PLACE;
  const viewAt = (now: number): View => {
    const runs = new Map<string, { readonly count: number; readonly age: number }>();
    for (const { endpoint, since } of running.values()) {
      const { count, age } = runs.get(endpoint) ?? { count: 0, age: 0 };
      runs.set(endpoint, { count: count + 1, age: Math.max(age, now - since) });
    }
    const paceOf = (endpoint: string) => Math.max(took.get(endpoint) ?? 0, runs.get(endpoint)?.age ?? 0);
    const isLate = (endpoint: string) => paceOf(endpoint) >= LATE_MS;
    const isUnproven = (endpoint: string) => !took.has(endpoint) || isLate(endpoint);
    const haveAll = (part: number, is: (endpoint: string) => boolean) =>
      [...runs].reduce((sum, [endpoint, { count }]) => sum + (is(endpoint) ? count : 0), 0) >= Math.max(1, Math.floor(concurrency * part));
    const [noneForLate, noneForUnproven] = [haveAll(LATE, isLate), haveAll(UNPROVEN, isUnproven)];
    return {
      runningFor: (endpoint) => runs.get(endpoint)?.count ?? 0,
      paceOf,
      isKindFull: (endpoint) => (noneForLate && isLate(endpoint)) || (noneForUnproven && isUnproven(endpoint)),
    };
  };
  return {
    get waiting() {
      return waiting.size;
    },
    hasRoom(now) {
      if (running.size >= concurrency) return false;
      const endpoints = new Set([...waiting.values()].map(({ endpoint }) => endpoint));
      const { paceOf, isKindFull } = viewAt(now);
      return ![...endpoints].some((endpoint) => isFull(endpoint) && paceOf(endpoint) < SLOW_MS && !isKindFull(endpoint));
    },
    add(leased, now) {
      const { job, endpoint } = leased;
      if (running.has(job.id)) return 0;
      const { paceOf, isKindFull } = viewAt(now);
      const pace = paceOf(endpoint);
      if (!waiting.has(job.id) && isFull(endpoint) && (pace >= SLOW_MS || isKindFull(endpoint))) {
        // One after the other: put off to the same time, all of them would have to be put off again.
        const soonest = Math.max(turns.get(endpoint) ?? 0, now + Math.max(SOONEST_MS, pace * WAITING_PER_PLACE));
        const turn = Math.min(soonest + Math.ceil(Math.max(SLOW_MS, pace) / perEndpoint), now + longestMs);
        remember(turns, endpoint, turn);
        return turn - now;
      }
      waiting.set(job.id, leased);
      return 0;
    },
    next(now) {
      if (running.size >= concurrency) return undefined;
      const { runningFor, isKindFull } = viewAt(now);
      for (const [id, leased] of waiting) {
        // Whoever is given it next delivers it.
        const isOver = leased.until - now < neededMs;
        if (!isOver && (runningFor(leased.endpoint) >= perEndpoint || isKindFull(leased.endpoint))) continue;
        waiting.delete(id);
        if (isOver) continue;
        running.set(id, { ...leased, since: now });
        return leased;
      }
      return undefined;
    },
    end({ job, endpoint }, now) {
      const since = running.get(job.id)?.since ?? now;
      running.delete(job.id);
      const before = took.get(endpoint) ?? 0;
      remember(took, endpoint, Math.max(now - since, Math.floor(before / 2)));
    },
    clear() {
      const all = [...waiting.values()];
      waiting.clear();
      return all;
    },
  };
}

/** Of endpoints beyond what is remembered, those go that were changed longest ago. */
function remember(all: Map<string, number>, endpoint: string, value: number): void {
  all.delete(endpoint);
  all.set(endpoint, value);
  const [first] = all.keys();
  if (all.size > REMEMBERED && first !== undefined) all.delete(first);
}
