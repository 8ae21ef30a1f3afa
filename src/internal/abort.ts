interface Group {
  readonly callbacks: Set<() => void>;
  readonly stop: () => void;
}

/** Callbacks that wait for a signal, by signal. */
const groups = new WeakMap<AbortSignal, Group>();

/**
 * Calls `callback` once when the signal fires; returns a function that cancels this. All callbacks
 * share one listener: Node prints a warning if a signal has more than ten, and a client that closes
 * ends a hundred calls. If the signal has fired already, nothing is called.
 */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  const { callbacks, stop } = groups.get(signal) ?? startGroup(signal);
  // Wrap the callback, because the same function may wait twice.
  const entry = () => callback();
  callbacks.add(entry);
  return () => {
    callbacks.delete(entry);
    if (callbacks.size > 0 || groups.get(signal)?.callbacks !== callbacks) return;
    groups.delete(signal);
    stop();
  };
}

/** A separate function, because a listener inside `onAbort` would keep the first callback alive. */
function startGroup(signal: AbortSignal): Group {
  const callbacks = new Set<() => void>();
  const fire = () => {
    // The loop leaves out callbacks that a callback before them cancels.
    for (const callback of callbacks) callback();
  };
  signal.addEventListener('abort', fire, { once: true });
  const group = { callbacks, stop: () => signal.removeEventListener('abort', fire) };
  groups.set(signal, group);
  return group;
}

/**
 * Throws the signal's reason if it has fired. Node 16 has no
 * `AbortSignal.prototype.throwIfAborted`.
 */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw signal.reason;
}

/**
 * Settles as the work does, or rejects with the signal's reason if that comes first. The work
 * itself goes on, for other callers or for none.
 */
export function untilAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    // Listen to the work first: what a caller passes in place of a signal may throw.
    const settled = work.then(resolve, reject);
    if (signal.aborted) reject(signal.reason);
    else void settled.finally(onAbort(signal, () => reject(signal.reason)));
  });
}

/** A signal that takes the place of a caller's signal, and follows it. */
export interface Following {
  readonly signal: AbortSignal;
  /**
   * Follows on only while something refers to the signal itself, or to one of `users`: fetch keeps
   * the signal while a body flows. A deadline also stops its clock.
   */
  stop(...users: readonly (object | null)[]): void;
  /** Follows the caller's signal no longer. A deadline also stops its clock. */
  end(): void;
}

/** A signal that follows the caller's signal, and fires by itself when time is up. */
export interface Deadline extends Following {
  /** Whether time ran out before the caller aborted. */
  readonly passed: boolean;
}

/** Starts a deadline of `ms`. Old runtimes have no `AbortSignal.any`. */
export function startDeadline(ms: number, caller: AbortSignal | undefined): Deadline {
  let passed = false;
  const timer = setTimeout(() => {
    passed = true;
    // Node 16 has no global DOMException.
    controller.abort(Object.assign(new Error('The deadline passed.'), { name: 'TimeoutError' }));
  }, ms);
  const { controller, stop, end } = follow(caller, () => clearTimeout(timer));
  return {
    signal: controller.signal,
    get passed() {
      return passed;
    },
    stop,
    end,
  };
}

/**
 * Starts to follow a caller's signal. fetch gets the new signal: it listens to a signal until its
 * garbage is collected, and Node warns if a signal has many listeners.
 */
export function followSignal(caller: AbortSignal): Following {
  const { controller, stop, end } = follow(caller);
  return { signal: controller.signal, stop, end };
}

/**
 * Starts a controller that also fires when the caller's signal does.
 *
 * @param done - Called when the caller's signal fires, and by `stop` and `end`.
 */
export function follow(
  caller: AbortSignal | undefined,
  done?: () => void,
): Pick<Following, 'stop' | 'end'> & { readonly controller: AbortController } {
  const controller = new AbortController();
  const fire = () => {
    done?.();
    controller.abort(caller?.reason);
  };
  let forget = (): void => undefined;
  if (caller?.aborted === true) fire();
  else if (caller !== undefined) forget = onAbort(caller, fire);
  return {
    controller,
    stop(...users) {
      done?.();
      if (caller === undefined || caller.aborted) return;
      forget();
      forget = followWeakly(caller, controller, users);
    },
    end() {
      done?.();
      forget();
    },
  };
}

/**
 * Controllers of stopped deadlines, by the objects that use them: a controller is collected with
 * its last user.
 */
const controllers = new WeakMap<object, AbortController>();
let collected: FinalizationRegistry<() => void> | undefined;

/** Follows weakly, because a caller's signal may outlive a million calls and must not keep them. */
function followWeakly(
  caller: AbortSignal,
  controller: AbortController,
  users: readonly (object | null)[],
): () => void {
  const { signal } = controller;
  // Some worker runtimes have neither class; there the caller's signal keeps its followers.
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

/** A separate function, as `registry` is: a closure keeps all that the closures beside it use. */
function abortThrough(weak: WeakRef<AbortSignal>, caller: AbortSignal): () => void {
  return () => {
    const signal = weak.deref();
    if (signal !== undefined) controllers.get(signal)?.abort(caller.reason);
  };
}

/** Longest delay that timers take; a longer delay fires at once. */
const MAX_TIMER_MS = 0x7fff_ffff;

/**
 * Runs `task` under a signal that fires when one of `parents` fires, or with `timedOut()` after
 * `ms`. Rejects at that moment, even if the task ignores its signal. Leaves neither a timer nor a
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
        // Abort what the task still does in parallel, because it would go on without a deadline.
        controller.abort(error);
      },
    );
  });
}

const lowPriority = new WeakSet<AbortSignal>();

/**
 * As {@link followSignal}, for work that gives way to other work, like the `priority` of a
 * `TaskSignal` on the web. A seller causes work by the tokens that it names, and that work must not
 * delay a purchase from another seller.
 */
export function startLowPriority(caller: AbortSignal): Following {
  const following = followSignal(caller);
  lowPriority.add(following.signal);
  return following;
}

export function isLowPriority(signal: AbortSignal | undefined): boolean {
  return signal !== undefined && lowPriority.has(signal);
}
