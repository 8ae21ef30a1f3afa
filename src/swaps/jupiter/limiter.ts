import { isLowPriority, untilAborted } from '../../internal/abort.js';
import type { RequestLimiter } from '../../internal/http.js';
import type { Runtime } from '../../internal/runtime.js';
import { createRetryAfterQueue } from './retry-after-queue.js';

const WINDOW_MS = 60_000;
const MAX_PAUSE_MS = 60_000;

export interface Rate {
  /** Requests in any 60 seconds. */
  readonly perWindow: number;
  /** Requests that may leave at once. */
  readonly burst: number;
}

// jupiter.md 1.3: 0.5 requests a second without a key, 1 on the smallest plan with a key.
const KEYLESS: Rate = { perWindow: 30, burst: 5 };
const WITH_KEY: Rate = { perWindow: 60, burst: 10 };

interface ClientSettings {
  readonly baseUrl: string;
  readonly apiKey: string | undefined;
  readonly timeoutMs: number;
}

/**
 * Returns the limiter for a Jupiter address: a sliding window for api.jup.ag itself. For any other
 * address, requests only pause when its answers ask for a pause.
 */
export function jupiterLimiter(
  { baseUrl, apiKey, timeoutMs }: ClientSettings,
  runtime: Runtime,
): RequestLimiter {
  const keyed = apiKey !== undefined;
  if (new URL(baseUrl).hostname !== 'api.jup.ag')
    return createRetryAfterQueue(baseUrl, apiKey, timeoutMs, runtime);
  return createLimiter(keyed ? WITH_KEY : KEYLESS, runtime, keyed);
}

/**
 * Creates a sliding window of 60 seconds: `burst` requests may leave at once, then one request each
 * `60 s / perWindow`, and never more than `perWindow` in any window. Requests leave in the order in
 * which they ask. Low-priority requests wait in a second line, so that the first line never waits
 * for them: half of the burst and the last `burst` of a window are not for the second line. With
 * `learns`, the limit of a larger plan is read from the answers.
 */
export function createLimiter(initial: Rate, runtime: Runtime, learns: boolean): RequestLimiter {
  let rate = initial;
  /** Milliseconds since the epoch at which each request of the window left. */
  let sent: number[] = [];
  let pausedUntil = 0;
  const lastTurn = { first: Promise.resolve(), second: Promise.resolve() };

  const msUntilFree = (line: keyof typeof lastTurn): number => {
    const share = line === 'first' ? rate : shareOfSecond(rate);
    const now = runtime.now();
    // If the clock is set back, all waits end.
    sent = sent.filter((at) => at > now - WINDOW_MS && at <= now);
    if (pausedUntil > now + MAX_PAUSE_MS) pausedUntil = 0;
    return Math.max(
      0,
      pausedUntil - now,
      windowWait(sent, share, now),
      bucketWait(sent, share, now),
    );
  };

  const admit = async (
    line: keyof typeof lastTurn,
    signal: AbortSignal | undefined,
  ): Promise<void> => {
    for (let ms = msUntilFree(line); ms > 0; ms = msUntilFree(line))
      await runtime.sleep(ms, signal);
    if (signal?.aborted === true) throw signal.reason;
    sent.push(runtime.now());
  };

  return {
    take(signal) {
      const line = isLowPriority(signal) ? 'second' : 'first';
      const turn = lastTurn[line].then(() => admit(line, signal));
      // An aborted request leaves its turn to the next request.
      lastTurn[line] = turn.catch(() => undefined);
      return untilAborted(turn, signal);
    },
    observe(status, headers) {
      const remaining = count(headers.get('x-ratelimit-remaining'));
      const current = count(headers.get('x-ratelimit-current'));
      const reset = count(headers.get('x-ratelimit-reset'));
      if (learns && remaining !== undefined && current !== undefined) {
        const perWindow = remaining + current;
        if (perWindow > 0 && perWindow <= 100_000)
          rate = { perWindow, burst: Math.max(5, Math.floor(perWindow / 6)) };
      }
      if (reset !== undefined && (status === 429 || (remaining !== undefined && remaining <= 0))) {
        pausedUntil = Math.min(reset * 1000, runtime.now() + MAX_PAUSE_MS);
      }
    },
  };
}

/**
 * Returns the rate of the second line. It is the slower rate in every respect. So no low-priority
 * request leaves while a request of the first line waits.
 */
function shareOfSecond({ perWindow, burst }: Rate): Rate {
  return { perWindow: Math.max(1, perWindow - burst), burst: Math.max(1, Math.floor(burst / 2)) };
}

function windowWait(sent: readonly number[], { perWindow }: Rate, now: number): number {
  const oldest = sent[sent.length - perWindow];
  return oldest === undefined ? 0 : oldest + WINDOW_MS - now;
}

/** Returns the wait for a bucket of `burst` requests that refills at the window's rate. */
function bucketWait(sent: readonly number[], { perWindow, burst }: Rate, now: number): number {
  const msEach = WINDOW_MS / perWindow;
  // The time at which the bucket would be full again if no more requests were sent.
  const fullAt = sent.reduce((until, at) => Math.max(until, at) + msEach, 0);
  return Math.max(0, fullAt - now - (burst - 1) * msEach);
}

function count(text: string | null): number | undefined {
  return text !== null && /^-?[0-9]{1,12}$/.test(text.trim()) ? Number(text) : undefined;
}
