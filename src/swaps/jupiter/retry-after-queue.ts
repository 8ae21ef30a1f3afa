import { follow, untilAborted } from '../../internal/abort.js';
import { askedWait } from '../../internal/backoff.js';
import type { RequestLimiter } from '../../internal/http.js';
import type { Runtime } from '../../internal/runtime.js';
import { rateLimited } from './http.js';

/** Pause after a 429 that does not say how long it lasts. */
const BRIEF_MS = 1_000;
/** Longest pause, because an answer may ask for too long a pause by mistake. */
const MAX_PAUSE_MS = 10_000;
/** Gap between the first two requests after a pause: time for an answer, which may be a 429. */
const FIRST_GAP_MS = 100;
/**
 * Factor from each gap to the next. It ends a line of any length within two seconds, and slows down
 * no request for good.
 */
const SHRINK = 0.95;

/** Requests that wait for one address; no request leaves during a pause. */
interface Line {
  /** Whether no request waits and a new request could leave at once. */
  isOver(): boolean;
  join(timeoutMs: number, signal: AbortSignal | undefined): Promise<void>;
  pause(ms: number): void;
}

/** Lines by the clock of their waits, then by address and key. A line exists only after a pause. */
const lines = new WeakMap<Runtime, Map<string, Line>>();

/**
 * Creates a limiter that lets every request leave at once, until an answer is a 429 or its window
 * is used up. Then all clients of this address and key in this process pause. The answer tells how
 * long, 10 seconds at most. After a pause, requests leave in the order in which they ask, at first
 * with gaps. A request that reaches its client's deadline (`timeoutMs`) before its turn is refused
 * with `rate_limited`.
 */
export function createRetryAfterQueue(
  address: string,
  apiKey: string | undefined,
  timeoutMs: number,
  runtime: Runtime,
): RequestLimiter {
  const linesOfClock = lines.get(runtime) ?? new Map<string, Line>();
  lines.set(runtime, linesOfClock);
  const key = JSON.stringify([address, apiKey]);
  return {
    async take(signal) {
      await linesOfClock.get(key)?.join(timeoutMs, signal);
    },
    observe(status, headers) {
      const ms = pauseOf(status, headers, runtime.now());
      if (ms === 0) return;
      for (const [lineKey, line] of linesOfClock) if (line.isOver()) linesOfClock.delete(lineKey);
      const line = linesOfClock.get(key) ?? createLine(runtime);
      linesOfClock.set(key, line);
      line.pause(ms);
    },
  };
}

/** Returns the milliseconds of pause that an answer asks for. */
function pauseOf(status: number, headers: Headers, now: number): number {
  if (status === 429) return askedWait(headers, now) ?? BRIEF_MS;
  const isLast = /^(0|-[0-9]{1,12})$/.test(headers.get('x-ratelimit-remaining')?.trim() ?? '');
  return isLast ? (askedWait(headers, now) ?? 0) : 0;
}

function createLine(runtime: Runtime): Line {
  /** Time of the last request to pause, the pause that it asked for, and the pause that counts. */
  let pause = { at: 0, askedMs: 0, ms: 0 };
  /** Time at which the last request left, and the gap that follows it. */
  let lastSent = { at: 0, gapMs: 0 };
  let gapMs = FIRST_GAP_MS;
  let waiting = 0;
  let lastTurn: Promise<void> = Promise.resolve();

  const remaining = (at: number, ms: number): number => {
    const passed = runtime.now() - at;
    // If the clock is set back, all waits end.
    return passed < 0 ? 0 : Math.max(0, ms - passed);
  };
  const pauseLeft = () => remaining(pause.at, pause.ms);
  const askedLeft = () => remaining(pause.at, pause.askedMs);
  const msUntilFree = () => Math.max(pauseLeft(), remaining(lastSent.at, lastSent.gapMs));
  const refusal = () => rateLimited(Math.max(1, askedLeft(), msUntilFree()));

  const admit = async (signal: AbortSignal): Promise<void> => {
    for (let ms = msUntilFree(); ms > 0; ms = msUntilFree()) await runtime.sleep(ms, signal);
    if (signal.aborted) throw signal.reason;
    lastSent = { at: runtime.now(), gapMs };
    gapMs = Math.floor(gapMs * SHRINK);
  };

  const isOver = () => waiting === 0 && msUntilFree() === 0;
  return {
    isOver,
    async join(timeoutMs, signal) {
      if (signal?.aborted === true) throw signal.reason;
      if (isOver()) return;
      if (pauseLeft() >= timeoutMs) throw refusal();
      const { controller: wait, end } = follow(signal);
      const deadline = runtime.sleep(timeoutMs, wait.signal).then(() => wait.abort(refusal()));
      // The sleep rejects when the wait ends; `wait` already carries the outcome.
      deadline.catch(() => undefined);
      waiting += 1;
      const turn = lastTurn.then(() => admit(wait.signal));
      // An aborted request leaves its turn to the next request.
      lastTurn = turn.catch(() => undefined);
      try {
        await untilAborted(turn, wait.signal);
      } finally {
        waiting -= 1;
        end();
        wait.abort();
      }
    },
    pause(askedMs) {
      const ms = Math.min(askedMs, MAX_PAUSE_MS);
      // If several answers ask for a pause, the longest pause counts.
      pause = {
        at: runtime.now(),
        askedMs: Math.max(askedMs, askedLeft()),
        ms: Math.max(ms, pauseLeft()),
      };
      gapMs = FIRST_GAP_MS;
    },
  };
}
