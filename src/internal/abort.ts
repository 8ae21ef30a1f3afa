interface Group {
  readonly all: Set<() => void>;
  readonly stop: () => void;
}

/** What waits for a signal, by signal. */
const waiting = new WeakMap<AbortSignal, Group>();

/**
 * Calls `then` once when the signal fires; returns how to call that off. All share one listener:
 * Node prints a warning if a signal has more than ten, and a client that closes ends a hundred
 * calls. A signal that has fired already calls nothing.
 */
export function onAbort(signal: AbortSignal, then: () => void): () => void {
  const { all, stop } = waiting.get(signal) ?? startGroup(signal);
  // The same function may wait twice.
  const own = () => then();
  all.add(own);
  return () => {
    all.delete(own);
    if (all.size > 0 || waiting.get(signal)?.all !== all) return;
    waiting.delete(signal);
    stop();
  };
}

/** On its own: the listener would keep the first that waits, if it could see that one. */
function startGroup(signal: AbortSignal): Group {
  const all = new Set<() => void>();
  const fire = () => {
    // A set that shrinks while it is walked leaves out what is gone.
    for (const one of all) one();
  };
  signal.addEventListener('abort', fire, { once: true });
  const group = { all, stop: () => signal.removeEventListener('abort', fire) };
  waiting.set(signal, group);
  return group;
}

/**
 * Rejects a step that the caller no longer wants. Node 16 has no
 * `AbortSignal.prototype.throwIfAborted`.
 */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw signal.reason;
}

/**
 * The outcome of work, or the signal's reason if that comes first. The work itself goes on, for
 * others or on its own.
 */
export function untilAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    if (signal.aborted) reject(signal.reason);
    const forget = onAbort(signal, () => reject(signal.reason));
    work.then(resolve, reject).finally(forget);
  });
}

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
  const { controller, stop, end } = follow(caller, () => undefined);
  return { signal: controller.signal, stop, end };
}

/** @param done - Called when the caller's signal fires, or is followed no longer as it was. */
function follow(
  caller: AbortSignal | undefined,
  done: () => void,
): Pick<Following, 'stop' | 'end'> & { readonly controller: AbortController } {
  const controller = new AbortController();
  const fire = () => {
    done();
    controller.abort(caller?.reason);
  };
  let forget = (): void => undefined;
  if (caller?.aborted === true) fire();
  else if (caller !== undefined) forget = onAbort(caller, fire);
  return {
    controller,
    stop(...users) {
      done();
      if (caller === undefined || caller.aborted) return;
      forget();
      forget = followWeakly(caller, controller, users);
    },
    end() {
      done();
      forget();
    },
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

/** Longest delay that timers take; longer ones fire at once. */
const MAX_TIMER_MS = 0x7fff_ffff;

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

const marked = new WeakSet<AbortSignal>();

/**
 * As {@link followSignal}, for work that gives way to other work, as that under a `TaskSignal` of
 * the web does by its `priority`: what strangers cause by the tokens that they name must not
 * stand in front of a purchase that has no part in it.
 */
export function startLowPriority(caller: AbortSignal): Following {
  const following = followSignal(caller);
  marked.add(following.signal);
  return following;
}

export function isLowPriority(signal: AbortSignal | undefined): boolean {
  return signal !== undefined && marked.has(signal);
}
