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
  readonly hasRoom: boolean;
  readonly waiting: number;
  /** Whether it is taken in; not where so many wait for its endpoint that its lease would not last. */
  add(leased: Leased): boolean;
  /** One that may run now, and counts as running until it has ended. */
  next(now: number): Leased | undefined;
  end(leased: Leased): void;
  /** All that wait, which wait no longer. */
  clear(): readonly Leased[];
}

const WAITING_PER_PLACE = 16;

export function createLanes({ concurrency, perEndpoint, neededMs }: LaneLimits): Lanes {
  // By the job's id: one whose lease was over is given again.
  const running = new Map<string, Leased>();
  const waiting = new Map<string, Leased>();
  const of = (lane: ReadonlyMap<string, Leased>, endpoint: string) =>
    [...lane.values()].reduce((sum, one) => sum + (one.endpoint === endpoint ? 1 : 0), 0);
  return {
    get hasRoom() {
      return running.size < concurrency;
    },
    get waiting() {
      return waiting.size;
    },
    add(leased) {
      const { job, endpoint } = leased;
      if (running.has(job.id)) return true;
      if (!waiting.has(job.id) && of(waiting, endpoint) >= perEndpoint * WAITING_PER_PLACE) return false;
      waiting.set(job.id, leased);
      return true;
    },
    next(now) {
      if (running.size >= concurrency) return undefined;
      for (const [id, leased] of waiting) {
        // Whoever is given it next delivers it.
        const isOver = leased.until - now < neededMs;
        if (!isOver && of(running, leased.endpoint) >= perEndpoint) continue;
        waiting.delete(id);
        if (isOver) continue;
        running.set(id, leased);
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
