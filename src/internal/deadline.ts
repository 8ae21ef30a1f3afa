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
