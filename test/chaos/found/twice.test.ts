/** Payments that were made twice, and swaps, before this suite found out how. */
import { expect, it } from 'vitest';
import { entryV1, envelopeV1 } from '../../fixtures/malformed-402.js';
import { landed, signaturesOf, tokenAccount } from '../../helpers/chain.js';
import { afterSettling, mangled, onPaid } from '../matrix/after-paying.js';
import { answer } from '../matrix/front.js';
import { changed, faultyNode } from '../matrix/node-faults.js';
import { worldsOfFile, type Buyer, type World } from '../matrix/world.js';

const worlds = worldsOfFile();

async function settledOf(world: World, buyer: Buyer): Promise<number> {
  const account = await tokenAccount(buyer.address, world.sandbox.mints.USDC);
  const all = await Promise.all(
    (await signaturesOf(world.sandbox.rpcUrl, account)).map((one) =>
      landed(world.sandbox.rpcUrl, one),
    ),
  );
  return all.filter(
    ({ error, tokens }) =>
      error === null && tokens.some((one) => one.account === account && one.change < 0n),
  ).length;
}

const thrice = async (call: () => Promise<unknown>) => {
  for (const _ of [1, 2, 3]) await call().catch(() => undefined);
};

it.each([408, 409, 413, 425, 429, 404, 303])(
  'a wrapper repeats a settled %i: one payment',
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

it('resign does not sign again what has landed already (v1: a settle failure looks like a refusal)', async () => {
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

it('nor does it if a v2 seller settles and answers with terms again', async () => {
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

it('a node that is behind after the swap makes no second swap', async () => {
  const world = await worlds.open();
  world.sandbox.controls.node.intercept = (method, _, next) =>
    method === 'getTransaction' ? null : next();
  // Behind for one read: our token account is not there yet.
  const behind = changed((result, params) => {
    const { value, ...rest } = result as { value: unknown[] };
    const [asked] = params as [string[]];
    return { ...rest, value: asked.length === 1 ? [null] : value };
  });
  const node = await faultyNode(world, 'getMultipleAccounts', behind);
  const buyer = await world.swapper({ rpcUrl: node.front.url });
  const stop = buyer.client.on('swap.confirmed', () => (stop(), node.arm(1)));
  await world.buy(buyer, 'lag').catch(() => undefined);
  expect(buyer.signed.map(({ kind }) => kind)).toEqual(['swap', 'payment']);
});

it('a body that is cut, repeated by a wrapper: one payment', async () => {
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
