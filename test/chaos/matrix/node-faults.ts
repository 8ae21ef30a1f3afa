import type { ClientOptions } from 'exact-change';
import { answer, type Exchange, type Fate, type Front } from './front.js';
import { hasty, type World } from './world.js';

/** Fates that a node gives to a call instead of its answer. */
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

/** A front of the sandbox's node that gives calls of a method a fate while it is armed. */
export interface FaultyNode {
  readonly front: Front;
  /** Gives the next `times` calls the fate; default: all calls. */
  arm(times?: number): void;
  /** Number of calls that met the fate. */
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

/** Makes a fate that changes the result of a JSON-RPC call. */
export function changed(
  change: (result: unknown, params: readonly unknown[]) => unknown,
): (exchange: Exchange) => Promise<Fate> {
  return async (exchange) => {
    const real = await exchange.pass();
    // The front recognised the method, so the body is JSON-RPC.
    const { params = [] } = JSON.parse(exchange.body.toString()) as { params?: unknown[] };
    const reply = JSON.parse(real.body.toString()) as { result?: unknown };
    return {
      ...real,
      body: Buffer.from(JSON.stringify({ ...reply, result: change(reply.result, params) })),
    };
  };
}

/**
 * Returns options with the faulty node. For `timeout` and `5xx` they have a second node, because
 * the client needs another node to read from.
 */
export function over(
  world: World,
  name: NodeFateName | undefined,
  { front }: FaultyNode,
): ClientOptions {
  const patience = name === 'timeout' ? hasty('rpc') : {};
  return name === 'timeout' || name === '5xx'
    ? { ...patience, rpcUrl: [front.url, world.sandbox.rpcUrl] }
    : { rpcUrl: front.url };
}
