import { isLowPriority, untilAborted } from '../../internal/abort.js';
import type { RequestLimiter } from '../../internal/http.js';
import type { Runtime } from '../../internal/runtime.js';
import { createRetryAfterQueue } from './retry-after-queue.js';
import { jupiterBase } from './http.js';

const WINDOW_MS = 60_000;
const MAX_PAUSE_MS = 60_000;

/** Requests in any 60 seconds, of which some may leave at once. */
export interface Rate {
  readonly perWindow: number;
  readonly burst: number;
}

// jupiter.md 1.3: 0.5 requests a second without a key, 1 on the smallest plan with one.
const KEYLESS: Rate = { perWindow: 30, burst: 5 };
const WITH_KEY: Rate = { perWindow: 60, burst: 10 };

/** The client that a limiter holds back, and the deadline of each of its requests. */
interface Asking {
  readonly baseUrl: string;
  readonly apiKey: string | undefined;
  readonly timeoutMs: number;
}

/**
 * The limiter for a Jupiter address: a window for api.jup.ag itself; any other is left alone when
 * its own answers ask for that.
 */
export function jupiterLimiter(
  { baseUrl, apiKey, timeoutMs }: Asking,
  runtime: Runtime,
): RequestLimiter {
  const key = apiKey?.trim() ?? '';
  const keyed = key !== '';
  if (new URL(baseUrl).hostname !== 'api.jup.ag')
    return createRetryAfterQueue(jupiterBase(baseUrl), key, timeoutMs, runtime);
  return createLimiter(keyed ? WITH_KEY : KEYLESS, runtime, keyed);
}

/**
 * A sliding window of 60 seconds: `burst` requests may leave at once, then one for each
 * `60 s / perWindow`, and never more than `perWindow` in any window. The first to ask leaves first;
 * requests that give way have a line of their own, and leave half a burst and a window's last
 * `burst` to the others, so that none of those waits for them. With `learns`, the limit of a larger
 * plan is read from the answers.
 */
export function createLimiter(initial: Rate, runtime: Runtime, learns: boolean): RequestLimiter {
  let rate = initial;
  let sent: number[] = [];
  let pausedUntil = 0;
  const last = { first: Promise.resolve(), second: Promise.resolve() };

  const msUntilFree = (line: keyof typeof last): number => {
    const share = line === 'first' ? rate : shareOfSecond(rate);
    const now = runtime.now();
    // A clock that is set back ends each wait.
    sent = sent.filter((at) => at > now - WINDOW_MS && at <= now);
    if (pausedUntil > now + MAX_PAUSE_MS) pausedUntil = 0;
    return Math.max(
      0,
      pausedUntil - now,
      windowWait(sent, share, now),
      bucketWait(sent, share, now),
    );
  };

  const admit = async (line: keyof typeof last, signal: AbortSignal | undefined): Promise<void> => {
    for (let ms = msUntilFree(line); ms > 0; ms = msUntilFree(line))
      await runtime.sleep(ms, signal);
    if (signal?.aborted === true) throw signal.reason;
    sent.push(runtime.now());
  };

  return {
    take(signal) {
      const line = isLowPriority(signal) ? 'second' : 'first';
      const turn = last[line].then(() => admit(line, signal));
      // One that gave up leaves its place to the next.
      last[line] = turn.catch(() => undefined);
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
 * Of a rate, for those that give way: slower in all, so that its turn never comes before one of the
 * first line that waits.
 */
function shareOfSecond({ perWindow, burst }: Rate): Rate {
  return { perWindow: Math.max(1, perWindow - burst), burst: Math.max(1, Math.floor(burst / 2)) };
}

function windowWait(sent: readonly number[], { perWindow }: Rate, now: number): number {
  const oldest = sent[sent.length - perWindow];
  return oldest === undefined ? 0 : oldest + WINDOW_MS - now;
}

/** A bucket of `burst` that fills at the window's rate, worked out from what was sent. */
function bucketWait(sent: readonly number[], { perWindow, burst }: Rate, now: number): number {
  const each = WINDOW_MS / perWindow;
  // When the bucket would be full again if nothing else were sent.
  const full = sent.reduce((until, at) => Math.max(until, at) + each, 0);
  return Math.max(0, full - now - (burst - 1) * each);
}

function count(text: string | null): number | undefined {
  return text !== null && /^-?[0-9]{1,12}$/.test(text.trim()) ? Number(text) : undefined;
}
