import type { Exchange, Fate, Front } from './front.js';
import type { World } from './world.js';

/** Returns a gate that opens once `count` have come to it. */
export function gateFor(count: number): () => Promise<void> {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  let here = 0;
  return () => {
    if ((here += 1) >= count) open();
    return opened;
  };
}

/**
 * Starts a front of the paid API that holds its first `count` 402s and releases them together. So
 * parallel calls stay parallel on a busy machine.
 */
export function together(world: World, count: number): Promise<Front> {
  const enter = gateFor(count);
  return world.front(async (exchange) => {
    const answer = await exchange.pass();
    if (!exchange.isPaid) await enter();
    return answer;
  });
}

/** Equal calls of which one pays, and a front of the paid API between them and their seller. */
export interface Rivals {
  readonly front: Front;
  /** Makes the calls at once. A payment waits at the front until all calls but one have ended. */
  race(call: () => Promise<Response>): Promise<PromiseSettledResult<Response>[]>;
}

/**
 * Starts a front for `count` equal calls, which so meet while one of them pays, also on a busy
 * machine.
 */
export async function rivals(
  world: World,
  count: number,
  decide: (exchange: Exchange) => Promise<Fate> | Fate = (exchange) => exchange.pass(),
): Promise<Rivals> {
  let gate = Promise.resolve();
  const front = await world.front(async (exchange) => {
    if (exchange.isPaid) await gate;
    return decide(exchange);
  });
  return {
    front,
    race(call) {
      let open = (): void => {};
      gate = new Promise((resolve) => (open = resolve));
      let ended = 0;
      const end = () => void ((ended += 1) === count - 1 && open());
      return Promise.allSettled(Array.from({ length: count }, () => call().finally(end)));
    },
  };
}
