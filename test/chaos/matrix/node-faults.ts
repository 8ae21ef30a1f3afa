import type { ClientOptions } from 'exact-change';
import { answer, type Exchange, type Fate, type Front } from './front.js';
import type { World } from './world.js';

/** What a node may do to a call instead of answering it. */
export const NODE_FATES = {
  timeout: () => 'hang',
  '429': () => answer(429, '', { 'retry-after': '0' }),
  '5xx': () => answer(503, 'upstream'),
  malformed: () => answer(200, '<html>not json', { 'content-type': 'text/html' }),
  'lost response': async (exchange: Exchange) => {
    await exchange.pass();
    return 'cut' as const;
  },
} as const satisfies Record<string, (exchange: Exchange) => Fate | Promise<Fate>>;

export type NodeFateName = keyof typeof NODE_FATES;

/** A node in front of the sandbox's whose calls of one method meet a fate while it is armed. */
export interface FaultyNode {
  readonly front: Front;
  /** Lets so many calls, all unless said, meet the fate from now on. */
  arm(times?: number): void;
  /** Calls that met it. */
  readonly met: number;
  calls(method: string): readonly Exchange[];
}

export async function faultyNode(
  world: World,
  method: string,
  fate: (exchange: Exchange) => Fate | Promise<Fate>,
): Promise<FaultyNode> {
  let left = 0;
  let met = 0;
  const front = await world.front((exchange) => {
    if (exchange.call !== method || left <= 0) return exchange.pass();
    left -= 1;
    met += 1;
    return fate(exchange);
  }, world.sandbox.rpcUrl);
  return {
    front,
    arm: (times = Infinity) => void (left = times),
    get met() {
      return met;
    },
    calls: (name) => front.exchanges.filter(({ call }) => call === name),
  };
}

/** The result of a JSON-RPC call, changed by hand on its way back. */
export function changed(
  change: (result: unknown, params: readonly unknown[]) => unknown,
): (exchange: Exchange) => Promise<Fate> {
  return async (exchange) => {
    const real = await exchange.pass();
    // A front knows it as JSON-RPC by its method.
    const { params = [] } = JSON.parse(exchange.body.toString()) as { params?: unknown[] };
    const reply = JSON.parse(real.body.toString()) as { result?: unknown };
    return {
      ...real,
      body: Buffer.from(JSON.stringify({ ...reply, result: change(reply.result, params) })),
    };
  };
}

/**
 * A client over the faulty node; if a fault is a silence, a second node stands behind it, for no
 * other node can be asked.
 */
export function over(
  world: World,
  name: NodeFateName | undefined,
  { front }: FaultyNode,
): ClientOptions {
  return name === 'timeout' || name === '5xx'
    ? { rpcUrl: [front.url, world.sandbox.rpcUrl] }
    : { rpcUrl: front.url };
}
