import { crypto } from '@noble/hashes/crypto';
import { untilAborted } from './abort.js';

/** Everything impure that the core needs, injected so that tests control time and chance. */
export interface Runtime {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Resolves after `ms`; rejects with the signal's reason when the signal fires. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** As `sleep`, for background work: does not keep the process alive, if the runtime can do so. */
  idle(ms: number, signal?: AbortSignal): Promise<void>;
  randomBytes(length: number): Uint8Array;
}

/**
 * Returns the milliseconds since a moment. Infinity if the clock was set back since then, so that
 * cached values count as old.
 */
export function sinceThen(runtime: Pick<Runtime, 'now'>, at: number): number {
  const passed = runtime.now() - at;
  return passed < 0 ? Infinity : passed;
}

function wait(ms: number, signal: AbortSignal | undefined, background: boolean): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const passed = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
    // Node's timers are objects with `unref`; a browser's timers are numbers.
    if (background && typeof timer === 'object') timer.unref();
  });
  const waited = untilAborted(passed, signal);
  waited.catch(() => clearTimeout(timer));
  return waited;
}

/** The runtime's own clock, timers and randomness. */
export const systemRuntime: Runtime = {
  // A getter, because a test may replace the global clock later.
  get now() {
    return Date.now;
  },
  sleep: (ms, signal) => wait(ms, signal, false),
  idle: (ms, signal) => wait(ms, signal, true),
  randomBytes,
};

/** Returns bytes of the runtime's own random source; Node 16 and 18 have no global crypto. */
export function randomBytes(length: number): Uint8Array<ArrayBuffer> {
  return (crypto as Crypto).getRandomValues(new Uint8Array(length)); // Declared as any.
}
