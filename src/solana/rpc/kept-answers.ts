import { untilAborted } from '../../internal/abort.js';
import { sinceThen, type Runtime } from '../../internal/runtime.js';
import type { CallOptions, Rpc } from './rpc.js';

type Clock = Pick<Runtime, 'now'>;

/**
 * For how long a rent holds, in milliseconds: it follows from a constant of the cluster, which
 * changes between epochs at most. A transaction that counts on an older one fails in simulation.
 */
const RENT_MS = 10 * 60_000;
/** A token account has one of few sizes, whatever its mint. */
const MAX_SIZES = 64;

/** For how long a fee holds, in milliseconds: it is what was paid in the last minute. */
const FEES_MS = 2_000;
/** Of as many venues. */
const MAX_VENUES = 256;

/**
 * A connection that asks for the rent of each size of account once in ten minutes, and for what is
 * paid for the same accounts once in two seconds.
 */
export function keepAnswers<R extends Pick<Rpc, 'rent' | 'priorityFees'>>(rpc: R, clock: Clock): R {
  const rents = keeper<bigint>(clock, RENT_MS, MAX_SIZES);
  const fees = keeper<readonly bigint[]>(clock, FEES_MS, MAX_VENUES);
  return {
    ...rpc,
    // No signal: a request is shared, and one caller giving up must not end it for the others.
    rent: (bytes, call) => rents(`${bytes}`, () => rpc.rent(bytes), call),
    priorityFees: (accounts, call) =>
      fees([...accounts].sort().join(), () => rpc.priorityFees(accounts), call),
  };
}

/** Keeps an answer to each question for so long, and no more of them than `most`. */
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
