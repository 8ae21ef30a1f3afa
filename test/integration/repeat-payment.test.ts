import type { ServerResponse } from 'node:http';
import {
  memoryJournal,
  receiptOf,
  type ClientOptions,
  type Journal,
  type PayingRequestInit,
} from 'exact-change';
import { describe, expect, it } from 'vitest';
import { withCoordination, createCoordination } from '../../src/journal/registry.js';
import type { Coordination } from '../../src/journal/types.js';
import { envelopeV2 } from '../fixtures/malformed-402.js';
import { landed, until } from '../helpers/chain.js';
import { failureOf, payerOn, type Payer } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';
import { answerTerms, isPaid, type Seller, sellerOfTest } from '../helpers/seller.js';
import { signedOf } from '../helpers/spends.js';
import { answer, offerOf, paymentHeader, settle, settlementHeader } from '../helpers/settling.js';

const sandbox = await useSandbox({ confirmationMs: 20 });

const holder = (options: ClientOptions = {}) => payerOn(sandbox, { USDC: '1' }, options);
const payments = (payer: Payer) => signedOf(payer, 'payment');
const settled = (payer: Payer) =>
  until('it is settled', () =>
    payer.events.some(({ type }) => type === 'payment.settled') ? true : undefined,
  );

/**
 * Starts a seller that cuts the connection on the first payment, settled or not, and serves every
 * later payment.
 */
async function losing(settles: boolean): Promise<Seller> {
  let shown = 0;
  return sellerOfTest((request, response) => {
    if (!isPaid(request)) return answerTerms(response, envelopeV2([offerOf(sandbox)]));
    shown += 1;
    if (shown > 1)
      return answer(
        response,
        200,
        { ok: true },
        settlementHeader({ success: true, transaction: '' }),
      );
    void (settles ? settle(sandbox, request) : Promise.resolve()).then(() =>
      request.socket.destroy(),
    );
  });
}

const post: PayingRequestInit = { method: 'POST', body: '{"n":1}' };

describe('a POST with a lost answer', () => {
  it('is spent if it settled, and nothing is presented or signed again', async () => {
    const payer = await holder();
    const seller = await losing(true);
    const lost = await failureOf(payer.client.fetch(seller.url, post), 'payment_uncertain');
    for (const _ of [1, 2]) {
      const spent = await failureOf(payer.client.fetch(seller.url, post), 'already_spent');
      expect(spent.details.payerSignature).toBe(lost.details.payerSignature);
      const { signature = '' } = spent.details;
      expect((await landed(sandbox.rpcUrl, signature)).signatures).toContain(
        lost.details.payerSignature,
      );
    }
    expect([seller.paid.length, payments(payer)]).toEqual([1, 1]);
  });

  it('is uncertain while it may still settle: nothing is presented or signed again', async () => {
    const payer = await holder();
    const seller = await losing(false);
    await failureOf(payer.client.fetch(seller.url, post), 'payment_uncertain');
    await failureOf(payer.client.fetch(seller.url, post), 'payment_uncertain');
    expect([seller.paid.length, payments(payer)]).toEqual([1, 1]);
  });

  it.each([true, false])(
    'is presented again, byte for byte, if the call is repeatable (settled: %s)',
    async (settles) => {
      const payer = await holder();
      const seller = await losing(settles);
      const repeatable = { ...post, repeatable: true };
      await failureOf(payer.client.fetch(seller.url, repeatable), 'payment_uncertain');
      if (settles) await settled(payer);
      const response = await payer.client.fetch(seller.url, repeatable);
      expect([response.status, await response.json()]).toEqual([200, { ok: true }]);
      const [first, second, ...more] = seller.paid.map(paymentHeader);
      expect([second, more]).toEqual([first, []]);
      expect(seller.paid.map(({ method }) => method)).toEqual(['POST', 'POST']);
      expect(payments(payer)).toBe(1);
      expect(receiptOf(response)).toBeDefined();
    },
  );

  it('is presented again only if this call is repeatable, not just the first', async () => {
    const payer = await holder();
    const seller = await losing(false);
    await failureOf(
      payer.client.fetch(seller.url, { ...post, repeatable: true }),
      'payment_uncertain',
    );
    await failureOf(payer.client.fetch(seller.url, post), 'payment_uncertain');
    expect(seller.paid.length).toBe(1);
    expect((await payer.client.fetch(seller.url, { ...post, repeatable: true })).status).toBe(200);
    expect([seller.paid.length, payments(payer)]).toEqual([2, 1]);
  });

  it('is presented again under its key, and never paid twice', async () => {
    const payer = await holder();
    const seller = await losing(true);
    const keyed = { ...post, repeatable: true, idempotencyKey: 'order' };
    await failureOf(payer.client.fetch(seller.url, keyed), 'payment_uncertain');
    expect((await payer.client.fetch(seller.url, keyed)).status).toBe(200);
    expect(new Set(seller.paid.map(paymentHeader)).size).toBe(1);
    expect(payments(payer)).toBe(1);
  });
});

describe('a seller that takes a payment and then asks again with unpayable terms', () => {
  const refusals: Readonly<Record<string, (response: ServerResponse) => void>> = {
    'unreadable terms': (response) => answerTerms(response, { x402Version: 2 }),
    'terms without an offer': (response) => answerTerms(response, envelopeV2([])),
    'a redirect of a body': (response) => void response.writeHead(307, { location: '/x' }).end(),
    'a redirect to an insecure address': (response) =>
      void response.writeHead(302, { location: 'http://shop.test/' }).end(),
  };
  /** Starts a seller with payable terms at first, and with unpayable terms after a payment. */
  const turning = async (refuse: (response: ServerResponse) => void, settles: boolean) => {
    let taken = false;
    return sellerOfTest((request, response) => {
      if (isPaid(request)) {
        taken = true;
        const settling = settles ? settle(sandbox, request) : Promise.resolve();
        return void settling.then(() => request.socket.destroy());
      }
      if (taken && request.url !== '/x') return refuse(response);
      answerTerms(response, envelopeV2([offerOf(sandbox)]));
    });
  };

  it.each(Object.entries(refusals))('cannot hide an earlier payment: %s', async (_, refuse) => {
    // The insecure address is no server of this machine.
    const fetchHere: typeof fetch = async (input, init) => {
      const response = await fetch(input, { ...init, redirect: 'manual' });
      const location = response.headers.get('location');
      if (location === null) return response;
      const led = await fetch(`${seller.url}/x`);
      const url = new URL(location, seller.url).href;
      return Object.defineProperties(led, { url: { value: url }, redirected: { value: true } });
    };
    const payer = await holder({ fetch: fetchHere });
    const seller = await turning(refuse, true);
    const lost = await failureOf(payer.client.fetch(seller.url, post), 'payment_uncertain');
    const again = await failureOf(payer.client.fetch(seller.url, post), 'already_spent');
    expect(again.funds).toBe('spent');
    expect(again.details.payerSignature).toBe(lost.details.payerSignature);
    expect([seller.paid.length, payments(payer)]).toEqual([1, 1]);
  });

  it('gets its error reported as untouched funds if no payment came before', async () => {
    const payer = await holder();
    const seller = await sellerOfTest((_, response) => answerTerms(response, { x402Version: 2 }));
    const refused = await failureOf(
      payer.client.fetch(seller.url, post),
      'malformed_payment_required',
    );
    expect([refused.funds, refused.response?.status]).toEqual(['untouched', 402]);
  });
});

describe('a seller that identifies payments', () => {
  const url = () => `${sandbox.apiUrl}/identified`;

  it.each(['GET', 'POST'])('gives a settled %s the same answer again', async (method) => {
    const payer = await holder();
    const stop = payer.client.on('payment.sent', () => {
      stop();
      sandbox.controls.api.fault('/identified', { kind: 'dropAfter', times: 1 });
    });
    const served = sandbox.controls.api.served.length;
    const lost = await failureOf(payer.client.fetch(url(), { method }), 'payment_uncertain');
    await settled(payer);
    const response = await payer.client.fetch(url(), { method });
    expect([response.status, response.headers.get('idempotency-replayed')]).toEqual([200, 'true']);
    expect(receiptOf(response)).toMatchObject({
      state: 'settled',
      payment: { payerSignature: lost.details.payerSignature },
    });
    // The handler of the seller ran once.
    expect(sandbox.controls.api.served.length).toBe(served + 1);
    expect(payments(payer)).toBe(1);
    // A delivered answer completes the purchase, so the next call pays anew.
    expect(
      (await payer.client.fetch(url(), { method })).headers.get('idempotency-replayed'),
    ).toBeNull();
    expect(payments(payer)).toBe(2);
  });

  it('serves a POST that never reached it from the same bytes', async () => {
    const payer = await holder();
    const stop = payer.client.on('payment.sent', () => {
      stop();
      sandbox.controls.api.fault('/identified', { kind: 'dropBefore', times: 1 });
    });
    await failureOf(payer.client.fetch(url(), { method: 'POST' }), 'payment_uncertain');
    const response = await payer.client.fetch(url(), { method: 'POST' });
    expect([response.status, response.headers.get('idempotency-replayed')]).toEqual([200, null]);
    expect(payments(payer)).toBe(1);
  });
});

it.each([undefined, 'order-1'])(
  'does not take an answer for lost that is read while another call looks for payments (key: %s)',
  async (idempotencyKey) => {
    const { claims, ...rest } = createCoordination();
    let reading: (() => Promise<void>) | undefined;
    let onDropped: () => void;
    const dropped = new Promise<void>((resolve) => (onDropped = resolve));
    const shared: Coordination = {
      ...rest,
      claims: {
        ...claims,
        drop: (ids) => claims.drop(ids).finally(onDropped),
        async live(ids) {
          await reading?.();
          return claims.live(ids);
        },
      },
    };
    const journal: Journal = {
      ...withCoordination(memoryJournal(), shared),
      coordination: () => shared,
    };
    const payer = await holder({ journal });
    const url = `${sandbox.apiUrl}/usdc`;
    const init = idempotencyKey === undefined ? {} : { idempotencyKey };
    const first = await payer.client.fetch(url, init);
    reading = async () => {
      reading = undefined;
      await first.text();
      await dropped;
    };
    const second = payer.client.fetch(url, init);
    if (idempotencyKey === undefined) expect((await second).status).toBe(200);
    else await failureOf(second, 'already_spent');
    const paid = idempotencyKey === undefined ? 2 : 1;
    expect(payments(payer)).toBe(paid);
    await until('all is settled', async () =>
      (await sandbox.balance(payer.address, 'USDC')) === 1_000_000n - 10_000n * BigInt(paid)
        ? true
        : undefined,
    );
  },
);

it('releases a claim that was taken in spite of an error before the next call looks', async () => {
  const { claims, ...rest } = createCoordination();
  let failing = false;
  let letGo: (() => void) | undefined;
  const shared: Coordination = {
    ...rest,
    claims: {
      ...claims,
      async take(ids) {
        await claims.take(ids);
        if (failing) throw new Error('The line was cut.');
      },
      async drop(ids) {
        if (failing) await new Promise<void>((resolve) => (letGo = resolve));
        await claims.drop(ids);
      },
    },
  };
  const journal: Journal = {
    ...withCoordination(memoryJournal(), shared),
    coordination: () => shared,
  };
  const payer = await holder({ journal });
  const seller = await losing(false);
  await failureOf(payer.client.fetch(seller.url), 'payment_uncertain');
  failing = true;
  await failureOf(payer.client.fetch(seller.url), 'payment_uncertain');
  const next = payer.client.fetch(seller.url);
  failing = false;
  await until('the next call has its terms', () =>
    payer.events.filter(({ type }) => type === 'payment.required').length === 3 ? true : undefined,
  );
  letGo?.();
  expect((await next).status).toBe(200);
  expect(payments(payer)).toBe(1);
});
