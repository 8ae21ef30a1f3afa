import { onAbort } from './abort.js';

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

/** A signal that follows a caller's in its place. */
export interface Following {
  readonly signal: AbortSignal;
  /** Follows on only for as long as something refers to the signal itself, or to one of `users`. */
  stop(...users: readonly (object | null)[]): void;
  /** Lets go of the caller's signal. */
  end(): void;
}

/**
 * Starts to follow a caller's signal: fetch listens to each that it gets until its garbage is
 * collected, and Node warns of those it finds too many.
 */
export function followSignal(caller: AbortSignal): Following {
  const controller = new AbortController();
  const follow = () => controller.abort(caller.reason);
  let forget = (): void => undefined;
  if (caller.aborted) follow();
  else forget = onAbort(caller, follow);
  return {
    signal: controller.signal,
    stop(...users) {
      forget();
      if (!caller.aborted) followWeakly(caller, controller, users);
    },
    end: () => forget(),
  };
}

/**
 * Controllers of stopped deadlines, by the objects that they are of use to: with the last of those,
 * each goes too.
 */
const controllers = new WeakMap<object, AbortController>();
let collected: FinalizationRegistry<() => void> | undefined;

/** A caller's signal may outlive a million calls, so it must not keep what each of them left. */
function followWeakly(
  caller: AbortSignal,
  controller: AbortController,
  users: readonly (object | null)[],
): () => void {
  const { signal } = controller;
  // Some runtimes of workers have neither; there the caller's signal keeps what follows it.
  if (typeof WeakRef === 'undefined' || typeof FinalizationRegistry === 'undefined') {
    return onAbort(caller, () => controller.abort(caller.reason));
  }
  for (const user of [signal, ...users]) if (user !== null) controllers.set(user, controller);
  const forget = onAbort(caller, abortThrough(new WeakRef(signal), caller));
  registry().register(signal, forget);
  return forget;
}

function registry(): FinalizationRegistry<() => void> {
  return (collected ??= new FinalizationRegistry((forget) => forget()));
}

/** On its own, as the registry is: a closure keeps all that the closures beside it use. */
function abortThrough(weak: WeakRef<AbortSignal>, caller: AbortSignal): () => void {
  return () => {
    const signal = weak.deref();
    if (signal !== undefined) controllers.get(signal)?.abort(caller.reason);
  };
}

/**
 * Rejects a step that the caller no longer wants. Node 16 has no
 * `AbortSignal.prototype.throwIfAborted`.
 */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw signal.reason;
}

/**
 * Waits for work no longer than the caller does. The work itself goes on, and what becomes of it is
 * its own business.
 */
export function untilAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    if (signal.aborted) reject(signal.reason);
    const forget = onAbort(signal, () => reject(signal.reason));
    work.then(resolve, reject).finally(forget);
  });
}
