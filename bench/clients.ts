import type { Client, Place } from './client.child.js';
import type { Kind, PayerOptions } from './payers.js';
import { start, type Child } from './process.js';
import type { World } from './world.child.js';

interface Opened extends Pick<PayerOptions, 'options'> {
  /** What it is called at the node. */
  readonly caller?: string;
  readonly funds?: Readonly<Record<string, string>>;
  readonly place?: Place;
}

const FLAGS = ['--expose-gc', '--max-old-space-size=8192'];

/** A world of its own for a group of rows, and clients of it. */
export async function startWorld(confirmationMs = 0) {
  const world = start<World>('world.child.ts');
  const facts = await world.call('open', confirmationMs);
  const ends = new Set([world.end]);
  return {
    ...facts,
    world,
    /** A client with a wallet of its own, in a process of its own unless there is one. */
    async client(
      kind: Kind,
      { caller = 'client', funds, place, options = {} }: Opened = {},
      child = start<Client>('client.child.ts', { flags: FLAGS }),
    ) {
      ends.add(child.end);
      const { secretKey } = await world.call('wallet', funds ?? { USDC: '10000' });
      const { rpcUrl, jupiterUrl } = facts;
      const wallet = { secretKey, rpcUrl: `${rpcUrl}/?caller=${caller}`, jupiterUrl, options };
      await child.call('open', kind, wallet, place);
      return child;
    },
    end: () => ends.forEach((end) => end()),
  };
}
