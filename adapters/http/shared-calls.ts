import { isExactChangeError, TransportError } from '../../src/errors.js';
import { throwIfAborted } from '../../src/internal/abort.js';
import { shareWork, type Join } from '../../src/internal/shared-work.js';

export interface SharedCallsOptions {
  /**
   * Milliseconds for which an answer is given to others too, from when it was asked for: how long
   * it took says nothing of its age.
   */
  readonly freshMs: number;
  /** Answers that are kept at most. */
  readonly maxKept: number;
  /** Milliseconds. */
  readonly now: () => number;
}

/**
 * The answer to a call, for the caller that asked first; `key` is the same for calls whose answers
 * are.
 */
export type SharedCalls<T> = (
  key: string,
  work: (signal: AbortSignal) => Promise<T>,
  signal: AbortSignal | undefined,
) => Promise<T>;

interface UnderWay<T> {
  readonly at: number;
  readonly join: Join<T>;
}

interface Kept<T> {
  readonly at: number;
  readonly answer: T;
}

// A call that hangs must not take along all that come later.
const MAX_JOIN_MS = 5_000;
// However long an upstream asks for: after this it is asked once more.
const MAX_LIMITED_MS = 60_000;

/**
 * Makes one call of equal ones: those that are made while it is under way, and for a short while
 * after. No failure is kept but `rate_limited`, which is answered to all calls until it is over. A
 * caller that gives up leaves the others theirs; with the last of them the call is stopped.
 */
export function createSharedCalls<T>({
  freshMs,
  maxKept,
  now,
}: SharedCallsOptions): SharedCalls<T> {
  const underWay = new Map<string, UnderWay<T>>();
  // In the order of arrival.
  const kept = new Map<string, Kept<T>>();
  let limitedUntil = 0;

  // Of a clock that was set back, no age is known.
  const isWithin = ({ at }: { readonly at: number }, ms: number) => now() >= at && now() - at < ms;
  const forgetOld = () => {
    for (const [key, one] of kept) {
      if (kept.size <= maxKept && isWithin(one, freshMs)) return;
      kept.delete(key);
    }
  };
  const keep = (key: string, one: Kept<T>) => {
    kept.delete(key);
    kept.set(key, one);
    forgetOld();
  };

  /** Nothing of a limit is left if a clock that was set back makes it longer than any. */
  const limitedFor = (): number => {
    const wait = limitedUntil - now();
    return wait <= MAX_LIMITED_MS ? wait : 0;
  };
  // A later answer that asks for less takes nothing back of what an earlier one asked for.
  const limit = (ms: number) => {
    limitedUntil = now() + Math.max(limitedFor(), Math.min(ms, MAX_LIMITED_MS));
  };

  const start = (key: string, work: (signal: AbortSignal) => Promise<T>): Join<T> => {
    const wait = limitedFor();
    if (wait > 0) throw limited(wait);
    const at = now();
    const leave = () => {
      const isCurrent = underWay.get(key) === call;
      if (isCurrent) underWay.delete(key);
      return isCurrent;
    };
    const join = shareWork(async (signal) => {
      try {
        const answer = await work(signal);
        if (leave()) keep(key, { at, answer });
        return answer;
      } catch (error) {
        leave();
        if (isExactChangeError(error, 'rate_limited')) limit(error.details.retryAfterMs);
        throw error;
      }
    }, leave);
    const call = { at, join };
    underWay.set(key, call);
    return join;
  };

  return async (key, work, signal) => {
    throwIfAborted(signal);
    forgetOld();
    const one = kept.get(key);
    if (one !== undefined && isWithin(one, freshMs)) return one.answer;
    const other = underWay.get(key);
    const join =
      other !== undefined && isWithin(other, MAX_JOIN_MS) ? other.join : start(key, work);
    return join(signal);
  };
}

function limited(retryAfterMs: number): TransportError {
  return new TransportError(
    'rate_limited',
    `An upstream of this service limits how often it is asked. Wait ${retryAfterMs} ms.`,
    {
      details: { retryAfterMs },
    },
  );
}
