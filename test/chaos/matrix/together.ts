import type { Front } from './front.js';
import type { World } from './world.js';

/**
 * Starts a front of the paid API that holds its first `count` 402s and releases them together. So
 * parallel calls stay parallel on a busy machine.
 */
export function together(world: World, count: number): Promise<Front> {
  let open = (): void => {};
  const gate = new Promise<void>((resolve) => (open = resolve));
  let arrived = 0;
  return world.front(async (exchange) => {
    const answer = await exchange.pass();
    if (!exchange.isPaid) {
      if ((arrived += 1) >= count) open();
      await gate;
    }
    return answer;
  });
}
