import type { Json } from 'exact-change-sandbox';
import { expect } from 'vitest';
import { MODE } from '../../../adapters/sandbox/venue/venue.mjs';
import { killed } from './killed.js';
import { row } from './row.js';
import { bought, refused, signedBy } from './told.js';
import { attemptsOf, hasty, SHORT_MS, worldsOfFile } from './world.js';

const SIMULATE = 'simulateTransaction';

/** Changes a simulation so that the wallet's account, which is watched first, gets a new owner. */
function stolen(answer: Json): Json {
  // The node's answer to a simulation that watches accounts.
  const { context, value } = answer as { context: Json; value: { accounts: { owner: string }[] } };
  const [wallet, ...rest] = value.accounts;
  return {
    context,
    value: {
      ...value,
      accounts: [{ ...wallet, owner: 'Stake11111111111111111111111111111111111111' }, ...rest],
    },
  };
}

/** Makes a successful simulation of the same slot that shows no account. */
function bare(answer: Json): Json {
  const { context } = answer as { context: Json };
  return { context, value: { err: null, logs: [], accounts: null } };
}

row(worldsOfFile(), '7', {
  'kill -9': async (world, { node }) => {
    node.resetCalls();
    node.fault(SIMULATE, { kind: 'hang' });
    const buyer = await killed(world, 'a', { at: () => node.calls({ method: SIMULATE }) > 0 });
    expect((await attemptsOf(buyer)).map(({ state, swap }) => [state, swap])).toEqual([
      ['reserved', undefined],
    ]);
    await bought(world.buy(buyer, 'a'));
    expect(signedBy(buyer)).toEqual(['swap', 'payment']);
  },
  timeout: async (world) => {
    const buyer = await world.swapper(hasty('rpc'));
    world.sandbox.controls.node.fault(SIMULATE, { kind: 'hang' });
    const error = await refused(buyer, world.buy(buyer, 'a'), 'timeout');
    expect(error).toMatchObject({
      retry: 'fresh',
      details: { step: SIMULATE, timeoutMs: SHORT_MS },
    });
  },
  '429': async (world, { node }) => {
    const buyer = await world.swapper();
    node.fault(SIMULATE, { kind: 'rateLimited', retryAfter: 0, times: 1 });
    await bought(world.buy(buyer, 'a'));
    const other = await world.swapper();
    node.fault(SIMULATE, { kind: 'rateLimited' });
    await refused(other, world.buy(other, 'b'), 'rate_limited');
  },
  '5xx': async (world, { node }) => {
    const buyer = await world.swapper();
    node.fault(SIMULATE, { kind: 'status', status: 503, times: 1 });
    await bought(world.buy(buyer, 'a'));
    const other = await world.swapper();
    node.fault(SIMULATE, { kind: 'status', status: 503 });
    await refused(other, world.buy(other, 'b'), 'rpc_unavailable');
  },
  malformed: async (world, { node, aggregator }) => {
    const buyer = await world.swapper({ swapFrom: [world.sandbox.mints.BONK.address] });
    const undo = node.fault(SIMULATE, { kind: 'garbage' });
    await refused(buyer, world.buy(buyer, 'a'), 'invalid_response');
    undo();
    node.intercept = (method, _, next) => (method === SIMULATE ? stolen(next()) : next());
    await refused(buyer, world.buy(buyer, 'b'), 'unsafe_swap');
    node.intercept = (method, _, next) => (method === SIMULATE ? bare(next()) : next());
    await refused(buyer, world.buy(buyer, 'c'), 'invalid_response');
    node.intercept = undefined;
    aggregator.setVenue({ modes: [MODE.overcharge] });
    await refused(buyer, world.buy(buyer, 'd'), 'unsafe_swap');
    aggregator.setVenue({ modes: [MODE.fail], amount: 4242n });
    await refused(buyer, world.buy(buyer, 'e'), 'simulation_failed');
  },
  'lost response': async (world, { node }) => {
    const buyer = await world.swapper();
    node.fault(SIMULATE, { kind: 'dropAfter', times: 1 });
    await bought(world.buy(buyer, 'a'));
    expect(signedBy(buyer)).toEqual(['swap', 'payment']);
  },
  expired: async (world, { node }) => {
    const buyer = await world.swapper();
    const behind = {
      kind: 'error',
      code: -32016,
      message: 'Minimum context slot has not been reached',
    } as const;
    node.fault(SIMULATE, { ...behind, times: 1 });
    await bought(world.buy(buyer, 'a'));
    const other = await world.swapper();
    node.fault(SIMULATE, behind);
    await refused(other, world.buy(other, 'b'), 'rpc_unavailable');
  },
  duplicate: async (world) => {
    const buyer = await world.swapper({ swapFrom: [world.sandbox.mints.BONK.address] });
    world.sandbox.controls.aggregator.setVenue({ modes: [MODE.underpay] });
    const verdicts = [];
    for (const _ of [1, 2, 3])
      verdicts.push(await refused(buyer, world.buy(buyer, 'a'), 'unsafe_swap'));
    expect(new Set(verdicts.map((error) => JSON.stringify(error))).size).toBe(1);
  },
  concurrent: async (world, { node }) => {
    const [bad, good] = [
      await world.swapper({ swapFrom: [world.sandbox.mints.BONK.address] }),
      await world.swapper({ swapFrom: [world.sandbox.mints.BONK.address] }),
    ];
    const { address } = bad;
    node.intercept = (method, params, next) => {
      const watched = JSON.stringify((params as unknown[])[1] ?? null);
      return method === SIMULATE && watched.includes(address) ? stolen(next()) : next();
    };
    await Promise.all([
      refused(bad, world.buy(bad, 'a'), 'unsafe_swap'),
      bought(world.buy(good, 'b')),
      bought(world.buy(good, 'c')),
      refused(bad, world.buy(bad, 'd'), 'unsafe_swap'),
    ]);
  },
});
