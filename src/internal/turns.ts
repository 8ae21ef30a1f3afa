/**
 * Resolves when a call may go on; undefined if it may at once. Calls go on in the order in which
 * they asked.
 */
export type NextTurn = () => Promise<void> | undefined;

/** What a call does in its turn takes about a millisecond. */
const CALLS = 32;

/** Once around the event loop. */
function goAround(go: () => void): void {
  // A browser has none. Node would run one timer after the other before it reads sockets again.
  const host: { readonly setImmediate?: (go: () => void) => unknown } = globalThis;
  if (host.setImmediate === undefined) setTimeout(go, 0);
  else host.setImmediate(go);
}

/**
 * Lets so many calls go on, and then the event loop once around: the answers to a thousand calls
 * come at once, and worked off in one go they would keep the process from all else for seconds.
 */
export function createTurns(): NextTurn {
  const waiting: (() => void)[] = [];
  let room = CALLS;
  let isAround = true;
  const begin = (): void => {
    const first = waiting.splice(0, CALLS);
    room = CALLS - first.length;
    isAround = first.length === 0;
    if (!isAround) goAround(begin);
    for (const go of first) go();
  };
  return () => {
    if (isAround) goAround(begin);
    isAround = false;
    if (room === 0) return new Promise((resolve) => waiting.push(resolve));
    room -= 1;
    return undefined;
  };
}
