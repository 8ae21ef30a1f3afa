import type { Front } from './front.js';
import type { World } from './world.js';

/**
 * The paid API, whose first so many 402s leave at the same moment: calls that were made together
 * are together, however busy the machine is.
 */
export function together(world: World, count: number): Promise<Front> {
  let open = (): void => {};
  const gate = new Promise<void>((resolve) => (open = resolve));
  let here = 0;
  return world.front(async (exchange) => {
    const answer = await exchange.pass();
    if (!exchange.isPaid) {
      if ((here += 1) >= count) open();
      await gate;
    }
    return answer;
  });
}
