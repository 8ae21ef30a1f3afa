import { isExactChangeError, TransportError } from '../../src/errors.js';
import { throwIfAborted } from '../../src/internal/abort.js';
import { shareWork, type Join } from '../../src/internal/shared-work.js';

export interface SharedCallsOptions {
  /**
   * Milliseconds for which an answer is shared, counted from the start of its call: the answer may
   * be as old as that.
   */
  readonly freshMs: number;
  /** The most answers that are kept. */
  readonly maxKept: number;
  /** Returns the time in milliseconds. */
  readonly now: () => number;
}

/** Makes a call, or shares the answer of an equal call. Equal calls have the same `key`. */
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

// After this, equal calls no longer join: a call that hangs must not hold up all later calls.
const MAX_JOIN_MS = 5_000;
// Longest pause for an upstream, however long it asks for; then it is called once more.
const MAX_LIMITED_MS = 60_000;

/**
 * Creates a function that makes one call for all equal calls while it is under way and shortly
 * after. Of the failures it keeps only `rate_limited`, which answers all calls until it is over. If a
 * caller aborts, other callers still get the answer. If all callers abort, the call is aborted.
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

  // If the clock was set back, the age is unknown and counts as too old.
  const isWithin = ({ at }: { readonly at: number }, ms: number) => now() >= at && now() - at < ms;
  const forgetOld = () => {
    for (const [key, entry] of kept) {
      if (kept.size <= maxKept && isWithin(entry, freshMs)) return;
      kept.delete(key);
    }
  };
  const keep = (key: string, entry: Kept<T>) => {
    kept.delete(key);
    kept.set(key, entry);
    forgetOld();
  };

  /** Returns the milliseconds that a limit still lasts; 0 if the clock was set back. */
  const limitedFor = (): number => {
    const wait = limitedUntil - now();
    return wait <= MAX_LIMITED_MS ? wait : 0;
  };
  // A later answer must not shorten the limit of an earlier answer.
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
    const entry = kept.get(key);
    if (entry !== undefined && isWithin(entry, freshMs)) return entry.answer;
    const equalCall = underWay.get(key);
    const join =
      equalCall !== undefined && isWithin(equalCall, MAX_JOIN_MS)
        ? equalCall.join
        : start(key, work);
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
