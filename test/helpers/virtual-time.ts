import { onTestFinished, vi } from 'vitest';

const REAL = { setTimeout: globalThis.setTimeout };
/**
 * Between two looks at the clock; what passes for each of them while nothing is asked of others,
 * and else.
 */
const [LOOK_MS, LEAP_MS, STEP_MS] = [2, 100, 2];
/** Looks without a request before it leaps: what an answer brings about takes some. */
const QUIET_LOOKS = 5;

/** A clock, and the fetch that it looks at. */
export interface VirtualTime {
  readonly fetch: typeof fetch;
  /** Milliseconds since the start. */
  now(): number;
}

/**
 * Until the test is over, timers and dates of this process leap over what is only waited for, and
 * keep to real time while a request of `fetch` is out.
 * What is loaded late has to be loaded before.
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
