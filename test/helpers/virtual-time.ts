import { onTestFinished, vi } from 'vitest';

const REAL = { setTimeout: globalThis.setTimeout };
/**
 * Real milliseconds between two checks, and virtual milliseconds that pass at a check: a leap while
 * nothing is open, else a step.
 */
const [LOOK_MS, LEAP_MS, STEP_MS] = [2, 100, 2];
/** Checks with nothing open before a leap, because the code needs time to use an answer. */
const QUIET_LOOKS = 5;

/** A virtual clock, and the fetch during which it keeps to real time. */
export interface VirtualTime {
  readonly fetch: typeof fetch;
  /** Milliseconds since the start. */
  now(): number;
}

/**
 * Replaces timers and dates of this process until the test is over. Virtual time leaps ahead while
 * the code only waits, and keeps to real time while a request of `fetch` is open, or a call of
 * WebCrypto, whose threads may wait long for a busy machine. Load modules before, because the clock
 * does not wait for a dynamic import.
 */
export function startVirtualTime(): VirtualTime {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'], now: Date.now() });
  const start = Date.now();
  let out = 0;
  let quiet = 0;
  let isOver = false;
  const passing = (async () => {
    while (!isOver) {
      await new Promise((resolve) => REAL.setTimeout(resolve, LOOK_MS));
      quiet = out === 0 ? quiet + 1 : 0;
      await vi.advanceTimersByTimeAsync(quiet > QUIET_LOOKS ? LEAP_MS : STEP_MS);
    }
  })();
  const during = <T>(work: Promise<T>): Promise<T> => {
    out += 1;
    return work.finally(() => (out -= 1));
  };
  const { subtle } = crypto;
  const counted = new Proxy(subtle, {
    get: (_, name) => {
      // Every property of it is a method that returns a promise.
      const call = Reflect.get(subtle, name) as (...args: unknown[]) => Promise<unknown>;
      return (...args: unknown[]) => during(call.apply(subtle, args));
    },
  });
  Object.defineProperty(crypto, 'subtle', { value: counted, configurable: true });
  onTestFinished(async () => {
    Reflect.deleteProperty(crypto, 'subtle');
    isOver = true;
    await passing;
    vi.useRealTimers();
  });
  return {
    fetch: (input, init) => during(fetch(input, init)),
    now: () => Date.now() - start,
  };
}
