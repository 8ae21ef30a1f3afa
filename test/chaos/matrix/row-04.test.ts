import { expect } from 'vitest';
import { address } from '@solana/kit';
import { tokenAccount } from '../../helpers/chain.js';
import { failureOf } from '../../helpers/payer.js';
import type { Exchange, Fate } from './front.js';
import { answer } from './front.js';
import { killed } from './killed.js';
import { row } from './row.js';
import { bought, refused, signedBy } from './told.js';
import { attemptsOf, hasty, worldsOfFile, type World } from './world.js';

const READ = 'getMultipleAccounts';

/** Starts a node that answers every call except reads of balances. */
function nodeWithoutBalances(world: World, fate: (exchange: Exchange) => Fate | Promise<Fate>) {
  return world.front(
    (exchange) => (exchange.call === READ ? fate(exchange) : exchange.pass()),
    world.sandbox.rpcUrl,
  );
}

row(worldsOfFile(), '4', {
  'kill -9': async (world, { node }) => {
    node.resetCalls();
    node.fault(READ, { kind: 'hang' });
    const buyer = await killed(world, 'a', {
      funds: { USDC: '1' },
      at: () => node.calls({ method: READ }) > 0,
    });
    expect(await attemptsOf(buyer)).toEqual([]);
    await bought(world.buy(buyer, 'a'));
    expect(signedBy(buyer)).toEqual(['payment']);
  },
  timeout: async (world) => {
    const silent = await nodeWithoutBalances(world, () => 'hang');
    const rpcUrl = [silent.url, world.sandbox.rpcUrl];
    const buyer = await world.buyer({ USDC: '1' }, { ...hasty('rpc'), rpcUrl });
    await bought(world.buy(buyer, 'a'));
    expect(silent.exchanges.some(({ call }) => call === READ)).toBe(true);

    const alone = await world.buyer({ USDC: '1' }, { ...hasty('rpc'), rpcUrl: silent.url });
    const error = await refused(alone, world.buy(alone, 'b'), 'timeout');
    expect(error).toMatchObject({ retry: 'fresh', details: { step: READ } });
  },
  '429': async (world, { node }) => {
    const buyer = await world.buyer();
    node.fault(READ, { kind: 'rateLimited', times: 1 });
    await bought(world.buy(buyer, 'a'));
    const other = await world.buyer();
    node.fault(READ, { kind: 'rateLimited' });
    const error = await refused(other, world.buy(other, 'b'), 'rate_limited');
    expect(error.retry).toBe('fresh');
  },
  '5xx': async (world) => {
    const broken = await nodeWithoutBalances(world, () => answer(500, 'out of order'));
    const buyer = await world.buyer({ USDC: '1' }, { rpcUrl: [broken.url, world.sandbox.rpcUrl] });
    await bought(world.buy(buyer, 'a'));
    expect(broken.exchanges.some(({ call }) => call === READ)).toBe(true);
  },
  malformed: async (world) => {
    const garbled = await nodeWithoutBalances(world, () =>
      answer(200, '<html>upstream connect error</html>'),
    );
    const buyer = await world.buyer({ USDC: '1' }, { rpcUrl: [garbled.url, world.sandbox.rpcUrl] });
    await bought(world.buy(buyer, 'a'));
    const alone = await world.buyer({ USDC: '1' }, { rpcUrl: garbled.url });
    await refused(alone, world.buy(alone, 'b'), 'invalid_response');
  },
  'lost response': async (world, { node }) => {
    const buyer = await world.buyer();
    node.resetCalls();
    node.fault(READ, { kind: 'dropAfter', times: 1 });
    await bought(world.buy(buyer, 'a'));
    expect(node.calls({ method: READ })).toBeGreaterThan(1);
  },
  expired: async (world) => {
    const { sandbox } = world;
    const commitments = new Set<unknown>();
    sandbox.controls.node.intercept = (method, params, next) => {
      if (method === READ)
        commitments.add((params as [unknown, { commitment?: unknown }])[1].commitment);
      return next();
    };
    const buyer = await world.buyer({ USDC: '1' });
    await bought(world.buy(buyer, 'a'));
    expect([...commitments]).toEqual(['confirmed']);
    // A block with an income is dropped, so the tokens that the client read are gone.
    const account = address(await tokenAccount(buyer.address, sandbox.mints.USDC));
    const held = sandbox.chain.account(account)!;
    const empty = Uint8Array.from(held.data);
    new DataView(empty.buffer).setBigUint64(64, 0n, true);
    sandbox.chain.setAccount(account, { ...held, data: empty });
    const rejected = await failureOf(world.buy(buyer, 'b'), 'payment_rejected');
    expect(rejected.funds).toBe('uncertain');
    const again = await refused(buyer, world.buy(buyer, 'c'), 'insufficient_funds');
    expect(again.details.available).toBe('0');
    sandbox.chain.setAccount(account, held);
  },
  duplicate: async (world) => {
    const buyer = await world.buyer({ USDC: '0.02' });
    const reads = [1, 2, 3].map(() => buyer.client.balance('USDC'));
    await bought(world.buy(buyer, 'a'));
    for (const [balance] of await Promise.all(reads))
      expect(balance).toMatchObject({ amount: expect.stringMatching(/^[12]0000$/) });
    await buyer.client.balance('USDC');
    expect(signedBy(buyer)).toEqual(['payment']);
  },
  concurrent: async (world) => {
    const buyer = await world.buyer({ USDC: '0.02' });
    const calls = ['a', 'b', 'c'].map((purchase) => world.buy(buyer, purchase));
    const outcomes = await Promise.allSettled(calls);
    expect(
      outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value.status] : [])),
    ).toEqual([200, 200]);
    const failures = outcomes.flatMap((outcome) =>
      outcome.status === 'rejected' ? [outcome.reason as unknown] : [],
    );
    expect(failures).toEqual([
      expect.objectContaining({ code: 'insufficient_funds', funds: 'untouched' }),
    ]);
    expect(signedBy(buyer)).toEqual(['payment', 'payment']);
  },
});
