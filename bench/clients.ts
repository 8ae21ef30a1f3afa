import type { Client } from './client.child.js';
import type { Kind, PayerOptions } from './payers.js';
import type { Place } from './places.js';
import { start } from './process.js';
import type { World } from './world.child.js';

interface Opened extends Pick<PayerOptions, 'options'> {
  /** What it is called at the node. */
  readonly caller?: string;
  readonly funds?: Readonly<Record<string, string>>;
  /** Of a wallet that others have too; without it, it gets one of its own. */
  readonly secretKey?: string;
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
    /** A client, in a process of its own unless there is one. */
    async client(
      kind: Kind,
      { caller = 'client', funds = { USDC: '10000' }, place, options = {}, ...own }: Opened = {},
      child = start<Client>('client.child.ts', { flags: FLAGS }),
    ) {
      ends.add(child.end);
      const { secretKey } = { ...(await world.call('wallet', funds)), ...own };
      const { rpcUrl, jupiterUrl } = facts;
      const wallet = { secretKey, rpcUrl: `${rpcUrl}/?caller=${caller}`, jupiterUrl, options };
      await child.call('open', kind, wallet, place);
      return child;
    },
    end: () => Promise.all([...ends].map((end) => end())),
  };
}
