import type { OutboxJob, TakeOptions } from '../../src/outbox/outbox.js';
import { LATE_MS, openEndpoints } from './open-endpoints.js';
import { createPaces } from './paces.js';

/** A job to deliver, and its lease: until then, no other process gets the job. */
export interface Leased {
  readonly job: OutboxJob;
  readonly endpoint: string;
  /** The caller that registered the endpoint. */
  readonly caller: string;
  /** End of the lease. Milliseconds since the epoch. */
  readonly until: number;
}

export interface LaneLimits {
  /**
   * The most deliveries at once to one caller's endpoints. It also limits how many deliveries of
   * all callers may have just begun.
   */
  readonly concurrency: number;
  /** The most deliveries at once to one endpoint: a slow endpoint leaves room for the others. */
  readonly perEndpoint: number;
  /** Milliseconds that a lease must still have when its delivery begins. */
  readonly neededMs: number;
}

/**
 * Running jobs, and jobs that wait until their endpoint and caller have room. The caller with the
 * fewest running deliveries comes first, then the caller that has used the least time.
 */
export interface Lanes {
  readonly waiting: number;
  /**
   * Returns the callers and endpoints to leave out of the next `take`, because enough of their jobs
   * wait here. So the next jobs belong to other callers.
   */
  without(now: number): NonNullable<TakeOptions['without']>;
  add(leased: Leased): void;
  /** Returns a job that may begin now. It counts as running until `end`. */
  next(now: number): Leased | undefined;
  /**
   * Returns a running job to cut off: it takes long, and its caller has more running deliveries
   * than a caller with a waiting job.
   */
  excess(now: number): Leased | undefined;
  end(leased: Leased, now: number): void;
  /** Removes and returns every waiting job. */
  clear(): readonly Leased[];
}

interface Running extends Leased {
  readonly since: number;
}

/** The jobs of one caller. */
interface Share {
  readonly caller: string;
  /** Running jobs by id: the outbox gives a job again once its lease is over. */
  readonly running: Map<string, Running>;
  /** Waiting jobs by endpoint; no queue is empty. */
  readonly waiting: Map<string, Leased[]>;
  /** Number of waiting jobs. */
  size: number;
  /**
   * Milliseconds that the caller's deliveries took. A caller that was idle starts with the least
   * that another caller has used by then.
   */
  used: number;
  /** Number of the caller's last begun delivery, counted over all callers. */
  turn: number;
}

/**
 * Milliseconds for which a delivery counts as just begun. After that it only waits for its
 * receiver, so another delivery may begin.
 */
const BEGINNING_MS = 250;
/**
 * The most running deliveries of all callers, as a multiple of `concurrency`. If all are in use,
 * deliveries that take longer than `GIVES_WAY_MS` give way.
 */
const UNDER_WAY = 8;
const GIVES_WAY_MS = 1_000;
/**
 * Jobs that may wait here for a quick endpoint, as a multiple of `perEndpoint`; and for a caller,
 * as a multiple of `concurrency`.
 */
const WAITING_PER_PLACE = 16;
const WAITING_PER_CALLER = 2;
/** While a job waits for an endpoint that takes longer, no more of its jobs are taken. */
const SLOW_MS = 100;

export function createLanes({ concurrency, perEndpoint, neededMs }: LaneLimits): Lanes {
  const shares = new Map<string, Share>();
  const running = new Map<string, Running>();
  const paces = createPaces();
  let waiting = 0;
  let turns = 0;

  const shareOf = (caller: string): Share => {
    const known = shares.get(caller);
    if (known !== undefined) return known;
    // An idle caller saves up no time, or it would keep all other callers waiting for as long.
    let least = Infinity;
    for (const { used } of shares.values()) least = Math.min(least, used);
    const used = Math.max(paces.usedBy(caller), Number.isFinite(least) ? least : 0);
    const share = { caller, running: new Map(), waiting: new Map(), size: 0, used, turn: 0 };
    shares.set(caller, share);
    return share;
  };
  const dropEmpty = ({ caller, running: callerRuns, size }: Share): void => {
    if (callerRuns.size === 0 && size === 0) shares.delete(caller);
  };
  const remove = (share: Share, endpoint: string): Leased | undefined => {
    const queue = share.waiting.get(endpoint);
    const leased = queue?.shift();
    if (queue?.length === 0) share.waiting.delete(endpoint);
    if (leased === undefined) return undefined;
    share.size -= 1;
    waiting -= 1;
    return leased;
  };
  /**
   * Returns the milliseconds that an endpoint takes, by past and running deliveries; undefined if
   * nothing is known.
   */
  const paceOf = (share: Share, endpoint: string, now: number): number | undefined => {
    const known = paces.of(share.caller, endpoint);
    const ages = [...share.running.values()].flatMap((run) =>
      run.endpoint === endpoint ? now - run.since : [],
    );
    return known === undefined && Math.max(0, ...ages) < LATE_MS
      ? undefined
      : Math.max(known ?? 0, ...ages);
  };
  /** Returns the endpoints of a caller to which the caller's own limits allow a delivery. */
  const openOf = (share: Share, now: number): string[] => {
    if (share.size === 0 || share.running.size >= concurrency) return [];
    return openEndpoints({
      running: [...share.running.values()].map(({ endpoint }) => endpoint),
      waiting: [...share.waiting.keys()],
      paceOf: (endpoint) => paceOf(share, endpoint, now),
      concurrency,
      perEndpoint,
    });
  };
  /** Removes jobs with too short a lease: the process that takes them next delivers them. */
  const removeExpired = (share: Share, now: number): void => {
    for (const [endpoint, queue] of share.waiting) {
      while (queue[0] !== undefined && queue[0].until - now < neededMs) remove(share, endpoint);
    }
    dropEmpty(share);
  };
  /** Returns ranks to compare two callers by: the first rank that differs decides, lower first. */
  const rankOf = ({ caller, running: callerRuns, used, turn }: Share) => [
    callerRuns.size,
    paces.isLate(caller, GIVES_WAY_MS) ? 1 : 0,
    used,
    turn,
  ];
  const comesBefore = (share: Share, other: Share): boolean => {
    const ranks = rankOf(other);
    const difference = rankOf(share)
      .map((rank, index) => rank - (ranks[index] ?? 0))
      .find((by) => by !== 0);
    return (difference ?? 0) < 0;
  };
  /** Returns the caller that is next, with its endpoints to which a delivery may begin. */
  const foremost = (
    now: number,
  ): { readonly share: Share; readonly open: readonly string[] } | undefined => {
    let best: { readonly share: Share; readonly open: readonly string[] } | undefined;
    for (const share of shares.values()) {
      removeExpired(share, now);
      if (share.size === 0 || (best !== undefined && !comesBefore(share, best.share))) continue;
      const open = openOf(share, now);
      if (open.length > 0) best = { share, open };
    }
    return best;
  };
  const hasJustBegunEnough = (now: number): boolean => {
    let count = 0;
    for (const { since } of running.values()) if (now - since < BEGINNING_MS) count += 1;
    return count >= concurrency;
  };
  const isFull = () => running.size >= concurrency * UNDER_WAY;

  return {
    get waiting() {
      return waiting;
    },
    without(now) {
      const callers: string[] = [];
      const but: string[] = [];
      const endpoints: string[] = [];
      for (const share of shares.values()) {
        for (const [endpoint, queue] of share.waiting) {
          const isQuick = (paceOf(share, endpoint, now) ?? Infinity) < SLOW_MS;
          if (!isQuick || queue.length >= perEndpoint * WAITING_PER_PLACE) endpoints.push(endpoint);
        }
        // If a job of the caller may begin, `next` takes it first; then more may be taken.
        const isNext = openOf(share, now).length > 0;
        if (!isNext && share.size < concurrency * WAITING_PER_CALLER) continue;
        callers.push(share.caller);
        // A quick endpoint must not wait for the caller's other endpoints.
        if (isNext) continue;
        but.push(
          ...paces
            .quickerThan(share.caller, LATE_MS)
            .filter((endpoint) => !share.waiting.has(endpoint)),
        );
      }
      return { callers, but, endpoints };
    },
    add(leased) {
      const { job, endpoint, caller } = leased;
      if (running.has(job.id)) return;
      const share = shareOf(caller);
      const queue = share.waiting.get(endpoint) ?? [];
      const at = queue.findIndex((queued) => queued.job.id === job.id);
      if (at >= 0) return void queue.splice(at, 1, leased);
      share.waiting.set(endpoint, queue);
      queue.push(leased);
      share.size += 1;
      waiting += 1;
    },
    next(now) {
      if (waiting === 0 || isFull() || hasJustBegunEnough(now)) return undefined;
      const { share, open } = foremost(now) ?? {};
      const [endpoint] = open ?? [];
      if (share === undefined || endpoint === undefined) return undefined;
      const leased = remove(share, endpoint);
      if (leased === undefined) return undefined;
      // Move the endpoint to the end, so that the caller's other endpoints come first next time.
      const queue = share.waiting.get(endpoint);
      share.waiting.delete(endpoint);
      if (queue !== undefined) share.waiting.set(endpoint, queue);
      const run = { ...leased, since: now };
      running.set(leased.job.id, run);
      share.running.set(leased.job.id, run);
      share.turn = turns += 1;
      return leased;
    },
    excess(now) {
      if (waiting === 0 || !isFull()) return undefined;
      const { share } = foremost(now) ?? {};
      if (share === undefined) return undefined;
      let most: Running | undefined;
      // If the next caller is slow too, the other caller must have 2 more running deliveries: with
      // 1 more, the two would only swap places.
      let least = share.running.size + (paces.isLate(share.caller, GIVES_WAY_MS) ? 2 : 1);
      // Jobs are in the order of their begin. So this finds the oldest job of the caller with the
      // most running deliveries.
      for (const run of running.values()) {
        const size = shares.get(run.caller)?.running.size ?? 0;
        if (now - run.since < GIVES_WAY_MS || size < least) continue;
        [most, least] = [run, size + 1];
      }
      return most;
    },
    end({ job, endpoint, caller }, now) {
      const share = shareOf(caller);
      const since = share.running.get(job.id)?.since ?? now;
      running.delete(job.id);
      share.running.delete(job.id);
      share.used += Math.max(1, now - since);
      paces.note(caller, endpoint, now - since, share.used);
      dropEmpty(share);
    },
    clear() {
      const removed = [...shares.values()].flatMap((share) => [...share.waiting.values()].flat());
      for (const share of shares.values()) {
        share.waiting.clear();
        share.size = 0;
        dropEmpty(share);
      }
      waiting = 0;
      return removed;
    },
  };
}
