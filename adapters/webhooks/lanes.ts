import type { OutboxJob, TakeOptions } from '../../src/outbox/outbox.js';
import { LATE_MS, openEndpoints } from './open-endpoints.js';
import { createPaces } from './paces.js';

/** A job that is to be delivered, and until when no other process is given it. */
export interface Leased {
  readonly job: OutboxJob;
  readonly endpoint: string;
  /** The caller that has its endpoint. */
  readonly caller: string;
  /** Milliseconds since the epoch. */
  readonly until: number;
}

export interface LaneLimits {
  /**
   * Deliveries at once to one caller's endpoints; and of all callers, those that have just begun.
   */
  readonly concurrency: number;
  /** Of those, to one endpoint: one that is slow leaves room for the others. */
  readonly perEndpoint: number;
  /** Of a lease, that a delivery which begins must still have. */
  readonly neededMs: number;
}

/**
 * Jobs that run, and jobs that wait for their endpoint or caller to have room. Of callers comes
 * first which has the fewest under way, and then which has used the least time.
 */
export interface Lanes {
  readonly waiting: number;
  /**
   * Callers that nothing is to be asked for, as something waits for them here: what is asked for is
   * another's.
   */
  without(now: number): NonNullable<TakeOptions['without']>;
  add(leased: Leased): void;
  /** One that may run now, and counts as running until it has ended. */
  next(now: number): Leased | undefined;
  /**
   * One that is to be cut off: it takes long, for a caller with more under way than another for
   * which something waits.
   */
  excess(now: number): Leased | undefined;
  end(leased: Leased, now: number): void;
  /** All that wait, which wait no longer. */
  clear(): readonly Leased[];
}

interface Running extends Leased {
  readonly since: number;
}

/** What one caller has here. */
interface Share {
  readonly caller: string;
  /** By the job's id: one whose lease was over is given again. */
  readonly running: Map<string, Running>;
  /** By endpoint, none of them empty. */
  readonly waiting: Map<string, Leased[]>;
  size: number;
  /**
   * Milliseconds that its deliveries took; for one that had nothing to do, no less than another had
   * by then.
   */
  used: number;
  /** Which of all deliveries was the last of it to begin. */
  turn: number;
}

/**
 * A delivery that has been under way for longer waits for its receiver, and leaves its place to one
 * that begins.
 */
const BEGINNING_MS = 250;
/**
 * Of those there may be so many times more, of all callers; beyond, what takes longer than a second
 * gives way.
 */
const UNDER_WAY = 8;
const GIVES_WAY_MS = 1_000;
/**
 * What may wait here, for each delivery that may be under way at once: for a quick endpoint, and
 * for a caller.
 */
const WAITING_PER_PLACE = 16;
const WAITING_PER_CALLER = 2;
/** An endpoint that takes longer has nothing taken for it while something waits. */
const SLOW_MS = 100;
export function createLanes({ concurrency, perEndpoint, neededMs }: LaneLimits): Lanes {
  const shares = new Map<string, Share>();
  const running = new Map<string, Running>();
  const took = createPaces();
  let waiting = 0;
  let turns = 0;

  const shareOf = (caller: string): Share => {
    const before = shares.get(caller);
    if (before !== undefined) return before;
    // What was not used is not saved up: it would keep all others waiting for as long.
    let least = Infinity;
    for (const { used } of shares.values()) least = Math.min(least, used);
    const used = Math.max(took.usedBy(caller), Number.isFinite(least) ? least : 0);
    const share = { caller, running: new Map(), waiting: new Map(), size: 0, used, turn: 0 };
    shares.set(caller, share);
    return share;
  };
  const dropEmpty = ({ caller, running: own, size }: Share): void => {
    if (own.size === 0 && size === 0) shares.delete(caller);
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
   * How long an endpoint takes, its slowest delivery that runs included; undefined if nothing is
   * known.
   */
  const paceOf = (share: Share, endpoint: string, now: number): number | undefined => {
    const known = took.of(share.caller, endpoint);
    const ages = [...share.running.values()].flatMap((one) =>
      one.endpoint === endpoint ? now - one.since : [],
    );
    return known === undefined && Math.max(0, ...ages) < LATE_MS
      ? undefined
      : Math.max(known ?? 0, ...ages);
  };
  /** The endpoints of a share that may begin something, as far as the share goes. */
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
  /** The process that is given it next delivers it. */
  const removeOver = (share: Share, now: number): void => {
    for (const [endpoint, queue] of share.waiting) {
      while (queue[0] !== undefined && queue[0].until - now < neededMs) remove(share, endpoint);
    }
    dropEmpty(share);
  };
  /** The lower of two comes first, in the first of these that differs. */
  const rankOf = ({ caller, running: own, used, turn }: Share) => [
    own.size,
    took.isLate(caller, GIVES_WAY_MS) ? 1 : 0,
    used,
    turn,
  ];
  const comesBefore = (one: Share, other: Share): boolean => {
    const ranks = rankOf(other);
    const difference = rankOf(one)
      .map((rank, index) => rank - (ranks[index] ?? 0))
      .find((by) => by !== 0);
    return (difference ?? 0) < 0;
  };
  /** The caller that has its turn, with what may begin of its jobs. */
  const foremost = (
    now: number,
  ): { readonly share: Share; readonly open: readonly string[] } | undefined => {
    let best: { readonly share: Share; readonly open: readonly string[] } | undefined;
    for (const share of shares.values()) {
      removeOver(share, now);
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
        // What may begin comes first; more of it may be asked for then.
        const isNext = openOf(share, now).length > 0;
        if (!isNext && share.size < concurrency * WAITING_PER_CALLER) continue;
        callers.push(share.caller);
        // An endpoint that answers in time does not wait for what the caller has besides.
        if (isNext) continue;
        but.push(
          ...took
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
      const at = queue.findIndex((one) => one.job.id === job.id);
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
      // Its other endpoints come before it the next time.
      const rest = share.waiting.get(endpoint);
      share.waiting.delete(endpoint);
      if (rest !== undefined) share.waiting.set(endpoint, rest);
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
      // Of two that are as slow, one more would only put the one in the place of the other.
      let least = share.running.size + (took.isLate(share.caller, GIVES_WAY_MS) ? 2 : 1);
      // In the order in which they began: of the caller with the most, the one that has taken
      // longest.
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
      took.note(caller, endpoint, now - since, share.used);
      dropEmpty(share);
    },
    clear() {
      const all = [...shares.values()].flatMap((share) => [...share.waiting.values()].flat());
      for (const share of shares.values()) {
        share.waiting.clear();
        share.size = 0;
        dropEmpty(share);
      }
      waiting = 0;
      return all;
    },
  };
}
