import { bounded } from '../../internal/bounded.js';
import { isAddress } from '../address.js';
import type { Node, Request } from './failover.js';
import { Fault } from './fault.js';

/** Asks one node for the hash of its first block. */
export async function askGenesis(request: Request): Promise<string> {
  const hash = await request('getGenesisHash', []);
  if (!isAddress(hash)) throw new Fault('invalid', 'the genesis hash is not one');
  return hash;
}

/** The CAIP-2 id of the network that begins with it. */
export function networkOf(genesisHash: string): string {
  return `solana:${genesisHash.slice(0, 32)}`;
}

/**
 * A node whose answers count only once it has shown which network it serves: several nodes are
 * several chances to be set to a wrong one.
 * It is asked once, and all calls that wait share the question; a failure is forgotten.
 */
export function checkedNode(
  node: Node,
  network: string,
  timeoutMs: number,
  closed: AbortSignal,
): Node {
  const late = () => new Fault('timeout', 'it did not answer in time');
  let hash: Promise<string> | undefined;
  const genesis = () =>
    (hash ??= bounded(timeoutMs, late, [closed], (signal) =>
      askGenesis((method, params) => node.request(method, params, signal)),
    ).catch((error: unknown) => {
      hash = undefined;
      throw error;
    }));
  return {
    ...node,
    genesis,
    async admit() {
      const actual = networkOf(await genesis());
      if (actual !== network)
        throw new Fault('foreign', 'it serves another network', {
          networks: { expected: network, actual },
        });
    },
  };
}
