/**
 * Resolves when a call may go on; undefined if it may at once. Calls go on in the order in which
 * they asked.
 */
export type NextTurn = () => Promise<void> | undefined;

/** What a call does in its turn takes about a millisecond. */
const CALLS = 32;

/** What a runtime may have. */
interface Host {
  readonly setImmediate?: (go: () => void) => unknown;
  readonly MessageChannel?: typeof MessageChannel;
  readonly setTimeout: (go: () => void, ms: number) => unknown;
}

const host: Host = globalThis;
// As they are now: those that a test puts in their place later may never fire.
const [immediate, Channel, timeout] = [host.setImmediate, host.MessageChannel, host.setTimeout];

/**
 * Once around the event loop. By a timer only if there is no other way: Node runs all that are due
 * before it reads sockets again, and a hidden page one in a second.
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
 * Lets so many calls go on, and then the event loop once around: the answers to a thousand calls
 * come at once, and worked off in one go they would keep the process from all else for seconds.
 */
export function createTurns(): NextTurn {
  const waiting: (() => void)[] = [];
  let room = CALLS;
  let isAround = true;
  let turn = 0;
  let twice = 0;
  const endTurn = (): void => {
    const own = turn;
    goAround(() => {
      if (own === turn) return begin();
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
    // Each that waits ends the turn as well, and each turn is ended twice: a worker drops what a
    // request of its has scheduled if that is cancelled.
    if (isAround || room === 0) endTurn();
    isAround = false;
    if (room === 0) return new Promise((resolve) => waiting.push(resolve));
    room -= 1;
    return undefined;
  };
}
