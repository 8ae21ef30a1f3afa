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
