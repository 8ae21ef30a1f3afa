import { followWeakly, onAbort } from './abort.js';

/** A signal that follows the caller's and fires on its own when time is up. */
export interface Deadline {
  readonly signal: AbortSignal;
  /** Whether it was time, not the caller, that ended it. */
  readonly passed: boolean;
  /**
   * Stops the clock. The caller's signal is followed on for as long as it is of use: to any holder
   * of this deadline's signal, as a fetch does while a body flows, or one of `users`.
   */
  stop(...users: readonly (object | null)[]): void;
  /** Stops the clock and lets go of the caller's signal. */
  end(): void;
}

/** Starts a deadline of `ms`. Old runtimes have no `AbortSignal.any`. */
export function startDeadline(ms: number, caller: AbortSignal | undefined): Deadline {
  const controller = new AbortController();
  let passed = false;
  const timer = setTimeout(() => {
    passed = true;
    // Node 16 has no global DOMException.
    controller.abort(Object.assign(new Error('The deadline passed.'), { name: 'TimeoutError' }));
  }, ms);
  const follow = () => {
    clearTimeout(timer);
    controller.abort(caller?.reason);
  };
  let forget = (): void => undefined;
  if (caller?.aborted === true) follow();
  else if (caller !== undefined) forget = onAbort(caller, follow);
  return {
    signal: controller.signal,
    get passed() {
      return passed;
    },
    stop(...users) {
      clearTimeout(timer);
      if (caller === undefined || caller.aborted) return;
      forget();
      forget = followWeakly(caller, controller, users);
    },
    end() {
      clearTimeout(timer);
      forget();
    },
  };
}

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
