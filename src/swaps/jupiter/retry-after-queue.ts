import { onAbort, untilAborted } from '../../internal/abort.js';
import { askedWait } from '../../internal/backoff.js';
import type { RequestLimiter } from '../../internal/http.js';
import type { Runtime } from '../../internal/runtime.js';
import { rateLimited } from './http.js';

/** For a 429 that does not say how long it lasts. */
const BRIEF_MS = 1_000;
/** No longer does one answer hold up all requests: it may be wrong. */
const MAX_PAUSE_MS = 10_000;
/**
 * Between the first two that leave after a pause: time for an answer, which may be the next 429.
 */
const FIRST_GAP_MS = 100;
/**
 * Each further gap is that much of the one before, so that a line of any length is gone in two
 * seconds, and nothing is slowed down for good.
 */
const SHRINK = 0.95;

/** Requests that wait for one address, of which none leaves while it wants to be left alone. */
interface Line {
  /** None waits, and none that comes now would have to. */
  isOver(): boolean;
  join(timeoutMs: number, signal: AbortSignal | undefined): Promise<void>;
  pause(ms: number): void;
}

/**
 * By the clock that they wait by, and by address and key. There is none for an address that asked
 * for no pause.
 */
const lines = new WeakMap<Runtime, Map<string, Line>>();

/**
 * Lets everything leave at once, until an answer of the address is a 429, or says that it was the
 * last of its window: then nothing leaves in this process, of whichever client of that address and
 * key, for as long as the answer asks, 10 seconds at most. Requests leave in the order of asking,
 * the first of them some way apart. One that has no time left before its turn, by the deadline of
 * its own client (`timeoutMs`), is refused with `rate_limited`.
 */
export function createRetryAfterQueue(
  address: string,
  apiKey: string,
  timeoutMs: number,
  runtime: Runtime,
): RequestLimiter {
  const all = lines.get(runtime) ?? new Map<string, Line>();
  lines.set(runtime, all);
  const key = JSON.stringify([address, apiKey]);
  return {
    async take(signal) {
      await all.get(key)?.join(timeoutMs, signal);
    },
    observe(status, headers) {
      const ms = askedPause(status, headers, runtime.now());
      if (ms === 0) return;
      for (const [other, line] of all) if (line.isOver()) all.delete(other);
      const line = all.get(key) ?? createLine(runtime);
      all.set(key, line);
      line.pause(ms);
    },
  };
}

function askedPause(status: number, headers: Headers, now: number): number {
  if (status === 429) return askedWait(headers, now) ?? BRIEF_MS;
  const isLast = /^(0|-[0-9]{1,12})$/.test(headers.get('x-ratelimit-remaining')?.trim() ?? '');
  return isLast ? (askedWait(headers, now) ?? 0) : 0;
}

function createLine(runtime: Runtime): Line {
  /** When the address was heard last, for how long it asked, and for how long it is left alone. */
  let pause = { at: 0, askedMs: 0, ms: 0 };
  let left = { at: 0, gapMs: 0 };
  let gapMs = FIRST_GAP_MS;
  let waiting = 0;
  let last: Promise<void> = Promise.resolve();

  const remaining = (at: number, ms: number): number => {
    const passed = runtime.now() - at;
    // A clock that is set back ends each wait.
    return passed < 0 ? 0 : Math.max(0, ms - passed);
  };
  const pauseLeft = () => remaining(pause.at, pause.ms);
  const askedLeft = () => remaining(pause.at, pause.askedMs);
  const msUntilFree = () => Math.max(pauseLeft(), remaining(left.at, left.gapMs));
  const refusal = () => rateLimited(Math.max(1, askedLeft(), msUntilFree()));

  const admit = async (signal: AbortSignal): Promise<void> => {
    for (let ms = msUntilFree(); ms > 0; ms = msUntilFree()) await runtime.sleep(ms, signal);
    if (signal.aborted) throw signal.reason;
    left = { at: runtime.now(), gapMs };
    gapMs = Math.floor(gapMs * SHRINK);
  };

  const isOver = () => waiting === 0 && msUntilFree() === 0;
  return {
    isOver,
    async join(timeoutMs, signal) {
      if (signal?.aborted === true) throw signal.reason;
      if (isOver()) return;
      if (pauseLeft() >= timeoutMs) throw refusal();
      const own = new AbortController();
      const forget =
        signal === undefined ? undefined : onAbort(signal, () => own.abort(signal.reason));
      const late = runtime.sleep(timeoutMs, own.signal).then(() => own.abort(refusal()));
      // It ends with the turn, and is not looked at.
      late.catch(() => undefined);
      waiting += 1;
      const turn = last.then(() => admit(own.signal));
      // One that gave up leaves its place to the next.
      last = turn.catch(() => undefined);
      try {
        await untilAborted(turn, own.signal);
      } finally {
        waiting -= 1;
        forget?.();
        own.abort();
      }
    },
    pause(askedMs) {
      const ms = Math.min(askedMs, MAX_PAUSE_MS);
      // Of several answers of one outage the one that asks for most counts.
      pause = {
        at: runtime.now(),
        askedMs: Math.max(askedMs, askedLeft()),
        ms: Math.max(ms, pauseLeft()),
      };
      gapMs = FIRST_GAP_MS;
    },
  };
}
