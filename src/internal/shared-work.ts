import { untilAborted } from './abort.js';

/**
 * Waits for work that others may wait for too: for its outcome, or rejects with the reason of one's
 * own signal.
 */
export type Join<T> = (signal: AbortSignal | undefined) => Promise<T>;

/**
 * Work that several callers wait for, each for as long as it likes. When the last of them has gone
 * before it is done, its signal fires with that one's reason and `abandoned` is called: no caller
 * may join any more.
 */
export function shareWork<T>(
  work: (signal: AbortSignal) => Promise<T>,
  abandoned: () => void,
): Join<T> {
  const controller = new AbortController();
  const outcome = Promise.resolve().then(() => work(controller.signal));
  let waiting = 0;
  let done = false;
  const end = () => {
    done = true;
  };
  // Before a caller that joins hears of it.
  outcome.then(end, end);
  return async (signal) => {
    waiting += 1;
    try {
      return await untilAborted(outcome, signal);
    } finally {
      waiting -= 1;
      if (waiting === 0 && !done) {
        abandoned();
        controller.abort(signal?.reason);
      }
    }
  };
}
