import { createHeap, type Heap } from '../journal/heap.js';
import { LONGEST_PAUSE_MS, type OutboxJob, type TakeOptions } from './outbox.js';

/**
 * The lane of a job: its owner and its endpoint. Owners take turns, and each owner gives jobs of
 * endpoints that are not left out.
 */
export interface Lane {
  /** The job's caller; for an event that is not split yet, its wallet. */
  readonly owner: string;
  /** The job's endpoint; empty for an event that is not split yet. */
  readonly place: string;
}

export interface Turn extends Lane {
  readonly id: string;
  readonly dueAt: number;
  /** Of jobs that are due at the same time, the lowest ordinal comes first. */
  readonly ordinal: number;
}

/**
 * Jobs that wait. The cost of `take` grows with the jobs that it returns, and with the callers and
 * endpoints that wait. It does not grow with the jobs that wait.
 */
export interface Turns {
  add(turn: Turn): void;
  /** Notes that a job in a lane waits no more. */
  forget(lane: Lane): void;
  take(options: Omit<TakeOptions, 'leaseMs'>): Turn[];
}

interface Queue extends Lane {
  readonly jobs: Heap<Turn>;
  isReady: boolean;
  /** The most jobs of the queue that may wait no more. */
  stale: number;
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

/** Returns the owner of an event that is not split yet. */
function ofWallet(wallet: string): string {
  return `wallet ${wallet}`;
}

/** Returns the owner of a job for an endpoint of a caller. */
export function ofCaller(caller: string): string {
  return `caller ${caller}`;
}

function leftOutBy({
  callers = [],
  but = [],
  endpoints = [],
}: NonNullable<TakeOptions['without']>): (lane: Lane) => boolean {
  const [owners, kept, full] = [new Set(callers.map(ofCaller)), new Set(but), new Set(endpoints)];
  return ({ owner, place }) => full.has(place) || (owners.has(owner) && !kept.has(place));
}

/**
 * @param waits - Whether a job still waits: a job that was ended or taken stays in its queue until
 *   its turn comes.
 */
export function createTurns(waits: (turn: Turn) => boolean): Turns {
  const queues = new Map<string, Queue>();
  /**
   * Queues with a due job, by owner. A Map keeps the order of insertion, and the owners are in the
   * order of their turns.
   */
  const ready = new Map<string, Set<Queue>>();
  /** All other queues with a job, by the time at which their first job is due. */
  const later = createHeap<{ readonly queue: Queue; readonly dueAt: number }>(
    (a, b) => a.dueAt < b.dueAt,
  );
  /** When jobs were last taken. The first `take` looks at every queue, as after a set-back. */
  let lastTake = Infinity;
  const nameOf = ({ owner, place }: Lane) => JSON.stringify([owner, place]);

  const first = ({ jobs }: Queue): Turn | undefined => {
    for (let turn = jobs.first(); turn !== undefined; turn = jobs.first()) {
      if (waits(turn)) return turn;
      jobs.removeFirst();
    }
    return undefined;
  };
  /** Removes a queue if it is empty, and returns whether it is. A new queue may have its name. */
  const removeEmpty = (queue: Queue): boolean => {
    if (queue.jobs.size > 0) return false;
    if (queues.get(nameOf(queue)) === queue) queues.delete(nameOf(queue));
    return true;
  };
  const wake = (now: number): void => {
    // `give` puts a queue back if no job of it is due.
    const isSetBack = now < lastTake;
    lastTake = now;
    for (let next = later.first(); next !== undefined; next = later.first()) {
      const { queue, dueAt } = next;
      if (dueAt > now && !isSetBack) return;
      later.removeFirst();
      if (queue.isReady || removeEmpty(queue)) continue;
      queue.isReady = true;
      ready.set(queue.owner, (ready.get(queue.owner) ?? new Set()).add(queue));
    }
  };
  /** Takes a queue out of `ready` until a job of it is due. */
  const sleep = (queue: Queue, dueAt: number | undefined): void => {
    queue.isReady = false;
    const readyQueues = ready.get(queue.owner);
    readyQueues?.delete(queue);
    if (readyQueues?.size === 0) ready.delete(queue.owner);
    if (!removeEmpty(queue) && dueAt !== undefined) later.add({ queue, dueAt });
  };
  /** Returns the job that an owner gives in its turn: of its jobs that may go, the first due. */
  const give = (
    readyQueues: Set<Queue>,
    now: number,
    mayGive: (queue: Queue) => boolean,
  ): Turn | undefined => {
    let best: { readonly turn: Turn; readonly queue: Queue } | undefined;
    for (const queue of readyQueues) {
      const turn = first(queue);
      if (turn === undefined || !isDue(turn, now)) sleep(queue, turn?.dueAt);
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
        stale: 0,
      };
      queues.set(name, queue);
      const before = queue.jobs.first();
      queue.jobs.add(turn);
      if (!queue.isReady && (before === undefined || turn.dueAt < before.dueAt))
        later.add({
          queue,
          dueAt: isDue(turn, lastTake) ? Math.min(turn.dueAt, lastTake) : turn.dueAt,
        });
    },
    forget(lane) {
      const queue = queues.get(nameOf(lane));
      if (queue === undefined) return;
      queue.stale += 1;
      // Clean up only if over half of the jobs may be stale, so that the cost of each is constant.
      if (queue.stale * 2 <= queue.jobs.size) return;
      queue.stale = 0;
      queue.jobs.keep(waits);
      if (!queue.isReady) removeEmpty(queue);
    },
    take({ limit, now, perEndpoint = Infinity, perCaller = Infinity, without = {} }) {
      wake(now);
      const isLeftOut = leftOutBy(without);
      const given = new Map<Queue | string, number>();
      const count = (key: Queue | string) => given.get(key) ?? 0;
      const taken: Turn[] = [];
      const mayGive = (queue: Queue) =>
        queue.place === '' ||
        (count(queue) < perEndpoint && count(queue.owner) < perCaller && !isLeftOut(queue));
      // An owner that gives a job goes to the end, and this loop reaches it again. An owner that
      // has no job to give is reached once.
      for (const [owner, readyQueues] of ready) {
        if (taken.length >= limit) break;
        const turn = give(readyQueues, now, mayGive);
        if (turn === undefined) continue;
        taken.push(turn);
        for (const key of [owner, queues.get(nameOf(turn)) ?? owner])
          given.set(key, count(key) + 1);
        ready.delete(owner);
        ready.set(owner, readyQueues);
      }
      return taken;
    },
  };
}

function isDue({ dueAt }: Turn, now: number): boolean {
  return dueAt <= now || dueAt > now + LONGEST_PAUSE_MS;
}

function isBefore(a: Turn, b: Turn): boolean {
  return a.dueAt === b.dueAt ? a.ordinal < b.ordinal : a.dueAt < b.dueAt;
}
