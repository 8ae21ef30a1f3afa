import type { ClientOptions } from 'exact-change';
import { expect } from 'vitest';
import { landed, rpc } from '../../helpers/chain.js';
import { failureOf } from '../../helpers/payer.js';
import { answer, type Exchange } from './front.js';
import { killed } from './killed.js';
import { row } from './row.js';
import { together } from './together.js';
import { bought, signedBy } from './told.js';
import { attemptsOf, hasty, worldsOfFile, type Buyer, type World } from './world.js';

const SEND = 'sendTransaction';

/** Returns the transactions that were sent through a front. */
const sent = (exchanges: readonly Exchange[]): unknown[] =>
  exchanges.flatMap(({ call, body }) =>
    call === SEND ? [(JSON.parse(body.toString()) as { params: unknown[] }).params[0]] : [],
  );

const swaps = (buyer: Buyer) => buyer.events.filter(({ type }) => type === 'swap.signed').length;

/** Starts a node that gives the first `times` sends a fate. */
function sending(
  world: World,
  times: number,
  fate: (exchange: Exchange) => Promise<ReturnType<typeof answer> | 'cut' | 'hang'>,
) {
  let seen = 0;
  return world.front(
    (exchange) =>
      exchange.call === SEND && (seen += 1) <= times ? fate(exchange) : exchange.pass(),
    world.sandbox.rpcUrl,
  );
}

/** Buys through a node that fails at the first send; expects one swap with the same bytes. */
async function buysThrough(
  world: World,
  fate: Parameters<typeof sending>[2],
  options: ClientOptions = {},
): Promise<unknown[]> {
  const node = await sending(world, 1, fate);
  const buyer = await world.swapper({ ...options, rpcUrl: node.url });
  await bought(world.buy(buyer, 'a'));
  expect([swaps(buyer), signedBy(buyer)]).toEqual([1, ['swap', 'payment']]);
  const bytes = sent(node.exchanges);
  expect(new Set(bytes).size).toBe(1);
  return bytes;
}

row(worldsOfFile(), '9', {
  'kill -9': async (world) => {
    // First the swap is lost on its way; then the chain has it.
    for (const [purchase, passes] of [
      ['a', false],
      ['b', true],
    ] as const) {
      const node = await sending(world, 1, async (exchange) => {
        if (passes) await exchange.pass();
        return 'hang';
      });
      const buyer = await killed(world, purchase, {
        rpcUrl: node.url,
        at: () => sent(node.exchanges).length > 0,
      });
      const [attempt] = await attemptsOf(buyer);
      await bought(world.buy(buyer, purchase));
      expect(signedBy(buyer)).toEqual(['payment']);
      expect((await landed(world.sandbox.rpcUrl, attempt?.swap?.signature ?? '')).error).toBeNull();
    }
  },
  timeout: async (world) => {
    const bytes = await buysThrough(world, async () => 'hang', hasty('rpc'));
    expect(bytes.length).toBeGreaterThan(1);
  },
  '429': async (world) => {
    const bytes = await buysThrough(world, async () =>
      answer(429, 'slow down', { 'retry-after': '0' }),
    );
    expect(bytes.length).toBeGreaterThan(1);
  },
  '5xx': async (world) => {
    const broken = await sending(world, Infinity, async () => answer(503, 'out of order'));
    const buyer = await world.swapper({ rpcUrl: [broken.url, world.sandbox.rpcUrl] });
    await bought(world.buy(buyer, 'a'));
    expect(sent(broken.exchanges).length).toBeGreaterThan(0);
    expect([swaps(buyer), signedBy(buyer)]).toEqual([1, ['swap', 'payment']]);
  },
  malformed: async (world) => {
    // The node does not take the swap, then it does; both answers are meaningless.
    await buysThrough(world, async () => answer(200, '<html>'));
    await buysThrough(world, async (exchange) => ({
      ...(await exchange.pass()),
      body: Buffer.from('{"jsonrpc":"2.0","id":0,"result":5}'),
    }));
  },
  'lost response': async (world) => {
    const node = await sending(world, 1, async (exchange) => {
      await exchange.pass();
      return 'cut';
    });
    const buyer = await world.swapper({ rpcUrl: node.url });
    await bought(world.buy(buyer, 'a'));
    expect(signedBy(buyer)).toEqual(['swap', 'payment']);
  },
  expired: async (world, { node }) => {
    const once = await world.swapper();
    const undo = node.fault(SEND, { kind: 'neverLands' });
    let signed = 0;
    once.client.on('swap.signed', () => {
      signed += 1;
      if (signed === 1) node.warp();
      else undo();
    });
    await bought(world.buy(once, 'a'));
    expect(signed).toBe(2);

    const twice = await world.swapper();
    node.fault(SEND, { kind: 'neverLands' });
    twice.client.on('swap.signed', () => node.warp());
    const error = await failureOf(world.buy(twice, 'b'), 'swap_expired');
    expect(error).toMatchObject({ funds: 'untouched', moved: [], retry: 'fresh' });
    expect([swaps(twice), signedBy(twice)]).toEqual([2, ['swap', 'swap']]);
  },
  duplicate: async (world) => {
    // The node already has the swap when the client sends it.
    const node = await sending(world, 1, async (exchange) => {
      await exchange.pass();
      return answer(
        200,
        JSON.stringify({
          jsonrpc: '2.0',
          id: (JSON.parse(exchange.body.toString()) as { id: unknown }).id,
          error: {
            code: -32002,
            message: 'Transaction simulation failed: This transaction has already been processed',
          },
        }),
        { 'content-type': 'application/json' },
      );
    });
    const buyer = await world.swapper({ rpcUrl: node.url });
    await bought(world.buy(buyer, 'a'));
    expect(signedBy(buyer)).toEqual(['swap', 'payment']);
  },
  concurrent: async (world) => {
    // Another sender sends the same bytes five times before the client's send arrives.
    const { rpcUrl } = world.sandbox;
    const node = await sending(world, 1, async (exchange) => {
      const { params } = JSON.parse(exchange.body.toString()) as { params: unknown[] };
      await Promise.allSettled([1, 2, 3, 4, 5].map(() => rpc(rpcUrl, SEND, params)));
      return exchange.pass();
    });
    const buyer = await world.swapper({ rpcUrl: node.url });
    await bought(world.buy(buyer, 'a'));
    expect(signedBy(buyer)).toEqual(['swap', 'payment']);

    // The caller that started the swap aborts during the send; the waiting call uses its output.
    const stop = new AbortController();
    const reason = new Error('not wanted any more');
    const slow = await sending(world, 1, async (exchange) => {
      stop.abort(reason);
      return exchange.pass();
    });
    const patient = await world.swapper({ rpcUrl: slow.url });
    world.untold = true;
    const front = await together(world, 2);
    const aborted = world.buy(patient, 'left', { base: front.url, signal: stop.signal });
    const kept = world.buy(patient, 'kept', { base: front.url });
    await expect(aborted).rejects.toBe(reason);
    await bought(kept);
    expect(signedBy(patient)).toEqual(['swap', 'payment']);
  },
});
