import { memoryJournal, SOLANA_DEVNET, type ClientOptions, type ListOptions } from 'exact-change';
import { describe, expect, it } from 'vitest';
import { envelopeV1, envelopeV2 } from '../fixtures/malformed-402.js';
import { failureOf, payerOn, type Payer } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';
import {
  answerTerms,
  isPaid,
  type Seller,
  type SellerHandler,
  sellerOfTest,
} from '../helpers/seller.js';
import { answer, offerOf, offerV1Of, settle } from '../helpers/settling.js';
import { timesSpent } from '../helpers/spends.js';
import { refusal } from '../helpers/untouched.js';

const sandbox = await useSandbox({ confirmationMs: 20 });

type Lists = Readonly<Partial<Record<'allow' | 'deny', ListOptions>>>;
const payerWith = (policy: Lists, options: ClientOptions = {}) =>
  payerOn(sandbox, { USDC: '1', USDT: '1' }, { policy, ...options });

/** Offers these terms, and answers 200 to any payment. */
const asking =
  (offers: () => readonly unknown[]): SellerHandler =>
  (request, response) => {
    if (isPaid(request)) return answer(response, 200, { ok: true });
    answerTerms(response, envelopeV2(offers()));
  };
const inUsdc = (change = {}) => offerOf(sandbox, change);
const inUsdt = (change = {}) => offerOf(sandbox, { asset: sandbox.mints.USDT.address, ...change });

/** A `fetch` with each name but those of the sandbox resolved to this seller. */
const everywhere =
  (seller: Seller): typeof fetch =>
  async (input, init) => {
    const { origin, pathname } = new URL(input instanceof Request ? input.url : input);
    if ([sandbox.rpcUrl, sandbox.jupiterUrl].includes(origin)) return fetch(input, init);
    const response = await fetch(seller.url + pathname, init);
    const { status, headers } = response;
    return new Response(await response.arrayBuffer(), { status, headers });
  };

async function refused(
  policy: Lists,
  url: string,
  details: { list: string; value: string },
  options: ClientOptions = {},
): Promise<Payer> {
  const payer = await payerWith(policy, options);
  const error = await refusal(sandbox, payer, 'not_allowed', () => payer.client.fetch(url));
  expect(error).toMatchObject({ name: 'PolicyError', retry: 'never', details });
  expect(payer.signed).toEqual([]);
  return payer;
}

describe('a host', () => {
  const host = () => new URL(sandbox.apiUrl).host;

  it('is not paid if it is denied, and the error names the host and the list', async () => {
    await refused({ deny: { hosts: ['127.0.0.1'] } }, `${sandbox.apiUrl}/usdc`, {
      list: 'deny.hosts',
      value: host(),
    });
    await refused({ deny: { hosts: [host()] } }, `${sandbox.apiUrl}/usdc`, {
      list: 'deny.hosts',
      value: host(),
    });
  });

  it('is not paid if it is not on the allow list', async () => {
    await refused({ allow: { hosts: ['api.example.com'] } }, `${sandbox.apiUrl}/usdc`, {
      list: 'allow.hosts',
      value: host(),
    });
    await refused({ allow: { hosts: [] } }, `${sandbox.apiUrl}/usdc`, {
      list: 'allow.hosts',
      value: host(),
    });
  });

  it('is paid if it is allowed, and not if it is also denied', async () => {
    const payer = await payerWith({ allow: { hosts: ['127.0.0.1'] } });
    expect((await payer.client.fetch(`${sandbox.apiUrl}/usdc`)).status).toBe(200);
    const both = { allow: { hosts: ['127.0.0.1'] }, deny: { hosts: [host()] } };
    await refused(both, `${sandbox.apiUrl}/usdc`, { list: 'deny.hosts', value: host() });
  });

  it('gets free requests if it is denied', async () => {
    const payer = await payerWith({ deny: { hosts: ['127.0.0.1'] } });
    expect((await payer.client.fetch(`${sandbox.apiUrl}/free`)).status).toBe(200);
  });

  it.each([
    ['example.com', 'https://exаmple.com/'],
    ['example.com', 'https://example.com@evil.test/'],
  ])('does not match the allowed entry %s when called as %s', async (entry, url) => {
    const seller = await sellerOfTest(asking(() => [inUsdc()]));
    const { username, password, href } = new URL(url);
    // fetch() refuses a user name or password in an address.
    const plain = username === '' && password === '' ? href : href.replace(`${username}@`, '');
    await refused(
      { allow: { hosts: [entry] } },
      plain,
      { list: 'allow.hosts', value: new URL(plain).host },
      { fetch: everywhere(seller) },
    );
    expect(seller.paid).toEqual([]);
  });

  it('is judged by the target of a redirect', async () => {
    const far = await sellerOfTest(asking(() => [inUsdc()]));
    const near = await sellerOfTest((_, response) =>
      response.writeHead(302, { location: `${far.url}/there` }).end(),
    );
    const farHost = `127.0.0.1:${far.port}`;
    const nearHost = `127.0.0.1:${near.port}`;
    await refused({ deny: { hosts: [farHost] } }, near.url, { list: 'deny.hosts', value: farHost });
    await refused({ allow: { hosts: [nearHost] } }, near.url, {
      list: 'allow.hosts',
      value: farHost,
    });
    expect(far.paid).toEqual([]);
    const payer = await payerWith({ allow: { hosts: [farHost] } });
    expect((await payer.client.fetch(near.url)).status).toBe(200);
  });

  it('causes no price request if it is refused', async () => {
    const payer = await payerWith({ deny: { hosts: ['127.0.0.1'] } }, { autoSwap: true });
    const { aggregator } = sandbox.controls;
    const before = aggregator.calls();
    await refusal(sandbox, payer, 'not_allowed', () =>
      payer.client.fetch(`${sandbox.apiUrl}/bonk`),
    );
    expect(aggregator.calls()).toBe(before);
  });

  it('is judged by the given address for pay(), and for plan()', async () => {
    const payer = await payerWith({ deny: { hosts: ['api.example.com'] } });
    const unpaid = await fetch(`${sandbox.apiUrl}/usdc`);
    await refusal(sandbox, payer, 'not_allowed', () =>
      payer.client.pay(unpaid, { url: 'https://API.example.com./x' }),
    );
    const other = await payerWith({ deny: { hosts: ['127.0.0.1'] } });
    await refusal(sandbox, other, 'not_allowed', () => other.client.plan(`${sandbox.apiUrl}/usdc`));
  });
});

describe('an offer', () => {
  const cases: readonly (readonly [
    name: string,
    policy: () => Lists,
    details: () => { list: string; value: string },
  ])[] = [
    [
      'to a payee that is denied',
      () => ({ deny: { payees: [sandbox.merchant] } }),
      () => ({ list: 'deny.payees', value: sandbox.merchant }),
    ],
    [
      'to a payee that is not allowed',
      () => ({ allow: { payees: [sandbox.feePayer] } }),
      () => ({ list: 'allow.payees', value: sandbox.merchant }),
    ],
    [
      'in a mint that is denied by name',
      () => ({ deny: { mints: ['USDC'] } }),
      () => ({ list: 'deny.mints', value: sandbox.mints.USDC.address }),
    ],
    [
      'in a mint that is denied by address',
      () => ({ deny: { mints: [sandbox.mints.USDC.address] } }),
      () => ({ list: 'deny.mints', value: sandbox.mints.USDC.address }),
    ],
    [
      'in a mint that is not allowed',
      () => ({ allow: { mints: ['USDT', 'SOL'] } }),
      () => ({ list: 'allow.mints', value: sandbox.mints.USDC.address }),
    ],
    [
      'by a scheme that is denied in capitals',
      () => ({ deny: { schemes: ['EXACT'] } }),
      () => ({ list: 'deny.schemes', value: 'exact' }),
    ],
    [
      'by a scheme that is not allowed',
      () => ({ allow: { schemes: ['upto'] } }),
      () => ({ list: 'allow.schemes', value: 'exact' }),
    ],
    [
      'on a network that is denied',
      () => ({ deny: { networks: ['solana'] } }),
      () => ({ list: 'deny.networks', value: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp' }),
    ],
    [
      'on a network that is not allowed',
      () => ({ allow: { networks: [SOLANA_DEVNET] } }),
      () => ({ list: 'allow.networks', value: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp' }),
    ],
  ];

  it.each(cases)('is not paid if it is %s', async (_, policy, details) => {
    const seller = await sellerOfTest(asking(() => [inUsdc()]));
    await refused(policy(), seller.url, details());
    expect(seller.paid).toEqual([]);
  });

  // Both versions are read into one kind of offer, so version 1 has a case of each fourth list.
  const fourth = cases.filter((_, index) => index % 4 === 0);
  it.each(fourth)('is not paid in version 1 if it is %s', async (_, policy, details) => {
    const seller = await sellerOfTest((_request, response) =>
      answer(response, 402, envelopeV1([offerV1Of(sandbox)])),
    );
    await refused(policy(), seller.url, details());
    expect(seller.paid).toEqual([]);
  });

  it.each([
    ['a denied mint', { deny: { mints: ['USDC'] } }],
    ['a mint that is not allowed', { allow: { mints: ['USDT'] } }],
  ] as const)('is skipped if it is in %s, and the allowed offer is paid', async (_, policy) => {
    const seller = await sellerOfTest(
      asking(() => [inUsdc({ amount: '1000' }), inUsdt({ amount: '20000' })]),
    );
    const payer = await payerWith(policy);
    const plan = await payer.client.plan(seller.url);
    expect(plan.payment?.mint).toBe(sandbox.mints.USDT.address);
    expect(plan.refused).toMatchObject([{ index: 0, code: 'not_allowed' }]);
    expect((await payer.client.fetch(seller.url)).status).toBe(200);
    expect(payer.signed).toMatchObject([
      { kind: 'payment', mint: sandbox.mints.USDT.address, amount: '20000' },
    ]);
  });

  it('is skipped if its payee is denied and another payee takes the same token', async () => {
    const seller = await sellerOfTest(
      asking(() => [inUsdc({ payTo: sandbox.feePayer, amount: '1' }), inUsdc()]),
    );
    const payer = await payerWith({ deny: { payees: [sandbox.feePayer] } });
    expect((await payer.client.fetch(seller.url)).status).toBe(200);
    expect(payer.signed).toMatchObject([{ payTo: sandbox.merchant, amount: '10000' }]);
  });

  it('is refused with the reason of each offer if none is allowed', async () => {
    const seller = await sellerOfTest(asking(() => [inUsdc(), inUsdt()]));
    const payer = await payerWith({ deny: { payees: [sandbox.merchant] } });
    const error = await refusal(sandbox, payer, 'no_payable_offer', () =>
      payer.client.fetch(seller.url),
    );
    expect(error.details.offers.map(({ index, code }) => [index, code])).toEqual([
      [0, 'not_allowed'],
      [1, 'not_allowed'],
    ]);
    expect(error.cause).toMatchObject({
      code: 'not_allowed',
      details: { list: 'deny.payees', value: sandbox.merchant },
    });
  });

  it('may be paid out of a denied token by a swap', async () => {
    const payer = await payerOn(
      sandbox,
      { SOL: '0.5', USDT: '5' },
      { autoSwap: true, swapFrom: ['USDT'], policy: { deny: { mints: ['USDT'] } } },
    );
    expect((await payer.client.fetch(`${sandbox.apiUrl}/usdc`)).status).toBe(200);
  });
});

it.each<[string, () => ListOptions]>([
  ['host', () => ({ hosts: ['127.0.0.1'] })],
  ['payee', () => ({ payees: [sandbox.merchant] })],
  ['mint', () => ({ mints: [sandbox.mints.USDC.address] })],
  ['scheme', () => ({ schemes: ['exact'] })],
])('no longer presents a signed payment if its %s is denied by now', async (_, deny) => {
  let presented = 0;
  const seller = await sellerOfTest((request, response) => {
    if (!isPaid(request)) return answerTerms(response, envelopeV2([inUsdc()]));
    presented += 1;
    const settling = presented === 1 ? Promise.resolve() : settle(sandbox, request);
    void settling.then(() => request.socket.destroy());
  });
  const journal = memoryJournal();
  const payer = await payerWith({}, { journal });
  await failureOf(payer.client.fetch(seller.url), 'payment_uncertain');
  const strict = payer.again({ journal, policy: { deny: deny() } });
  const told = await failureOf(strict.fetch(seller.url), 'payment_uncertain');
  expect(told.funds).toBe('uncertain');
  expect([presented, await timesSpent(sandbox, payer, 'USDC')]).toEqual([1, 0]);
});
