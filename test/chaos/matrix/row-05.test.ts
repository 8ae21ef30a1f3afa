import { expect } from 'vitest';
import { failureOf } from '../../helpers/payer.js';
import { expectUntouched } from '../../helpers/untouched.js';
import { together } from './together.js';
import { killed } from './killed.js';
import { row } from './row.js';
import { bought, refused, signedBy } from './told.js';
import { attemptsOf, hasty, SHORT_MS, worldsOfFile } from './world.js';

const QUOTE = '/swap/v1/quote';
const OFTEN = 3;

row(worldsOfFile(), '5', {
  'kill -9': async (world, { aggregator }) => {
    aggregator.resetCalls();
    aggregator.fault(QUOTE, { kind: 'hang' });
    const buyer = await killed(world, 'a', { at: () => aggregator.calls(QUOTE) > 0 });
    expect((await attemptsOf(buyer)).flatMap(({ swap, payment }) => swap ?? payment ?? [])).toEqual(
      [],
    );
    await bought(world.buy(buyer, 'a'));
    expect(signedBy(buyer)).toEqual(['swap', 'payment']);
  },
  timeout: async (world, { aggregator }) => {
    const buyer = await world.swapper(hasty('jupiter'));
    aggregator.resetCalls();
    aggregator.fault(QUOTE, { kind: 'hang' });
    const error = await refused(buyer, world.buy(buyer, 'a'), 'timeout');
    expect(error).toMatchObject({ retry: 'fresh', details: { timeoutMs: SHORT_MS } });
    aggregator.clearFaults();
    aggregator.fault(QUOTE, { kind: 'hang', times: 1 });
    await bought(world.buy(buyer, 'a'));
  },
  '429': async (world, { aggregator }) => {
    const buyer = await world.swapper();
    aggregator.fault(QUOTE, {
      kind: 'status',
      status: 429,
      headers: { 'retry-after': '0' },
      times: 1,
    });
    await bought(world.buy(buyer, 'a'));
    const other = await world.swapper();
    aggregator.fault(QUOTE, { kind: 'status', status: 429, headers: { 'retry-after': '0' } });
    const error = await refused(other, world.buy(other, 'b'), 'rate_limited');
    expect(error.retry).toBe('fresh');
  },
  '5xx': async (world, { aggregator }) => {
    const buyer = await world.swapper();
    aggregator.fault(QUOTE, { kind: 'status', status: 502, times: 1 });
    await bought(world.buy(buyer, 'a'));
    const other = await world.swapper();
    aggregator.fault(QUOTE, { kind: 'status', status: 500 });
    const error = await refused(other, world.buy(other, 'b'), 'jupiter_unavailable');
    expect(error).toMatchObject({ retry: 'fresh', details: { status: 500 } });
  },
  malformed: async (world, { aggregator }) => {
    const buyer = await world.swapper();
    aggregator.fault(QUOTE, { kind: 'garbage' });
    await refused(buyer, world.buy(buyer, 'a'), 'invalid_response');
    aggregator.clearFaults();
    const lies: readonly Readonly<Record<string, unknown>>[] = [
      { outputMint: world.sandbox.mints.USDT.address },
      { swapMode: 'ExactIn' },
      { slippageBps: 9_000 },
      { platformFee: { amount: '100', feeBps: 20 } },
      { outAmount: '-5' },
      { inAmount: '0x10' },
    ];
    for (const [index, change] of lies.entries()) {
      aggregator.lie(QUOTE, (quote) => ({ ...quote, ...change }));
      const error = await failureOf(world.buy(buyer, `lie${index}`));
      expectUntouched(error);
      expect([index, error.code]).toEqual([
        index,
        expect.stringMatching(/^(quote_mismatch|invalid_response)$/),
      ]);
    }
    expect(signedBy(buyer)).toEqual([]);
  },
  'lost response': async (world, { aggregator }) => {
    const buyer = await world.swapper();
    aggregator.fault(QUOTE, { kind: 'dropAfter', times: 1 });
    aggregator.fault(QUOTE, { kind: 'dropBefore', times: 1 });
    await bought(world.buy(buyer, 'a'));
    expect(signedBy(buyer)).toEqual(['swap', 'payment']);
  },
  expired: async (world, { aggregator }) => {
    const buyer = await world.swapper();
    // The price moves once, right after the first quote.
    let quoted = 0;
    buyer.client.on('swap.quoted', () =>
      aggregator.setVenue((quoted += 1) === 1 ? { deviationBps: 80 } : {}),
    );
    await bought(world.buy(buyer, 'a'));
    expect(quoted).toBe(2);
    expect(signedBy(buyer)).toEqual(['swap', 'payment']);
  },
  duplicate: async (world, { aggregator }) => {
    const buyer = await world.swapper();
    const answers = new Map<string, Record<string, unknown>>();
    let repeated = 0;
    aggregator.lie(QUOTE, (quote, { query }) => {
      const known = answers.get(query.toString());
      if (known === undefined) answers.set(query.toString(), quote);
      else repeated += 1;
      return known ?? quote;
    });
    const request = {
      inputMint: world.sandbox.mints.BONK.address,
      outputMint: world.sandbox.mints.USDC.address,
      amount: 100_000n,
    };
    for (let times = 0; times < OFTEN; times += 1)
      await buyer.client.quote({ ...request, swapMode: 'ExactOut' });
    await bought(world.buy(buyer, 'a'));
    expect(repeated).toBeGreaterThanOrEqual(OFTEN - 1);
    expect(signedBy(buyer)).toEqual(['swap', 'payment']);
  },
  concurrent: async (world) => {
    const buyer = await world.swapper();
    const front = await together(world, 10);
    const calls = Array.from({ length: 10 }, (_, index) =>
      bought(world.buy(buyer, `p${index}`, { base: front.url })),
    );
    await Promise.all(calls);
    expect(signedBy(buyer).filter((kind) => kind === 'swap')).toEqual(['swap']);
  },
});
