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
  end(leased: Leased): void;
  /** All that wait, which wait no longer. */
  clear(): readonly Leased[];
}

/** Enough to do for an endpoint, for each delivery that it may have at once. */
const WAITING_PER_PLACE = 16;
/** An endpoint that takes longer is not waited for. */
const SLOW_MS = 100;
const SOONEST_MS = 1_000;

export function createLanes({ concurrency, perEndpoint, neededMs }: LaneLimits): Lanes {
  // By the job's id: one whose lease was over is given again.
  const running = new Map<string, Leased & { readonly since: number }>();
  const waiting = new Map<string, Leased>();
  const countOf = (lane: ReadonlyMap<string, Leased>, endpoint: string) =>
    [...lane.values()].reduce((sum, one) => sum + (one.endpoint === endpoint ? 1 : 0), 0);
  const isFull = (endpoint: string) => countOf(waiting, endpoint) >= perEndpoint * WAITING_PER_PLACE;
  /** How long its slowest delivery has taken by now. */
  const ageOf = (endpoint: string, now: number) =>
    [...running.values()].reduce((most, one) => (one.endpoint === endpoint ? Math.max(most, now - one.since) : most), 0);
  return {
    get waiting() {
      return waiting.size;
    },
    hasRoom(now) {
      if (running.size >= concurrency) return false;
      const endpoints = new Set([...waiting.values()].map(({ endpoint }) => endpoint));
      return ![...endpoints].some((endpoint) => isFull(endpoint) && ageOf(endpoint, now) < SLOW_MS);
    },
    add(leased, now) {
      const { job, endpoint } = leased;
      if (running.has(job.id)) return 0;
      const age = ageOf(endpoint, now);
      if (!waiting.has(job.id) && isFull(endpoint) && age >= SLOW_MS) return Math.max(SOONEST_MS, age * WAITING_PER_PLACE);
      waiting.set(job.id, leased);
      return 0;
    },
    next(now) {
      if (running.size >= concurrency) return undefined;
      for (const [id, leased] of waiting) {
        // Whoever is given it next delivers it.
        const isOver = leased.until - now < neededMs;
        if (!isOver && countOf(running, leased.endpoint) >= perEndpoint) continue;
        waiting.delete(id);
        if (isOver) continue;
        running.set(id, { ...leased, since: now });
        return leased;
      }
      return undefined;
    },
    end({ job }) {
      running.delete(job.id);
    },
    clear() {
      const all = [...waiting.values()];
      waiting.clear();
      return all;
    },
  };
}
