import { memoryJournal, receiptOf, type ClientOptions } from 'exact-change';
import { undiciRequest } from 'exact-change/undici';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { entryV2, envelopeV2 } from '../fixtures/malformed-402.js';
import { until } from '../helpers/chain.js';
import { failureOf, payerOn, type Payer } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';
import { answerTerms, isPaid, sellerOfTest } from '../helpers/seller.js';
import { signedOf, timesSpent } from '../helpers/spends.js';

const sandbox = await useSandbox({ confirmationMs: 20 });

const holder = (options: ClientOptions = {}) => payerOn(sandbox, { USDC: '1', USDT: '1' }, options);
const payments = (payer: Payer) => signedOf(payer, 'payment');
const url = (path: string) => sandbox.apiUrl + path;
const terms = (change: Record<string, unknown> = {}) =>
  envelopeV2([
    entryV2({ payTo: sandbox.merchant, extra: { feePayer: sandbox.feePayer }, ...change }),
  ]);

const settledOf = (payer: Payer) => timesSpent(sandbox, payer, 'USDC');

describe('a request with an earlier payment', () => {
  it.each([429, 500, 502, 503, 302, 404])(
    'is presented the same payment again while a %i leaves it open',
    async (status) => {
      const payer = await holder();
      const headers: unknown[] = [];
      const seller = await sellerOfTest((request, response) => {
        if (!isPaid(request)) return answerTerms(response, terms());
        headers.push(request.headers['payment-signature']);
        response.writeHead(status, status === 302 ? { location: '/elsewhere' } : {}).end();
      });
      for (const _ of [1, 2, 3]) expect((await payer.client.fetch(seller.url)).status).toBe(status);
      expect(new Set(headers).size).toBe(1);
      expect(payments(payer)).toBe(1);
    },
  );

  it('is not paid again when the next 402 raises the price or names another payee', async () => {
    const payer = await holder();
    let asked = 0;
    const seller = await sellerOfTest((request, response) => {
      if (isPaid(request)) return void request.socket.destroy();
      asked += 1;
      answerTerms(
        response,
        terms({ amount: String(1_000 + asked), ...(asked > 2 ? { payTo: sandbox.feePayer } : {}) }),
      );
    });
    const first = await failureOf(payer.client.fetch(seller.url), 'payment_uncertain');
    for (const _ of [1, 2, 3]) {
      const again = await failureOf(payer.client.fetch(seller.url), 'payment_uncertain');
      expect(again.details.payerSignature).toBe(first.details.payerSignature);
    }
    expect(payments(payer)).toBe(1);
  });

  it('is not paid again when its token is used up and the seller takes another token', async () => {
    const payer = await payerOn(sandbox, { USDC: '0.01', USDT: '1' });
    sandbox.controls.facilitator.fault('/settle', { kind: 'dropAfter', times: 1 });
    const entry = (asset: string) =>
      entryV2({
        payTo: sandbox.merchant,
        extra: { feePayer: sandbox.feePayer },
        amount: '10000',
        asset,
      });
    const entries = [entry(sandbox.mints.USDC.address), entry(sandbox.mints.USDT.address)];
    const seller = await sellerOfTest((request, response) => {
      if (isPaid(request)) return void request.socket.destroy();
      answerTerms(response, envelopeV2(entries));
    });
    const first = await failureOf(payer.client.fetch(seller.url), 'payment_uncertain');
    const again = await failureOf(payer.client.fetch(seller.url), 'payment_uncertain');
    expect(again.details.payerSignature).toBe(first.details.payerSignature);
    expect(payments(payer)).toBe(1);
  });

  it('is not paid again when its redirect leads to another address each time', async () => {
    const payer = await holder();
    let visits = 0;
    const seller = await sellerOfTest((request, response) => {
      if (request.url === '/x')
        return void response.writeHead(302, { location: `/y?sid=${(visits += 1)}` }).end();
      if (isPaid(request)) return void request.socket.destroy();
      answerTerms(response, terms());
    });
    for (const _ of [1, 2, 3])
      await failureOf(payer.client.fetch(`${seller.url}/x`), 'payment_uncertain');
    expect(payments(payer)).toBe(1);
    expect(new Set(seller.paid.map(({ url: path }) => path))).toEqual(new Set(['/y?sid=1']));
  });

  it('is not paid again when its body is a form with another boundary each time', async () => {
    const payer = await holder();
    const seller = await sellerOfTest((request, response) => {
      if (isPaid(request)) return void request.socket.destroy();
      answerTerms(response, terms());
    });
    const post = (value: string) => {
      const body = new FormData();
      body.set('name', value);
      return payer.client.fetch(seller.url, { method: 'POST', body });
    };
    const first = await failureOf(post('a'), 'payment_uncertain');
    const again = await failureOf(post('a'), 'payment_uncertain');
    expect(again.details.payerSignature).toBe(first.details.payerSignature);
    expect(payments(payer)).toBe(1);
    await failureOf(post('b'), 'payment_uncertain');
    expect(payments(payer)).toBe(2);
  });

  it('is paid again only after its callers have heard of all lost payments', async () => {
    const payer = await holder({ retryWindow: 0 });
    sandbox.controls.facilitator.fault('/settle', { kind: 'dropAfter', times: 3 });
    const callers = [1, 2, 3];
    const lost = await Promise.all(
      callers.map(() => failureOf(payer.client.fetch(url('/usdc')), 'payment_rejected')),
    );
    const told: unknown[] = [];
    for (const _ of callers) {
      const spent = await failureOf(payer.client.fetch(url('/usdc')), 'already_spent');
      told.push(spent.details.payerSignature);
    }
    expect(new Set(told)).toEqual(new Set(lost.map(({ details }) => details.payerSignature)));
    await until('the windows are over', async () => {
      const outcome = await payer.client.fetch(url('/usdc')).catch(() => undefined);
      return outcome?.status === 200 ? true : undefined;
    });
    expect(await settledOf(payer)).toBe(4);
  });

  it('reports already_spent when the payment emptied the wallet', async () => {
    const payer = await payerOn(sandbox, { USDC: '0.01' });
    sandbox.controls.facilitator.fault('/settle', { kind: 'dropAfter', times: 1 });
    await failureOf(payer.client.fetch(url('/usdc')), 'payment_rejected');
    await failureOf(payer.client.fetch(url('/usdc')), 'already_spent');
    expect([payments(payer), await settledOf(payer)]).toEqual([1, 1]);
  });

  it('is not paid again in its window because another clock is an hour behind', async () => {
    const payer = await holder();
    const buy = () => payer.client.fetch(url('/usdc'));
    sandbox.controls.facilitator.fault('/settle', { kind: 'dropAfter', times: 1 });
    await failureOf(buy(), 'payment_rejected');
    const { now } = Date;
    onTestFinished(() => void (Date.now = now));
    const HOUR_MS = 60 * 60_000;
    // Each second call waits until the journal has the time at which the first was answered.
    for (const behindMs of [0, 0, HOUR_MS, HOUR_MS, 0, 0]) {
      Date.now = () => now() - behindMs;
      await failureOf(buy(), 'already_spent');
    }
    expect(await settledOf(payer)).toBe(1);
  });

  it('is paid again after the window when its caller heard of it while a clock was ahead', async () => {
    const payer = await holder({ retryWindow: 0 });
    const buy = () => payer.client.fetch(url('/usdc'));
    sandbox.controls.facilitator.fault('/settle', { kind: 'dropAfter', times: 1 });
    await failureOf(buy(), 'payment_rejected');
    const { now } = Date;
    onTestFinished(() => void (Date.now = now));
    const ahead = now() + 30 * 24 * 60 * 60_000;
    Date.now = () => ahead;
    // The second call waits until the journal has the time at which the first was answered.
    for (const _ of [1, 2]) await failureOf(buy(), 'already_spent');
    Date.now = now;
    await until('the window is over', async () =>
      (await buy().catch(() => undefined))?.status === 200 ? true : undefined,
    );
    expect(await settledOf(payer)).toBe(2);
  });
});

describe('a process that ends while it reports a paid purchase', () => {
  it('blocks an equal call for ten minutes at least, as its caller may not have heard', async () => {
    const inner = memoryJournal();
    const put = (attempt: Parameters<typeof inner.put>[0]) =>
      attempt.toldAt === undefined
        ? inner.put(attempt)
        : Promise.reject(new Error('the process has ended'));
    const payer = await holder({ retryWindow: 0, journal: { ...inner, put } });
    sandbox.controls.facilitator.fault('/settle', { kind: 'dropAfter', times: 1 });
    await failureOf(payer.client.fetch(url('/usdc')), 'payment_rejected');
    const { now } = Date;
    let later = 0;
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => now() + later);
    onTestFinished(() => clock.mockRestore());
    for (later of [0, 1, 590_000])
      await failureOf(payer.client.fetch(url('/usdc')), 'already_spent');
    expect(await settledOf(payer)).toBe(1);
    later = 610_000;
    expect((await payer.client.fetch(url('/usdc'))).status).toBe(200);
    expect(await settledOf(payer)).toBe(2);
  });
});

describe('an idempotency key', () => {
  it('never carries a payment to another host, and is refused for another request', async () => {
    const payer = await holder();
    const good = await sellerOfTest((request, response) => {
      if (isPaid(request)) return void request.socket.destroy();
      answerTerms(response, terms());
    });
    const evil = await sellerOfTest((request, response) => {
      if (isPaid(request)) return void response.writeHead(200).end();
      answerTerms(response, terms());
    });
    await failureOf(payer.client.fetch(good.url, { idempotencyKey: 'job 1' }), 'payment_uncertain');
    const error = await failureOf(
      payer.client.fetch(evil.url, { idempotencyKey: 'job 1' }),
      'idempotency_mismatch',
    );
    expect(error).toMatchObject({
      name: 'ConfigError',
      retry: 'never',
      funds: 'untouched',
      moved: [],
    });
    await failureOf(
      payer.client.fetch(`${good.url}/other`, { idempotencyKey: 'job 1' }),
      'idempotency_mismatch',
    );
    for (const init of [{ method: 'POST' }, { method: 'POST', body: 'x' }])
      await failureOf(
        payer.client.fetch(good.url, { ...init, idempotencyKey: 'job 1' }),
        'idempotency_mismatch',
      );
    expect([evil.paid.length, payments(payer)]).toEqual([0, 1]);
  });

  it('stands for one purchase for as long as it is known, however old', async () => {
    const payer = await holder({ retryWindow: 0 });
    const buy = () => payer.client.fetch(url('/usdc'), { idempotencyKey: 'order' });
    expect((await buy()).status).toBe(200);
    for (const _ of [1, 2]) await failureOf(buy(), 'already_spent');
    expect(payments(payer)).toBe(1);
  });

  it.each(['""', '0'])('is refused if it is %s, which would be no key at all', async (key) => {
    const payer = await holder();
    const init = JSON.parse(`{"idempotencyKey":${key}}`) as { idempotencyKey: string };
    for (const buy of [payer.client.fetch, undiciRequest(payer.client)]) {
      const error = await failureOf(buy(url('/usdc'), init), 'invalid_option');
      expect(error).toMatchObject({ details: { option: 'idempotencyKey' }, funds: 'untouched' });
    }
    expect(payments(payer)).toBe(0);
  });

  it('counts as no key if its header is empty, as other libraries set it', async () => {
    const payer = await holder();
    const headers = { 'idempotency-key': '' };
    for (const path of ['/usdc', '/memo'])
      expect((await payer.client.fetch(url(path), { headers })).status).toBe(200);
    expect(payments(payer)).toBe(2);
  });
});

describe('the journal of a client', () => {
  it('makes no call take another payment for lost when it is slow', async () => {
    const inner = memoryJournal();
    const slow = {
      ...inner,
      put: async (...args: Parameters<typeof inner.put>) => (
        await new Promise((resolve) => setTimeout(resolve, 30)),
        inner.put(...args)
      ),
    };
    const payer = await holder({ journal: slow });
    const answers = await Promise.all([1, 2, 3].map(() => payer.client.fetch(url('/usdc'))));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(new Set(answers.map((answer) => receiptOf(answer)?.payment.payerSignature)).size).toBe(
      3,
    );
  });

  it('leaves a payment uncertain when it cannot record the settlement', async () => {
    const inner = memoryJournal();
    const journal = {
      ...inner,
      put: (...args: Parameters<typeof inner.put>) =>
        args[0].state === 'settled' ? Promise.reject(new Error('ENOSPC')) : inner.put(...args),
    };
    const payer = await holder({ journal });
    sandbox.controls.facilitator.fault('/settle', { kind: 'dropAfter', times: 1 });
    await failureOf(payer.client.fetch(url('/usdc')), 'payment_rejected');
    const again = await failureOf(payer.client.fetch(url('/usdc')), 'payment_uncertain');
    expect(again).toMatchObject({ funds: 'uncertain', cause: { code: 'journal_unavailable' } });
    expect(payments(payer)).toBe(1);
  });
});
