import type { ServerResponse } from 'node:http';
import { receiptOf, type ClientOptions } from 'exact-change';
import { describe, expect, it, vi } from 'vitest';
import { envelopeV2 } from '../fixtures/malformed-402.js';
import { until } from '../helpers/chain.js';
import { failureOf, payerOn, type Payer } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';
import { answerTerms, isPaid, type Seller, sellerOfTest } from '../helpers/seller.js';
import { answer, offerOf, paymentHeader, settle, settlementHeader } from '../helpers/settling.js';
import { timesSpent } from '../helpers/spends.js';

const sandbox = await useSandbox({ confirmationMs: 20 });

type Json = Record<string, unknown>;
const terms = (change: Json = {}) => envelopeV2([offerOf(sandbox, change)]);
const holder = (options: ClientOptions = {}) =>
  payerOn(sandbox, { USDC: '1' }, { policy: { resign: 1 }, ...options });
const payments = ({ signed }: Payer) => signed.filter(({ kind }) => kind === 'payment');
const usedOf = async ({ client }: Payer) => (await client.spent())[0]?.used;

const settledOf = (payer: Payer) => timesSpent(sandbox, payer, 'USDC');

/** Starts a seller that refuses the first payments, each in its way, and settles later payments. */
async function selling(
  refusals: readonly ((response: ServerResponse) => unknown)[],
  first: Json = {},
): Promise<Seller> {
  let shown = 0;
  return sellerOfTest((request, response) => {
    if (!isPaid(request)) return answerTerms(response, terms(first));
    const refuse = refusals[shown];
    shown += 1;
    if (refuse !== undefined) return void refuse(response);
    void settle(sandbox, request).then((settled) =>
      settled.success
        ? answer(response, 200, { ok: true }, settlementHeader({ ...settled }))
        : answerTerms(response, terms(first)),
    );
  });
}

const again =
  (change: Json = {}) =>
  (response: ServerResponse) =>
    answerTerms(response, { ...terms(change), error: 'No matching payment requirements' });

describe('a seller that refuses the first payment and sends new terms', () => {
  it('gets a second payment if the policy allows it, and both count meanwhile', async () => {
    const payer = await holder();
    const seller = await selling([again()]);
    const response = await payer.client.fetch(seller.url);
    expect([response.status, await response.json()]).toEqual([200, { ok: true }]);
    expect(payments(payer)).toMatchObject([
      { payTo: sandbox.merchant, amount: '10000' },
      { payTo: sandbox.merchant, amount: '10000' },
    ]);
    expect(new Set(seller.paid.map(paymentHeader)).size).toBe(2);
    expect(await usedOf(payer)).toBe('0.02');
    await until('the second is settled', () =>
      receiptOf(response)?.state === 'settled' ? true : undefined,
    );
    sandbox.controls.node.warp();
    await until('the hold of the first payment is freed', async () =>
      (await usedOf(payer)) === '0.01' ? true : undefined,
    );
    expect(await settledOf(payer)).toBe(1);
  });

  it('keeps no connection for its first refusal, which nothing reads', async () => {
    const payer = await holder();
    const closed = vi.fn();
    const said = { ...terms(), error: 'No matching payment requirements' };
    const seller = await selling([
      (response) => {
        const header = Buffer.from(JSON.stringify(said)).toString('base64');
        response.once('close', closed).writeHead(402, { 'payment-required': header }).write('<p>');
      },
    ]);
    expect((await payer.client.fetch(seller.url)).status).toBe(200);
    await expect.poll(() => closed).toHaveBeenCalled();
  });

  it('gets less if it asks for less', async () => {
    const payer = await holder();
    const seller = await selling([again({ amount: '9000' })]);
    expect((await payer.client.fetch(seller.url)).status).toBe(200);
    expect(payments(payer).map((payment) => 'amount' in payment && payment.amount)).toEqual([
      '10000',
      '9000',
    ]);
  });

  it('gets one payment only by default', async () => {
    const payer = await holder({ policy: {} });
    const seller = await selling([again()]);
    const error = await failureOf(payer.client.fetch(seller.url), 'payment_rejected');
    expect(error).toMatchObject({
      funds: 'uncertain',
      untrusted: { reason: 'No matching payment requirements' },
    });
    expect([payments(payer).length, seller.paid.length]).toEqual([1, 1]);
  });

  it('gets no third payment if it refuses the second too', async () => {
    const payer = await holder();
    const seller = await selling([again(), again(), again()]);
    const error = await failureOf(payer.client.fetch(seller.url), 'payment_rejected');
    expect(error).toMatchObject({ funds: 'uncertain', moved: [] });
    expect([payments(payer).length, seller.paid.length]).toEqual([2, 2]);
    expect(await usedOf(payer)).toBe('0.02');
  });

  it('gets no second payment if the budget has room for one payment only', async () => {
    const payer = await holder({ policy: { resign: 1, maxPerDay: '0.015' } });
    const seller = await selling([again()]);
    await failureOf(payer.client.fetch(seller.url), 'payment_rejected');
    expect([payments(payer).length, seller.paid.length, await usedOf(payer)]).toEqual([
      1,
      1,
      '0.01',
    ]);
  });
});

it('tells of a swap for the second payment whose end is unknown, once the first has expired', async () => {
  const { node } = sandbox.controls;
  const payer = await payerOn(
    sandbox,
    { SOL: '0.5', USDT: '5', USDC: '0.01' },
    { autoSwap: true, swapFrom: ['USDT'], policy: { resign: 1 } },
  );
  const seller = await selling([again()]);
  const expired = new Promise((resolve) => payer.client.on('payment.unsettled', resolve));
  const swapped = new Promise<void>((resolve) =>
    payer.client.on('swap.signed', () => {
      node.fault('getSignatureStatuses', { kind: 'status', status: 503 });
      node.warp();
      resolve();
    }),
  );
  const call = failureOf(payer.client.fetch(seller.url), 'swap_uncertain');
  await Promise.all([expired, swapped]);
  await payer.client.close();
  const error = await call;
  expect(error).toMatchObject({ funds: 'uncertain', retry: 'never' });
  expect([error.response?.status, payments(payer).length, seller.paid.length]).toEqual([402, 1, 1]);
});

// A possible payee: it has an account for the token.
const other = await sandbox.createWallet({ USDC: '1' });

describe('a client with one allowed second payment', () => {
  const cases: readonly (readonly [
    name: string,
    refuse: (response: ServerResponse) => unknown,
    code: 'payment_rejected' | 'payment_uncertain',
  ])[] = [
    ['a higher price', again({ amount: '10001' }), 'payment_rejected'],
    ['a change of the payee', again({ payTo: other.address }), 'payment_rejected'],
    [
      'terms in another token with a higher amount',
      (response) => again({ asset: sandbox.mints.USDT.address, amount: '10001' })(response),
      'payment_rejected',
    ],
    [
      'a failed settlement',
      (response) =>
        response
          .writeHead(402, {
            ...settlementHeader({ success: false, transaction: '', errorReason: 'settle_failed' }),
            'payment-required': Buffer.from(JSON.stringify(terms())).toString('base64'),
          })
          .end(),
      'payment_rejected',
    ],
    ['a bare 402', (response) => response.writeHead(402).end(), 'payment_rejected'],
    [
      'a 402 with unreadable terms',
      (response) => response.writeHead(402, { 'payment-required': '{{' }).end(),
      'payment_rejected',
    ],
    ['a lost answer', (response) => response.destroy(), 'payment_uncertain'],
  ];

  it.each(cases)('signs no second payment after %s', async (_, refuse, code) => {
    const payer = await payerOn(sandbox, { USDC: '1', USDT: '1' }, { policy: { resign: 1 } });
    const seller = await selling([refuse]);
    const error = await failureOf(payer.client.fetch(seller.url), code);
    expect(error.funds).toBe('uncertain');
    expect([payments(payer).length, seller.paid.length]).toEqual([1, 1]);
    expect(await usedOf(payer)).toBe('0.01');
  });

  it.each([500, 403, 302])('signs no second payment after a %i', async (status) => {
    const payer = await holder();
    const seller = await selling([
      (response) => response.writeHead(status, { location: '/' }).end(),
    ]);
    expect((await payer.client.fetch(seller.url)).status).toBe(status);
    expect([payments(payer).length, seller.paid.length]).toEqual([1, 1]);
  });
});

describe('a client after a purchase with a second payment', () => {
  it('never pays for its key again, though the first payment may still land', async () => {
    const payer = await holder();
    const seller = await selling([again()]);
    const buy = (method: string) =>
      payer.client.fetch(seller.url, { method, idempotencyKey: `order ${method}` });
    expect((await buy('GET')).status).toBe(200);
    await failureOf(buy('GET'), 'already_spent');
    expect(payments(payer).length).toBe(2);
    expect([seller.paid.length, await settledOf(payer)]).toEqual([2, 1]);
  });

  it('pays the next call as a new purchase', async () => {
    const payer = await holder();
    const seller = await selling([again()]);
    expect((await payer.client.fetch(seller.url)).status).toBe(200);
    const response = await payer.client.fetch(seller.url);
    expect(response.status).toBe(200);
    const headers = seller.paid.map(paymentHeader);
    expect([headers.length, new Set(headers).size]).toEqual([3, 3]);
    expect(await settledOf(payer)).toBe(2);
  });

  it.each(['GET', 'POST'])(
    'signs no third payment for a repeated %s when the second payment was refused too',
    async (method) => {
      const payer = await holder();
      const seller = await selling([again(), again()]);
      const buy = () => payer.client.fetch(seller.url, { method, idempotencyKey: 'order' });
      await failureOf(buy(), 'payment_rejected');
      await buy().catch(() => undefined);
      await buy().catch(() => undefined);
      expect(payments(payer).length).toBe(2);
      expect(await settledOf(payer)).toBe(method === 'GET' ? 1 : 0);
    },
  );

  it('rejects with the reason of a caller that aborts the second payment', async () => {
    const payer = await holder();
    const seller = await selling([again()]);
    const controller = new AbortController();
    let chosen = 0;
    payer.client.on('payment.chosen', () => {
      chosen += 1;
      if (chosen === 2) controller.abort('enough');
    });
    await expect(payer.client.fetch(seller.url, { signal: controller.signal })).rejects.toBe(
      'enough',
    );
    expect(payments(payer).length).toBe(1);
    expect(await usedOf(payer)).toBe('0.01');
  });
});

// The missing part of the answer may say that the payment is pending.
it.each(['late', 'broken'])('takes no %s answer for a refusal', async (how) => {
  const said = JSON.stringify({ error: 'settlement_pending' });
  const seller = await sellerOfTest((request, response) => {
    const header = envelopeV2([offerOf(sandbox)], { error: undefined });
    response.writeHead(402, {
      'content-type': 'application/json',
      'content-length': String(said.length),
      'payment-required': Buffer.from(JSON.stringify(header)).toString('base64'),
    });
    if (!isPaid(request)) return void response.end(said);
    response.write(said.slice(0, 12));
    if (how === 'broken') setImmediate(() => request.socket.destroy());
  });
  const payer = await holder({ timeouts: { terms: 300 } });
  const error = await failureOf(payer.client.fetch(seller.url), 'payment_rejected');
  expect(error.funds).toBe('uncertain');
  expect([payments(payer).length, seller.paid.length]).toEqual([1, 1]);
});
