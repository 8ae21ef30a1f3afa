import { untilAborted } from './abort.js';

/**
 * Waits for shared work: settles as the work does, or rejects with the reason of the caller's own
 * signal.
 */
export type Join<T> = (signal: AbortSignal | undefined) => Promise<T>;

/**
 * Starts work that several callers wait for, each for as long as it likes. If the last caller
 * leaves before the work is done, `abandoned` is called, and the work's signal fires with that
 * caller's reason. No caller may join any more then.
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
  // Subscribe before any caller joins, so that `done` is set before a caller gets the outcome.
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
