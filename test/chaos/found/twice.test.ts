/** Regressions: each of these cases once caused a second payment or a second swap. */
import { expect, it } from 'vitest';
import { entryV1, envelopeV1 } from '../../fixtures/malformed-402.js';
import { timesSpent } from '../../helpers/spends.js';
import { afterSettling, mangled, onPaid } from '../matrix/after-paying.js';
import { answer } from '../matrix/front.js';
import { changed, faultyNode } from '../matrix/node-faults.js';
import { worldsOfFile, type Buyer, type World } from '../matrix/world.js';

const worlds = worldsOfFile();

const settledOf = ({ sandbox }: World, buyer: Buyer) => timesSpent(sandbox, buyer, 'USDC');

const thrice = async (call: () => Promise<unknown>) => {
  for (const _ of [1, 2, 3]) await call().catch(() => undefined);
};

it.each([408, 409, 413, 425, 429, 404, 303])(
  'pays once when a wrapper repeats a settled call that got %i',
  async (status) => {
    const world = await worlds.open();
    const buyer = await world.buyer();
    const front = await world.front(
      onPaid(afterSettling(({ headers }) => answer(status, '', headers))),
    );
    await thrice(() => world.buy(buyer, 'a', { base: front.url }));
    expect(await settledOf(world, buyer)).toBe(1);
  },
);

it('signs once with policy.resign when a v1 seller settles and then refuses', async () => {
  const world = await worlds.open();
  const { merchant, feePayer, facilitatorUrl } = world.sandbox;
  const buyer = await world.buyer({ USDC: '1' }, { policy: { resign: 1 } });
  const entry = entryV1({ payTo: merchant, maxAmountRequired: '10000', extra: { feePayer } });
  const seller = await world.seller((request, response) => {
    const header = request.headers['x-payment'];
    const ask = (error: string) =>
      void response
        .writeHead(402, { 'content-type': 'application/json' })
        .end(JSON.stringify(envelopeV1([entry], { error })));
    if (typeof header !== 'string') return ask('X-PAYMENT header is required');
    const paymentPayload: unknown = JSON.parse(Buffer.from(header, 'base64').toString());
    const body = JSON.stringify({ x402Version: 1, paymentPayload, paymentRequirements: entry });
    void fetch(`${facilitatorUrl}/settle`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    })
      .then((settled) => settled.text())
      .then(() => ask('unexpected_settle_error'));
  });
  await world.buy(buyer, 'v1', { base: seller.url }).catch(() => undefined);
  expect(await settledOf(world, buyer)).toBe(1);
});

it('signs once with policy.resign when a v2 seller settles and repeats its terms', async () => {
  const world = await worlds.open();
  const buyer = await world.buyer({ USDC: '1' }, { policy: { resign: 1 } });
  const front = await world.front(
    onPaid(async (exchange) => {
      await exchange.pass();
      const terms = await fetch(`${world.sandbox.apiUrl}/usdc`);
      return {
        status: 402,
        headers: Object.fromEntries(terms.headers),
        body: Buffer.from(await terms.arrayBuffer()),
      };
    }),
  );
  await world.buy(buyer, 'v2', { base: front.url }).catch(() => undefined);
  expect(await settledOf(world, buyer)).toBe(1);
});

it('swaps once when a node lags behind after the swap', async () => {
  const world = await worlds.open();
  world.sandbox.controls.node.intercept = (method, _, next) =>
    method === 'getTransaction' ? null : next();
  // The node lags for one read: it does not know the wallet's token account yet.
  const behind = changed((result, params) => {
    const { value, ...rest } = result as { value: unknown[] };
    const [accounts] = params as [string[]];
    return { ...rest, value: accounts.length === 1 ? [null] : value };
  });
  const node = await faultyNode(world, 'getMultipleAccounts', behind);
  const buyer = await world.swapper({ rpcUrl: node.front.url });
  const stop = buyer.client.on('swap.confirmed', () => (stop(), node.arm(1)));
  await world.buy(buyer, 'lag').catch(() => undefined);
  expect(buyer.signed.map(({ kind }) => kind)).toEqual(['swap', 'payment']);
});

it('pays once when a wrapper repeats a call with a cut body', async () => {
  const world = await worlds.open();
  const buyer = await world.buyer();
  const breaks = await mangled(world, (response, real) => {
    response.writeHead(200, {
      'content-length': '100',
      'payment-response': real.headers['payment-response'] ?? '',
    });
    response.write('half', () => response.socket?.destroy());
  });
  await thrice(async () => (await world.buy(buyer, 'a', { base: breaks.url })).text());
  expect(await settledOf(world, buyer)).toBe(1);
});
