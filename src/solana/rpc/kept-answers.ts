import { untilAborted } from '../../internal/abort.js';
import { sinceThen, type Runtime } from '../../internal/runtime.js';
import type { CallOptions, Rpc } from './rpc.js';

type Clock = Pick<Runtime, 'now'>;

/**
 * Milliseconds that a rent is kept: it follows from a constant of the cluster, which changes
 * between epochs at most. A transaction with an outdated rent fails in simulation.
 */
const RENT_MS = 10 * 60_000;
/** The most sizes that are kept: a token account has one of few sizes, whatever its mint. */
const MAX_SIZES = 64;

/** Milliseconds that priority fees are kept: they reflect the last minute. */
const FEES_MS = 2_000;
/** The most sets of accounts with kept fees; each venue of a swap has its set. */
const MAX_VENUES = 256;

/**
 * Wraps a connection with a cache. The rent of each size is kept for ten minutes, and the fees of a
 * set of accounts for two seconds.
 */
export function cacheAnswers<R extends Pick<Rpc, 'rent' | 'priorityFees'>>(
  rpc: R,
  clock: Clock,
): R {
  const rents = keeper<bigint>(clock, RENT_MS, MAX_SIZES);
  const fees = keeper<readonly bigint[]>(clock, FEES_MS, MAX_VENUES);
  return {
    ...rpc,
    // Pass no signal: callers share a request, so an abort by one caller must not end it.
    rent: (bytes, call) => rents(`${bytes}`, () => rpc.rent(bytes), call),
    priorityFees: (accounts, call) =>
      fees([...accounts].sort().join(), () => rpc.priorityFees(accounts), call),
  };
}

/** Caches answers by name for `forMs` milliseconds, at most `most` answers. */
function keeper<T>(clock: Clock, forMs: number, most: number) {
  const kept = new Map<string, { readonly at: number; readonly answer: Promise<T> }>();
  return (name: string, ask: () => Promise<T>, call: CallOptions | undefined): Promise<T> => {
    const known = kept.get(name);
    if (known !== undefined && sinceThen(clock, known.at) < forMs)
      return untilAborted(known.answer, call?.signal);
    const answer = ask();
    if (kept.size >= most) kept.clear();
    kept.set(name, { at: clock.now(), answer });
    answer.catch(() => {
      if (kept.get(name)?.answer === answer) kept.delete(name);
    });
    return untilAborted(answer, call?.signal);
  };
}
