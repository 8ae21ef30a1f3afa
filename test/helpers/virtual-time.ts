import { onTestFinished, vi } from 'vitest';

const REAL = { setTimeout: globalThis.setTimeout };
/**
 * Real milliseconds between two checks, and virtual milliseconds that pass at a check: a leap while
 * no request is open, else a step.
 */
const [LOOK_MS, LEAP_MS, STEP_MS] = [2, 100, 2];
/** Checks without an open request before a leap, because the code needs time to use an answer. */
const QUIET_LOOKS = 5;

/** A virtual clock, and the fetch during which it keeps to real time. */
export interface VirtualTime {
  readonly fetch: typeof fetch;
  /** Milliseconds since the start. */
  now(): number;
}

/**
 * Replaces timers and dates of this process until the test is over. Virtual time leaps ahead while
 * the code only waits, and keeps to real time while a request of `fetch` is open. Load modules
 * before, because the clock does not wait for a dynamic import.
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
  onTestFinished(async () => {
    isOver = true;
    await passing;
    vi.useRealTimers();
  });
  return {
    fetch: (input, init) => {
      out += 1;
      return fetch(input, init).finally(() => (out -= 1));
    },
    now: () => Date.now() - start,
  };
}
