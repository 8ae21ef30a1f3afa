import { createHeap, type Heap } from '../journal/heap.js';
import type { OutboxJob, TakeOptions } from './outbox.js';

/**
 * The caller that a job is for: callers take turns, and of each those endpoints that are asked for.
 */
export interface Lane {
  /** A caller; for an event that is yet to be handed out, its wallet. */
  readonly owner: string;
  /** An endpoint; empty for such an event. */
  readonly place: string;
}

/** A job that waits in its lane. */
export interface Turn extends Lane {
  readonly id: string;
  readonly dueAt: number;
  /** Of what is due at the same time, the lower comes first. */
  readonly ordinal: number;
}

/**
 * Jobs that wait. What a question costs grows with how many jobs it brings and with how many
 * callers and endpoints wait, not with how many jobs do.
 */
export interface Turns {
  add(turn: Turn): void;
  /** One that is in its lane waits no more. */
  forget(lane: Lane): void;
  take(options: Omit<TakeOptions, 'leaseMs'>): Turn[];
}

interface Queue extends Lane {
  readonly jobs: Heap<Turn>;
  isReady: boolean;
  /** How many of its jobs wait no more, at most. */
  gone: number;
}

export function laneOf({
  event,
  endpoint,
  caller = '',
}: Pick<OutboxJob, 'event' | 'endpoint' | 'caller'>): Lane {
  return endpoint === undefined
    ? { owner: ofWallet(event.data.wallet), place: '' }
    : { owner: ofCaller(caller), place: endpoint };
}

/** Whose turn it is if an event waits to be handed out. */
function ofWallet(wallet: string): string {
  return `wallet ${wallet}`;
}

/** Whose turn it is if a job is for an endpoint of a caller. */
export function ofCaller(caller: string): string {
  return `caller ${caller}`;
}

/** Tells whether a lane is asked for. */
function leftOutBy({
  callers = [],
  but = [],
  endpoints = [],
}: NonNullable<TakeOptions['without']>): (lane: Lane) => boolean {
  const [owners, kept, full] = [new Set(callers.map(ofCaller)), new Set(but), new Set(endpoints)];
  return ({ owner, place }) => full.has(place) || (owners.has(owner) && !kept.has(place));
}

/**
 * @param waits - Whether a job still waits: one that was ended or taken stays here until its turn
 *   comes.
 */
export function createTurns(waits: (turn: Turn) => boolean): Turns {
  const queues = new Map<string, Queue>();
  /**
   * Those that have something due, by owner. Owners stand in the order of their turns: a Map keeps
   * that of insertion.
   */
  const ready = new Map<string, Set<Queue>>();
  /** All others that have something, by when it is due. */
  const later = createHeap<{ readonly queue: Queue; readonly dueAt: number }>(
    (one, other) => one.dueAt < other.dueAt,
  );
  const nameOf = ({ owner, place }: Lane) => JSON.stringify([owner, place]);

  const first = ({ jobs }: Queue): Turn | undefined => {
    for (let turn = jobs.first(); turn !== undefined; turn = jobs.first()) {
      if (waits(turn)) return turn;
      jobs.removeFirst();
    }
    return undefined;
  };
  /** Whether a queue was empty. Another may be in its place already. */
  const removeEmpty = (queue: Queue): boolean => {
    if (queue.jobs.size > 0) return false;
    if (queues.get(nameOf(queue)) === queue) queues.delete(nameOf(queue));
    return true;
  };
  const wake = (now: number): void => {
    for (let next = later.first(); next !== undefined && next.dueAt <= now; next = later.first()) {
      later.removeFirst();
      const { queue } = next;
      if (queue.isReady || removeEmpty(queue)) continue;
      queue.isReady = true;
      ready.set(queue.owner, (ready.get(queue.owner) ?? new Set()).add(queue));
    }
  };
  /** Lets a queue rest until something of it is due. */
  const rest = (queue: Queue, dueAt: number | undefined): void => {
    queue.isReady = false;
    const own = ready.get(queue.owner);
    own?.delete(queue);
    if (own?.size === 0) ready.delete(queue.owner);
    if (!removeEmpty(queue) && dueAt !== undefined) later.add({ queue, dueAt });
  };
  /** What an owner gives in its turn: of all that may be given, what is due first. */
  const give = (
    own: Set<Queue>,
    now: number,
    mayGive: (queue: Queue) => boolean,
  ): Turn | undefined => {
    let best: { readonly turn: Turn; readonly queue: Queue } | undefined;
    for (const queue of own) {
      const turn = first(queue);
      if (turn === undefined || turn.dueAt > now) rest(queue, turn?.dueAt);
      else if ((best === undefined || isBefore(turn, best.turn)) && mayGive(queue))
        best = { turn, queue };
    }
    best?.queue.jobs.removeFirst();
    return best?.turn;
  };

  return {
    add(turn) {
      const name = nameOf(turn);
      const queue = queues.get(name) ?? {
        owner: turn.owner,
        place: turn.place,
        jobs: createHeap(isBefore),
        isReady: false,
        gone: 0,
      };
      queues.set(name, queue);
      const before = queue.jobs.first();
      queue.jobs.add(turn);
      if (!queue.isReady && (before === undefined || turn.dueAt < before.dueAt))
        later.add({ queue, dueAt: turn.dueAt });
    },
    forget(lane) {
      const queue = queues.get(nameOf(lane));
      if (queue === undefined) return;
      queue.gone += 1;
      // Seldom enough that it costs each job the same; often enough that there are never more gone
      // than waiting.
      if (queue.gone * 2 <= queue.jobs.size) return;
      queue.gone = 0;
      queue.jobs.keep(waits);
      if (!queue.isReady) removeEmpty(queue);
    },
    take({ limit, now, perEndpoint = Infinity, perCaller = Infinity, without = {} }) {
      wake(now);
      const isLeftOut = leftOutBy(without);
      const given = new Map<Queue | string, number>();
      const count = (one: Queue | string) => given.get(one) ?? 0;
      const taken: Turn[] = [];
      const mayGive = (queue: Queue) =>
        queue.place === '' ||
        (count(queue) < perEndpoint && count(queue.owner) < perCaller && !isLeftOut(queue));
      // A caller that gives goes to the end, where this comes by again; one that has nothing to
      // give is passed once.
      for (const [owner, own] of ready) {
        if (taken.length >= limit) break;
        const turn = give(own, now, mayGive);
        if (turn === undefined) continue;
        taken.push(turn);
        for (const one of [owner, queues.get(nameOf(turn)) ?? owner])
          given.set(one, count(one) + 1);
        ready.delete(owner);
        ready.set(owner, own);
      }
      return taken;
    },
  };
}

function isBefore(one: Turn, other: Turn): boolean {
  return one.dueAt === other.dueAt ? one.ordinal < other.ordinal : one.dueAt < other.dueAt;
}
