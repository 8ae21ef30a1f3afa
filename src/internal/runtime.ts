import { crypto } from '@noble/hashes/crypto';
import { onAbort } from './abort.js';

/** Everything impure that the core needs, injected so that tests own time and chance. */
export interface Runtime {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Resolves after `ms`; rejects with the signal's reason when aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** As `sleep`, for background work: if the runtime can, it does not keep the process alive. */
  idle(ms: number, signal?: AbortSignal): Promise<void>;
  randomBytes(length: number): Uint8Array;
}

/**
 * Milliseconds since a moment of a clock; of one that was set back meanwhile it is not known how
 * many, so that what is kept counts as old.
 */
export function sinceThen(runtime: Pick<Runtime, 'now'>, at: number): number {
  const passed = runtime.now() - at;
  return passed < 0 ? Infinity : passed;
}

function wait(ms: number, signal: AbortSignal | undefined, background: boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(signal.reason);
    let forget = (): void => undefined;
    const timer = setTimeout(() => {
      forget();
      resolve();
    }, ms);
    // Node's timers are objects that can step aside; a browser's are numbers.
    if (background && typeof timer === 'object') timer.unref();
    if (signal === undefined) return;
    forget = onAbort(signal, () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}

/** The runtime's own clock, timers and randomness. */
export const systemRuntime: Runtime = {
  // The clock itself, as it is at each look.
  get now() {
    return Date.now;
  },
  sleep: (ms, signal) => wait(ms, signal, false),
  idle: (ms, signal) => wait(ms, signal, true),
  // Node 16 and 18 have no global crypto.
  randomBytes,
};

/** From the runtime's own source. Node 16 and 18 have it, but no global crypto. */
export function randomBytes(length: number): Uint8Array<ArrayBuffer> {
  return (crypto as Crypto).getRandomValues(new Uint8Array(length)); // Declared as any.
}
