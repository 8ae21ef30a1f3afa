import { webcrypto } from 'node:crypto';
import type { Random } from './random.js';

/**
 * Virtual time. Events of the world survive the end of the process; timers of the process end with
 * it.
 */
export interface Clock {
  /** Milliseconds since the world began: true time, unaffected by clock jumps. */
  now(): number;
  /** Time of the process's clock, in milliseconds since the epoch. */
  wall(): number;
  /** Moves the process's clock forward, or back if `ms` is negative. */
  jump(ms: number): void;
  /** Schedules an event of the world. */
  after(ms: number, call: () => void): void;
  wait(ms: number): Promise<void>;
  /** Cancels all timers of the ended process; its remaining code cannot set new ones. */
  stopTimers(): void;
  /** Allows timers again, for a new process. */
  startTimers(): void;
  /**
   * Lets time pass until the work is done. Rejects if no event is left before that, or if there are
   * too many events.
   */
  run<T>(work: Promise<T>): Promise<T>;
}

interface Event {
  readonly at: number;
  readonly order: number;
  readonly isOfProcess: boolean;
  call: (() => void) | undefined;
}

const EPOCH_MS = Date.UTC(2026, 0, 5);
const MOST_EVENTS = 200_000;

const real = { immediate: setImmediate };

/**
 * Resolves after some turns of the event loop, when all work that needs no time has ended: a file
 * journal lets other work have its turn between the parts of a list.
 */
const drained = async (): Promise<void> => {
  for (let turn = 0; turn < 4; turn += 1)
    await new Promise<void>((resolve) => real.immediate(resolve));
};

export function createClock(random: Random): Clock & { install(): () => void } {
  const queue: Event[] = [];
  const timers = new Map<number, Event>();
  let time = 0;
  let skew = 0;
  let count = 0;
  let hasProcess = false;

  const add = (ms: number, isOfProcess: boolean, call: () => void): number => {
    const event: Event = { at: time + Math.max(0, ms), order: (count += 1), isOfProcess, call };
    if (isOfProcess && !hasProcess) return event.order;
    push(queue, event);
    if (isOfProcess) timers.set(event.order, event);
    return event.order;
  };
  const cancel = (id: unknown): void => {
    if (typeof id !== 'number') return;
    const event = timers.get(id);
    if (event !== undefined) event.call = undefined;
    timers.delete(id);
  };

  const clock: Clock = {
    now: () => time,
    wall: () => EPOCH_MS + time + skew,
    jump: (ms) => void (skew += ms),
    after: (ms, call) => void add(ms, false, call),
    wait: (ms) => new Promise((resolve) => void add(ms, false, resolve)),
    stopTimers() {
      hasProcess = false;
      for (const id of [...timers.keys()]) cancel(id);
    },
    startTimers: () => void (hasProcess = true),
    async run(work) {
      let isOver = false;
      const over = () => void (isOver = true);
      work.then(over, over);
      for (let events = 0; ; events += 1) {
        await drained();
        // The promise above sets this, which the compiler cannot see.
        if (isOver as boolean) return work;
        if (events > MOST_EVENTS)
          throw new Error(`More than ${MOST_EVENTS} events: something does not end.`);
        let event = pop(queue);
        while (event !== undefined && event.call === undefined) event = pop(queue);
        if (event?.call === undefined)
          throw new Error('Nothing is left to happen, and the run is not over.');
        time = Math.max(time, event.at);
        timers.delete(event.order);
        event.call();
      }
    },
  };

  /**
   * Replaces the process's time by virtual time, and its randomness by the seed's. Returns a
   * function that undoes this.
   */
  const install = () => {
    const before = new Map<string, unknown>();
    const put = (name: string, value: unknown) => {
      before.set(name, Reflect.get(globalThis, name));
      Reflect.set(globalThis, name, value);
    };
    const now = Date.now.bind(Date);
    const chance = Math.random.bind(Math);
    put('setTimeout', (call: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) =>
      add(ms, true, () => call(...args)),
    );
    put('clearTimeout', cancel);
    put('setInterval', () => {
      throw new Error('The library has no intervals.');
    });
    put('FinalizationRegistry', InertRegistry);
    put('WebSocket', undefined);
    Date.now = clock.wall;
    Math.random = random.fork('chance').next;
    const secrets = random.fork('secrets');
    Object.defineProperty(webcrypto, 'getRandomValues', {
      configurable: true,
      value: (array: Uint8Array) => {
        array.set(secrets.bytes(array.length));
        return array;
      },
    });
    return () => {
      for (const [name, value] of before) Reflect.set(globalThis, name, value);
      Date.now = now;
      Math.random = chance;
      Reflect.deleteProperty(webcrypto, 'getRandomValues');
    };
  };
  return { ...clock, install };
}

/** Ignores garbage collection, because a seed does not decide its time. */
class InertRegistry {
  register(): void {
    return;
  }
  unregister(): boolean {
    return false;
  }
}

/** Adds to a binary heap, ordered by time, then by creation. */
function push(heap: Event[], event: Event): void {
  let at = heap.push(event) - 1;
  while (at > 0) {
    const up = (at - 1) >> 1;
    const parent = heap[up];
    if (parent === undefined || !isBefore(event, parent)) break;
    heap[at] = parent;
    at = up;
  }
  heap[at] = event;
}

function pop(heap: Event[]): Event | undefined {
  const [first] = heap;
  const last = heap.pop();
  if (first === undefined || last === undefined || heap.length === 0) return first;
  let at = 0;
  for (;;) {
    let child = 2 * at + 1;
    const [left, right] = [heap[child], heap[child + 1]];
    if (left === undefined) break;
    if (right !== undefined && isBefore(right, left)) child += 1;
    const next = heap[child];
    if (next === undefined || !isBefore(next, last)) break;
    heap[at] = next;
    at = child;
  }
  heap[at] = last;
  return first;
}

function isBefore(a: Event, b: Event): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}
