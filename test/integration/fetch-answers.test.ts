import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { encodePaymentRequiredHeader } from '@x402/core/http';
import { receiptOf } from 'exact-change';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { clientOf, newBuyer, nextEvent, type Buyer } from '../helpers/fetch-buyer.js';
import { expectSame, outcomeOf } from '../helpers/fetch-compare.js';
import { hashOf, paymentOf } from '../helpers/fetch-record.js';
import {
  askForPayment,
  startSeller,
  termsOf,
  type SellerOptions,
} from '../helpers/fetch-seller.js';
import { failureOf } from '../helpers/payer.js';
import { PRICE, startTwins, type Recorder, type Twins } from '../helpers/fetch-twins.js';
import { useSandbox } from '../helpers/sandbox.js';

/** Asks the seller to answer the paid request with 402 too. */
const REFUSED = { headers: { 'x-refused': 'yes' } };
const MEGABYTE = 1024 * 1024;
const large = Buffer.alloc(12 * MEGABYTE, 'abcdefghijklmnopqrstuvwxyz');

const sandbox = await useSandbox({ slotMs: 20, confirmationMs: 0 });
let twins: Twins;
let buyer: Buyer;

beforeAll(async () => {
  twins = await startTwins(sandbox, (request, response) => {
    switch (request.path) {
      case '/paid/empty':
        return void response.status(204).end();
      case '/paid/created':
        return void response
          .status(201)
          .set({ location: '/paid/1', etag: '"x"', 'set-cookie': 'a=b' })
          .json({ id: 1 });
      case '/paid/zipped':
        return void response
          .set({ 'content-encoding': 'gzip', 'content-type': 'text/plain' })
          .end(gzipSync('zipped text '.repeat(500)));
      case '/paid/large':
        return void response.set('content-type', 'application/octet-stream').end(large);
      case '/paid/reason':
        response.statusMessage = 'Quite All Right';
        return void response.end('ok');
      case '/paid/repeat':
        return void response
          .setHeader('x-many', ['a', 'b'])
          .appendHeader('vary', 'accept')
          .end('many');
      case '/paid/echo':
        return void response.end(request.body);
      default:
        return void response
          .status(Number(request.path.slice('/paid/status/'.length)))
          .end(`the body of ${request.path}`);
    }
  });
});

beforeEach(async () => {
  buyer = await newBuyer(sandbox);
});

afterAll(async () => {
  await twins.close();
});

async function seller(options: SellerOptions): Promise<Recorder> {
  const started = await startSeller(sandbox, options);
  onTestFinished(() => started.close());
  return started;
}

describe('the answer to a paid request', () => {
  it.each([
    'empty',
    'created',
    'zipped',
    'reason',
    'repeat',
    'status/203',
    'status/299',
    'status/304',
  ])('equals the answer of plain fetch: %s', async (path) => {
    await expectSame(twins, buyer, (fetch, origin) => fetch(`${origin}/paid/${path}`));
  });

  it('equals the answer of plain fetch with a body of 12 MiB', async () => {
    const { outcome } = await expectSame(twins, buyer, (fetch, origin) =>
      fetch(`${origin}/paid/large`),
    );
    expect(outcome.body).toEqual({ bytes: large.length, sha256: hashOf(large) });
  });

  it('has the URL of the request without its fragment', async () => {
    const { client } = buyer;
    const response = await client.fetch(`${twins.paid.url}/paid/created?a=%20b#part`);
    expect([response.url, response.redirected, response.type]).toEqual([
      `${twins.paid.url}/paid/created?a=%20b`,
      false,
      'basic',
    ]);
    expect(response.headers.getSetCookie()).toEqual(['a=b']);
    expect(receiptOf(response)).toMatchObject({
      url: `${twins.paid.url}/paid/created?a=%20b`,
      method: 'GET',
    });
  });

  it('is a Response with an unread body', async () => {
    const response = await buyer.client.fetch(`${twins.paid.url}/paid/created`);
    expect([response instanceof Response, response.bodyUsed, response.body?.locked]).toEqual([
      true,
      false,
      false,
    ]);
    expect(await response.json()).toEqual({ id: 1 });
    await expect(response.text()).rejects.toThrow(TypeError);
  });

  it.each(['created', 'empty', 'status/500'])(
    'has its receipt on the returned object and its clones: %s',
    async (path) => {
      const response = await buyer.client.fetch(`${twins.paid.url}/paid/${path}`);
      const copies = [response.clone(), response.clone().clone()];
      const receipt = receiptOf(response);
      expect(receipt).toMatchObject({
        payment: { amount: PRICE.toString(), payer: buyer.wallet.address },
      });
      expect(copies.map((copy) => receiptOf(copy))).toEqual([receipt, receipt]);
      expect(receiptOf(new Response(null, response))).toBeUndefined();
      const text = await response.text();
      for (const copy of copies) expect(await copy.text()).toBe(text);
      const free = await fetch(`${twins.free.url}/paid/${path}`);
      expect(receiptOf(free.clone())).toBeUndefined();
    },
  );

  it.each(['created', 'empty'])('arrives if a fetch froze it: %s', async (path) => {
    const frozen = async (...request: Parameters<typeof fetch>) =>
      Object.freeze(await fetch(...request));
    const client = clientOf(sandbox, buyer.wallet, { fetch: frozen });
    const response = await client.fetch(`${twins.paid.url}/paid/${path}`);
    expect(receiptOf(response)).toMatchObject({ payment: { amount: PRICE.toString() } });
    expect(await response.text()).toBe(path === 'empty' ? '' : '{"id":1}');
  });

  it('has a receipt that follows the chain', async () => {
    const settled = nextEvent(buyer.client, 'payment.settled');
    const response = await buyer.client.fetch(`${twins.paid.url}/paid/created`);
    const early = receiptOf(response);
    const { receipt } = await settled;
    expect(receiptOf(response)).toEqual(receipt);
    expect(receipt).toMatchObject({
      id: early?.id,
      state: 'settled',
      payment: { signature: early?.settlement?.transaction },
    });
  });

  it('streams its body: the first part is readable before the second is sent', async () => {
    let goOn = (): void => undefined;
    const released = new Promise<void>((resolve) => (goOn = resolve));
    const { url } = await seller({
      serve: (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write('first');
        void released.then(() => response.end('second'));
      },
    });
    const response = await buyer.client.fetch(url);
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    expect(await reader?.read()).toEqual({ done: false, value: 'first' });
    goOn();
    expect(await reader?.read()).toEqual({ done: false, value: 'second' });
    expect(await reader?.read()).toEqual({ done: true, value: undefined });
  });

  it('may stream for longer than timeouts.payment', async () => {
    const timeouts = { payment: 60_000 };
    const patient = await newBuyer(sandbox, { timeouts });
    let goOn = (): void => undefined;
    const { url } = await seller({
      settles: false,
      serve: (_request, response) => {
        response.write('first ');
        goOn = () => void response.end('second');
      },
    });
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'], shouldAdvanceTime: true });
    onTestFinished(() => void vi.useRealTimers());
    const response = await patient.client.fetch(url);
    await vi.advanceTimersByTimeAsync(timeouts.payment + 200);
    goOn();
    expect(await response.text()).toBe('first second');
  });

  it('fails as with plain fetch when the connection breaks', async () => {
    const broken: SellerOptions['serve'] = (_request, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('half', () => response.destroy());
    };
    const { url } = await seller({ serve: broken });
    const { url: freeUrl } = await seller({ refuse: broken });
    const [paid, plain] = await Promise.all([buyer.client.fetch(url), fetch(freeUrl)]);
    const why = (error: unknown): string => String(error);
    expect(await paid.text().catch(why)).toBe(await plain.text().catch(why));
    expect(await buyer.spent()).toBe(PRICE);
  });
});

describe('an answer other than 2xx', () => {
  it.each([400, 401, 403, 404, 409, 429, 500, 503])(
    'returns a %d unchanged, and the official middleware settles nothing',
    async (status) => {
      const plain = await outcomeOf(await fetch(`${twins.free.url}/paid/status/${status}`));
      const response = await buyer.client.fetch(`${twins.paid.url}/paid/status/${status}`);
      expect(receiptOf(response)).toMatchObject({
        state: 'uncertain',
        payment: { amount: PRICE.toString() },
      });
      expect(await outcomeOf(response)).toEqual(plain);
      expect(await buyer.spent()).toBe(0n);
    },
  );

  it('is unsettled after the payment expired, and the next call signs anew (500)', async () => {
    const unsettled = nextEvent(buyer.client, 'payment.unsettled');
    const response = await buyer.client.fetch(`${twins.paid.url}/paid/status/500`);
    sandbox.controls.node.warp();
    const { receipt } = await unsettled;
    expect(receiptOf(response)).toEqual(receipt);
    expect(receipt).toMatchObject({ state: 'unsettled' });
    expect(receipt.payment.signature).toBeUndefined();
    // The warp moved the chain and not the clock, so the first client would use an old blockhash.
    // Use another client of the same wallet.
    const again = clientOf(sandbox, buyer.wallet);
    const answer = await again.fetch(`${twins.paid.url}/paid/status/500`);
    expect(receiptOf(answer)?.payment.payerSignature).not.toBe(receipt.payment.payerSignature);
    expect(await buyer.spent()).toBe(0n);
  });

  it('has a settled receipt when the seller settled before it answered 500', async () => {
    const { url } = await seller({
      serve: (_request, response) => void response.writeHead(500).end('broken'),
    });
    const settled = nextEvent(buyer.client, 'payment.settled');
    const response = await buyer.client.fetch(url);
    expect([response.status, await response.text()]).toEqual([500, 'broken']);
    await settled;
    expect(receiptOf(response)).toMatchObject({ state: 'settled', settlement: { success: true } });
    expect(await buyer.spent()).toBe(PRICE);
  });
});

describe('several calls', () => {
  it('are separate purchases in parallel, each with its own answer and receipt', async () => {
    const texts = Array.from({ length: 12 }, (_, index) => `call ${index}`);
    const responses = await Promise.all(
      texts.map((body) =>
        buyer.client.fetch(`${twins.paid.url}/paid/echo`, { method: 'POST', body }),
      ),
    );
    expect(await Promise.all(responses.map((response) => response.text()))).toEqual(texts);
    expect(
      new Set(responses.map((response) => receiptOf(response)?.payment.payerSignature)).size,
    ).toBe(texts.length);
    expect(await buyer.spent()).toBe(PRICE * BigInt(texts.length));
  });

  it('are separate purchases even when they are equal and parallel', async () => {
    const responses = await Promise.all(
      Array.from({ length: 5 }, () => buyer.client.fetch(`${twins.paid.url}/paid/created`)),
    );
    expect(responses.map(({ status }) => status)).toEqual([201, 201, 201, 201, 201]);
    expect(await buyer.spent()).toBe(5n * PRICE);
  });

  it('share a connection in sequence, as with plain fetch', async () => {
    const ports = new Set<number | undefined>();
    const note: SellerOptions['refuse'] = (request) => void ports.add(request.socket.remotePort);
    const { url, seen } = await seller({
      serve: (request, response, body) => {
        note(request, response, body);
        response.end('x'.repeat(100_000));
      },
    });
    for (let turn = 0; turn < 10; turn += 1)
      expect((await (await buyer.client.fetch(url)).text()).length).toBe(100_000);
    expect(seen.filter((request) => paymentOf(request) !== undefined)).toHaveLength(10);
    // The caller may still read the body of the 402, but a small unread body must not hold a
    // connection.
    expect(ports.size).toBe(1);
  });

  it.each<[string, (url: string) => Promise<unknown>]>([
    ['paid', async (url) => (await buyer.client.fetch(url)).text()],
    ['planned', (url) => buyer.client.plan(url)],
    ['paid in vain', (url) => failureOf(buyer.client.fetch(url, REFUSED), 'payment_rejected')],
  ])('leave no connection open for the unread page of a 402 that is %s', async (_, call) => {
    const open = new Set<Socket>();
    const page = '<p>pay</p>'.repeat(100_000);
    const { url } = await seller({
      refuse: (request, response) => {
        open.add(request.socket);
        request.socket.once('close', () => open.delete(request.socket));
        const header = encodePaymentRequiredHeader(termsOf(sandbox));
        response
          .writeHead(402, { 'content-type': 'text/html', 'payment-required': header })
          .end(page);
      },
      serve: (request, response) =>
        void response.writeHead(request.headers['x-refused'] === undefined ? 200 : 402).end(),
    });
    for (let turn = 0; turn < 10; turn += 1) await call(`${url}/${turn}`);
    await expect.poll(() => open.size).toBeLessThanOrEqual(2);
  });
});

describe('a seller that is busy before its 402', () => {
  /** A seller that answers 503, then closes the connection, then answers 402. */
  async function busySeller(): Promise<Recorder> {
    let requests = 0;
    return seller({
      refuse: (request, response) => {
        requests += 1;
        if (requests === 1) response.writeHead(503, { 'retry-after': '0' }).end('busy');
        else if (requests === 2) request.socket.destroy();
        else askForPayment(response, termsOf(sandbox));
      },
    });
  }
  const payments = ({ seen }: Recorder) => seen.map((request) => paymentOf(request) !== undefined);

  it.each(['GET', 'HEAD'])('is asked again by %s, and paid once', async (method) => {
    const busy = await busySeller();
    const response = await buyer.client.fetch(busy.url, { method });
    expect([response.status, await buyer.spent()]).toEqual([200, PRICE]);
    expect(payments(busy)).toEqual([false, false, false, true]);
  });

  it('is not asked again by a POST or with retries: 0', async () => {
    const [first, second] = [await busySeller(), await busySeller()];
    expect((await buyer.client.fetch(first.url, { method: 'POST', body: 'x' })).status).toBe(503);
    const once = clientOf(sandbox, buyer.wallet, { retries: 0 });
    expect((await once.fetch(second.url)).status).toBe(503);
    expect([payments(first), payments(second), await buyer.spent()]).toEqual([
      [false],
      [false],
      0n,
    ]);
  });

  it('is not asked again after a request with a payment header', async () => {
    const busy = await seller({
      serve: (_request, response) => response.writeHead(503, { 'retry-after': '0' }).end('busy'),
    });
    expect((await buyer.client.fetch(busy.url)).status).toBe(503);
    expect([payments(busy), await buyer.spent()]).toEqual([[false, true], PRICE]);
  });
});
