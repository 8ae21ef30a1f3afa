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
export function followWeakly(
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
