/**
 * Resolves when a call may go on; undefined if it may go on at once. Calls go on in the order in
 * which they asked.
 */
export type NextTurn = () => Promise<void> | undefined;

/** Number of calls in a turn; the work of a call takes about a millisecond. */
const CALLS = 32;

interface Host {
  readonly setImmediate?: (go: () => void) => unknown;
  readonly MessageChannel?: typeof MessageChannel;
  readonly setTimeout: (go: () => void, ms: number) => unknown;
}

const host: Host = globalThis;
// Keep the timers as they are now: a test may set fake timers later, which may never fire.
const [immediate, Channel, timeout] = [host.setImmediate, host.MessageChannel, host.setTimeout];

/**
 * Calls `go` after one round of the event loop. Uses a timer only if there is no other way: Node
 * runs all due timers before it reads sockets again, and a hidden page runs one timer in a second.
 */
function goAround(go: () => void): void {
  if (immediate !== undefined) immediate(go);
  else if (Channel !== undefined) {
    const { port1, port2 } = new Channel();
    port1.onmessage = () => {
      port1.close();
      go();
    };
    port2.postMessage(undefined);
  } else timeout(go, 0);
}

/**
 * Creates turns: a number of calls go on, then the event loop runs once. The answers to a thousand
 * calls may come at once, and without turns they would block the process for seconds.
 */
export function createTurns(): NextTurn {
  const waiting: (() => void)[] = [];
  let room = CALLS;
  let isAround = true;
  let turn = 0;
  let twice = 0;
  const endTurn = (): void => {
    const ending = turn;
    goAround(() => {
      if (ending === turn) return begin();
      if (waiting.length === 0 || twice === turn) return;
      twice = turn;
      endTurn();
    });
  };
  const begin = (): void => {
    turn += 1;
    const first = waiting.splice(0, CALLS);
    room = CALLS - first.length;
    isAround = first.length === 0;
    if (!isAround) endTurn();
    for (const go of first) go();
  };
  return () => {
    // Each waiting call ends the turn too, and each turn ends twice: a worker drops the callbacks
    // of a request that is cancelled.
    if (isAround || room === 0) endTurn();
    isAround = false;
    if (room === 0) return new Promise((resolve) => waiting.push(resolve));
    room -= 1;
    return undefined;
  };
}
