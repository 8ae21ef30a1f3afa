import { expect } from 'vitest';
import { killed } from './killed.js';
import { row } from './row.js';
import { together } from './together.js';
import { bought, refused, signedBy } from './told.js';
import { attemptsOf, hasty, SHORT_MS, worldsOfFile } from './world.js';

const BUILD = '/swap/v1/swap-instructions';

row(worldsOfFile(), '6', {
  'kill -9': async (world, { aggregator }) => {
    aggregator.resetCalls();
    aggregator.fault(BUILD, { kind: 'hang' });
    const buyer = await killed(world, 'a', { at: () => aggregator.calls(BUILD) > 0 });
    expect((await attemptsOf(buyer)).map(({ state, swap }) => [state, swap])).toEqual([
      ['reserved', undefined],
    ]);
    await bought(world.buy(buyer, 'a'));
    expect(signedBy(buyer)).toEqual(['swap', 'payment']);
  },
  timeout: async (world, { aggregator }) => {
    const buyer = await world.swapper(hasty('jupiter'));
    const undo = aggregator.fault(BUILD, { kind: 'hang' });
    const error = await refused(buyer, world.buy(buyer, 'a'), 'timeout');
    expect(error).toMatchObject({ retry: 'fresh', details: { timeoutMs: SHORT_MS } });
    undo();
    aggregator.fault(BUILD, { kind: 'hang', times: 1 });
    await bought(world.buy(buyer, 'a'));
  },
  '429': async (world, { aggregator }) => {
    const buyer = await world.swapper();
    aggregator.fault(BUILD, {
      kind: 'status',
      status: 429,
      headers: { 'retry-after': '0' },
      times: 2,
    });
    await bought(world.buy(buyer, 'a'));
    expect(signedBy(buyer)).toEqual(['swap', 'payment']);
  },
  '5xx': async (world, { aggregator }) => {
    const buyer = await world.swapper();
    aggregator.fault(BUILD, { kind: 'status', status: 503, times: 1 });
    await bought(world.buy(buyer, 'a'));
    const other = await world.swapper();
    aggregator.fault(BUILD, { kind: 'status', status: 503 });
    const error = await refused(other, world.buy(other, 'b'), 'jupiter_unavailable');
    expect(error.details).toEqual({ status: 503 });
  },
  malformed: async (world, { aggregator }) => {
    const buyer = await world.swapper({ swapFrom: [world.sandbox.mints.BONK.address] });
    const undo = aggregator.fault(BUILD, { kind: 'garbage' });
    await refused(buyer, world.buy(buyer, 'a'), 'invalid_response');
    undo();
    aggregator.lie(BUILD, (build) => ({
      ...build,
      swapInstruction: { ...Object(build['swapInstruction']), programId: world.sandbox.merchant },
    }));
    await refused(buyer, world.buy(buyer, 'b'), 'unsafe_swap');
    aggregator.lie(BUILD, (build) => ({ ...build, swapInstruction: undefined }));
    await refused(buyer, world.buy(buyer, 'c'), 'invalid_response');
    aggregator.lie(BUILD, (build) => ({
      ...build,
      swapInstruction: { ...Object(build['swapInstruction']), data: 'AAAA' },
    }));
    await refused(buyer, world.buy(buyer, 'd'), 'unsafe_swap');
  },
  'lost response': async (world, { aggregator }) => {
    const buyer = await world.swapper();
    aggregator.fault(BUILD, { kind: 'dropAfter', times: 2 });
    await bought(world.buy(buyer, 'a'));
    expect(signedBy(buyer)).toEqual(['swap', 'payment']);
  },
  expired: async (world, { node, aggregator }) => {
    const buyer = await world.swapper();
    aggregator.resetCalls();
    // The blockhash of the signed swap expires before the swap is sent.
    let signed = 0;
    buyer.client.on('swap.signed', () => void ((signed += 1) === 1 && node.warp()));
    await bought(world.buy(buyer, 'a'));
    expect([signed, aggregator.calls(BUILD)]).toEqual([2, 2]);
    expect(signedBy(buyer)).toEqual(['swap', 'swap', 'payment']);
  },
  duplicate: async (world, { aggregator }) => {
    const buyer = await world.swapper();
    aggregator.resetCalls();
    // The caller aborts while the first build is under way.
    const stop = new AbortController();
    const reason = new Error('not wanted any more');
    aggregator.lie(BUILD, (build) => {
      aggregator.lie(BUILD, undefined);
      stop.abort(reason);
      return build;
    });
    world.untold = true;
    await expect(world.buy(buyer, 'a', { signal: stop.signal })).rejects.toBe(reason);
    await bought(world.buy(buyer, 'a'));
    expect(aggregator.calls(BUILD)).toBe(2);
    expect(signedBy(buyer)).toEqual(['swap', 'payment']);
  },
  concurrent: async (world, { aggregator }) => {
    const buyer = await world.swapper();
    aggregator.resetCalls();
    aggregator.setLatency(50, BUILD);
    const front = await together(world, 4);
    await Promise.all(
      ['a', 'b', 'c', 'd'].map((purchase) =>
        bought(world.buy(buyer, purchase, { base: front.url })),
      ),
    );
    expect(aggregator.calls(BUILD)).toBe(1);
    expect(signedBy(buyer).filter((kind) => kind === 'swap')).toEqual(['swap']);
  },
});
