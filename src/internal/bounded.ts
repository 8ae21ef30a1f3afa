import { onAbort } from './abort.js';

/** Longest delay that timers take; longer ones fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * Runs `task` under a signal that fires when one of `parents` does, or with `timedOut()` after
 * `ms`. Settles right then, whatever the task makes of its signal, and leaves neither a timer nor a
 * listener behind.
 */
export function bounded<T>(
  ms: number,
  timedOut: () => Error,
  parents: readonly (AbortSignal | undefined)[],
  task: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const signals = parents.filter((parent): parent is AbortSignal => parent !== undefined);
  let forgets: readonly (() => void)[] = [];
  return new Promise<T>((resolve, reject) => {
    const stop = (reason: unknown) => {
      release();
      reject(reason);
      controller.abort(reason);
    };
    const follow = () => stop(signals.find((signal) => signal.aborted)?.reason);
    const timer = setTimeout(() => stop(timedOut()), Math.min(ms, MAX_TIMER_MS));
    const release = () => {
      clearTimeout(timer);
      for (const forget of forgets) forget();
    };
    if (signals.some((signal) => signal.aborted)) return follow();
    forgets = signals.map((signal) => onAbort(signal, follow));
    task(controller.signal).then(
      (value) => {
        release();
        resolve(value);
      },
      (error: unknown) => {
        release();
        reject(error);
        // Of several things that it does at once, one has failed: the others would go on without a
        // deadline.
        controller.abort(error);
      },
    );
  });
}
