import { onAbort } from './abort.js';

/** A signal that follows the caller's and fires on its own when time is up. */
export interface Deadline {
  readonly signal: AbortSignal;
  /** Whether it was time, not the caller, that ended it. */
  readonly passed: boolean;
  /** Stops the clock; the caller's signal is followed on, as long as an answer's body may flow. */
  stop(): void;
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
    stop: () => clearTimeout(timer),
    end() {
      clearTimeout(timer);
      forget();
    },
  };
}

/** Rejects a step that the caller no longer wants. Node 16 has no `AbortSignal.prototype.throwIfAborted`. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw signal.reason;
}

/** Waits for work no longer than the caller does. The work itself goes on, and what becomes of it is its own business. */
export function untilAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    if (signal.aborted) reject(signal.reason);
    const forget = onAbort(signal, () => reject(signal.reason));
    work.then(resolve, reject).finally(forget);
  });
}
