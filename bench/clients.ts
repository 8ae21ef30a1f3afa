import type { Client } from './client.child.js';
import type { Kind, PayerOptions } from './payers.js';
import type { Place } from './places.js';
import { start } from './process.js';
import type { World } from './world.child.js';

interface Opened extends Pick<PayerOptions, 'options'> {
  /** Name of the client at the node. */
  readonly caller?: string;
  readonly funds?: Readonly<Record<string, string>>;
  /** Key of a shared wallet; without it, the client gets a new wallet. */
  readonly secretKey?: string;
  readonly place?: Place;
}

const FLAGS = ['--expose-gc', '--max-old-space-size=8192'];

/** Starts a separate world for a group of rows, and makes its clients. */
export async function startWorld(confirmationMs = 0) {
  const world = start<World>('world.child.ts');
  const facts = await world.call('open', confirmationMs);
  const ends = new Set([world.end]);
  return {
    ...facts,
    world,
    /** Starts a client in a new process, or in the given process. */
    async client(
      kind: Kind,
      { caller = 'client', funds = { USDC: '10000' }, place, options = {}, ...shared }: Opened = {},
      child = start<Client>('client.child.ts', { flags: FLAGS }),
    ) {
      ends.add(child.end);
      const { secretKey } = { ...(await world.call('wallet', funds)), ...shared };
      const { rpcUrl, jupiterUrl } = facts;
      const wallet = { secretKey, rpcUrl: `${rpcUrl}/?caller=${caller}`, jupiterUrl, options };
      await child.call('open', kind, wallet, place);
      return child;
    },
    end: () => Promise.all([...ends].map((end) => end())),
  };
}
