import type { Client } from './client.child.js';
import type { Kind, PayerOptions } from './payers.js';
import { start, type Child } from './process.js';
import type { World } from './world.child.js';

/** A world of its own for a group of rows, and clients of it. */
export async function startWorld(confirmationMs = 0) {
  const world = start<World>('world.child.ts');
  const facts = await world.call('open', confirmationMs);
  const ends = [() => world.end()];
  return {
    ...facts,
    world,
    /** A client with a funded wallet; `caller` is what it is called at the node. */
    async client(kind: Kind, { caller = 'client', funds = { USDC: '10000' }, ...more } = {}) {
      const child = start<Client>('client.child.ts');
      ends.push(() => child.end());
      const { secretKey } = await world.call('wallet', funds);
      const { rpcUrl, jupiterUrl } = facts;
      await child.call('open', kind, {
        secretKey,
        rpcUrl: `${rpcUrl}/?caller=${caller}`,
        jupiterUrl,
        ...more,
      });
      return child;
    },
    end: () => ends.forEach((end) => end()),
  };
}
