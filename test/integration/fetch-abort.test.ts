import { isExactChangeError, receiptOf } from 'exact-change';
import type { ServerResponse } from 'node:http';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { failureOf, newBuyer, nextEvent, type Buyer } from '../helpers/fetch-buyer.js';
import { paymentOf } from '../helpers/fetch-record.js';
import { startSeller, type SellerOptions } from '../helpers/fetch-seller.js';
import { PRICE, type Recorder } from '../helpers/fetch-twins.js';
import { useSandbox } from '../helpers/sandbox.js';
import { UNUSED, usedByCap } from '../helpers/worth.js';

const sandbox = await useSandbox({ slotMs: 20, confirmationMs: 0 });
let buyer: Buyer;

beforeEach(async () => {
  buyer = await newBuyer(sandbox);
});

async function seller(options: SellerOptions = {}): Promise<Recorder> {
  const started = await startSeller(sandbox, options);
  onTestFinished(() => started.close());
  return started;
}

/** A handler that never answers, and a promise of its first response. */
function silent(): { handle: NonNullable<SellerOptions['serve']>; asked: Promise<ServerResponse> } {
  let note: (response: ServerResponse) => void;
  const asked = new Promise<ServerResponse>((resolve) => (note = resolve));
  return { handle: (_request, response) => note(response), asked };
}

describe('a signal that aborts before the call', () => {
  const reasons: [string, unknown][] = [
    ['no reason', undefined],
    ['an error', new Error('mine')],
    ['text', 'mine'],
    ['null', null],
  ];

  it.each(reasons)('rejects as plain fetch does and sends nothing: %s', async (_name, reason) => {
    const { url, seen } = await seller();
    const signal = AbortSignal.abort(reason);
    const plain = await failureOf(fetch(url, { signal }));
    expect(await failureOf(buyer.client.fetch(url, { signal }))).toBe(plain);
    expect(plain).toBe(signal.reason);
    expect(seen).toEqual([]);
  });

  it('rejects when a Request holds it, unless init.signal is null', async () => {
    const { url, seen } = await seller();
    const request = (): Request => new Request(url, { signal: AbortSignal.abort('mine') });
    expect(await failureOf(buyer.client.fetch(request()))).toBe('mine');
    expect(seen).toEqual([]);
    expect((await buyer.client.fetch(request(), { signal: null })).status).toBe(200);
    expect(await buyer.spent()).toBe(PRICE);
  });
});

describe('a signal that aborts before the payment is sent', () => {
  it.each(['GET', 'POST'])('rejects a %s that waits for its first answer', async (method) => {
    const { handle, asked } = silent();
    const { url, seen } = await seller({ refuse: handle });
    const controller = new AbortController();
    const init = {
      method,
      signal: controller.signal,
      ...(method === 'POST' ? { body: 'a body' } : {}),
    };
    const failure = failureOf(buyer.client.fetch(url, init));
    await asked;
    controller.abort();
    expect(await failure).toBe(controller.signal.reason);
    expect(seen).toHaveLength(1);
  });

  it('rejects while the body of the 402 arrives', async () => {
    let begun = (): void => undefined;
    const started = new Promise<void>((resolve) => (begun = resolve));
    const { url } = await seller({
      refuse: (_request, response) => {
        response.writeHead(402, { 'content-type': 'application/json' });
        response.write('{"x402Version":1,', () => begun());
      },
    });
    const controller = new AbortController();
    const failure = failureOf(buyer.client.fetch(url, { signal: controller.signal }));
    await started;
    controller.abort('mine');
    expect(await failure).toBe('mine');
  });

  it.each(['payment.required', 'payment.chosen', 'balance.checked'] as const)(
    'rejects at %s and leaves no reservation',
    async (step) => {
      const { url, seen } = await seller();
      const controller = new AbortController();
      buyer.client.on(step, () => controller.abort('mine'));
      expect(await failureOf(buyer.client.fetch(url, { signal: controller.signal }))).toBe('mine');
      expect(seen.map(paymentOf)).toEqual([undefined]);
      expect(await usedByCap(buyer.client)).toEqual(UNUSED);
      // No reservation or hold is left, so the next call is paid.
      expect((await buyer.client.fetch(url)).status).toBe(200);
      expect(await buyer.spent()).toBe(PRICE);
    },
  );

  it('rejects at payment.signed, and the signed payment is not sent', async () => {
    const { url, seen } = await seller();
    const controller = new AbortController();
    buyer.client.on('payment.signed', () => controller.abort('mine'));
    expect(await failureOf(buyer.client.fetch(url, { signal: controller.signal }))).toBe('mine');
    expect(seen.map(paymentOf)).toEqual([undefined]);
    expect(await buyer.spent()).toBe(0n);
  });
});

describe('a signal that aborts during the paid request', () => {
  it('rejects at once with its reason, and the receipt follows the chain', async () => {
    const { handle, asked } = silent();
    const { url } = await seller({ serve: handle });
    const settled = nextEvent(buyer.client, 'payment.settled');
    const controller = new AbortController();
    const failure = failureOf(buyer.client.fetch(url, { signal: controller.signal }));
    await asked;
    controller.abort();
    expect(await failure).toBe(controller.signal.reason);
    const { receipt } = await settled;
    expect(receipt).toMatchObject({ state: 'settled', payment: { amount: PRICE.toString() } });
    expect(await buyer.spent()).toBe(PRICE);
  });

  it('does not let a repeated call pay twice', async () => {
    let silence = true;
    const { handle, asked } = silent();
    const { url } = await seller({
      serve: (request, response, body) =>
        silence ? handle(request, response, body) : void response.end('served'),
    });
    const settled = nextEvent(buyer.client, 'payment.settled');
    const controller = new AbortController();
    const failure = failureOf(buyer.client.fetch(url, { signal: controller.signal }));
    await asked;
    controller.abort();
    await failure;
    silence = false;
    await settled;
    const error = await failureOf(buyer.client.fetch(url));
    if (!isExactChangeError(error, 'already_spent')) throw error;
    expect([error.funds, error.moved.length]).toEqual(['spent', 1]);
    expect(await buyer.spent()).toBe(PRICE);
    expect((await buyer.client.fetch(url, { idempotencyKey: 'another' })).status).toBe(200);
    expect(await buyer.spent()).toBe(2n * PRICE);
  });

  it('presents the same payment again to a seller that had not settled it', async () => {
    let silence = true;
    const { handle, asked } = silent();
    const { url, seen } = await seller({
      settles: false,
      serve: (request, response, body) =>
        silence ? handle(request, response, body) : void response.end('served'),
    });
    const controller = new AbortController();
    const failure = failureOf(buyer.client.fetch(url, { signal: controller.signal }));
    await asked;
    controller.abort();
    await failure;
    silence = false;
    const response = await buyer.client.fetch(url);
    expect([response.status, await response.text()]).toEqual([200, 'served']);
    const payments = seen.map(paymentOf).filter((payment) => payment !== undefined);
    expect([payments.length, new Set(payments).size]).toEqual([2, 1]);
    expect(receiptOf(response)).toMatchObject({ state: 'pending' });
  });
});

describe('a signal that aborts after the response has arrived', () => {
  const slowly: SellerOptions['serve'] = (_request, response) => void response.write('first');

  it('ends the body with the error of plain fetch', async () => {
    const { url } = await seller({ serve: slowly });
    const { url: freeUrl } = await seller({ refuse: slowly });
    const read = async (call: typeof fetch, at: string): Promise<unknown> => {
      const controller = new AbortController();
      const response = await call(at, { signal: controller.signal });
      const reader = response.body?.getReader();
      await reader?.read();
      const failure = failureOf(Promise.resolve(reader?.read()));
      controller.abort();
      return failure;
    };
    const [paid, plain] = [await read(buyer.client.fetch, url), await read(fetch, freeUrl)];
    expect(paid).toBeInstanceOf(DOMException);
    expect(String(paid)).toBe(String(plain));
    expect(await buyer.spent()).toBe(PRICE);
  });

  it('ends the body with the reason of the caller, as plain fetch does', async () => {
    const { url } = await seller({ serve: slowly });
    const { url: freeUrl } = await seller({ refuse: slowly });
    const read = async (call: typeof fetch, at: string, reason: Error): Promise<unknown> => {
      const controller = new AbortController();
      const response = await call(at, { signal: controller.signal });
      const text = failureOf(response.text());
      controller.abort(reason);
      return text;
    };
    const reason = new Error('mine');
    expect(await read(buyer.client.fetch, url, reason)).toBe(await read(fetch, freeUrl, reason));
  });

  it('ends the body when the signal comes from a Request', async () => {
    const { url } = await seller({ serve: slowly });
    const controller = new AbortController();
    const response = await buyer.client.fetch(
      new Request(url, { method: 'POST', body: 'x', signal: controller.signal }),
    );
    const text = failureOf(response.text());
    controller.abort();
    expect(await text).toMatchObject({ name: 'AbortError' });
    expect(receiptOf(response)).toMatchObject({ payment: { amount: PRICE.toString() } });
  });

  it('does not change a response with a read body', async () => {
    const { url } = await seller();
    const controller = new AbortController();
    const settled = nextEvent(buyer.client, 'payment.settled');
    const response = await buyer.client.fetch(url, { signal: controller.signal });
    const text = await response.text();
    controller.abort();
    await settled;
    expect([text, receiptOf(response)?.state]).toEqual(['served', 'settled']);
  });
});

describe('a 402 with a body that does not end', () => {
  const endless = (type: string, start: string): NonNullable<SellerOptions['refuse']> => {
    return (_request, response) => {
      response.writeHead(402, { 'content-type': type });
      response.write(start);
    };
  };
  const json = endless('application/json', '{"error":');

  // Node 20 and 22 end the process by such a rejection.
  async function unhandledBy(abort: () => Promise<unknown>): Promise<unknown[]> {
    const unhandled = vi.fn();
    process.on('unhandledRejection', unhandled);
    onTestFinished(() => void process.off('unhandledRejection', unhandled));
    await abort();
    await new Promise((resolve) => setImmediate(resolve));
    return unhandled.mock.calls;
  }

  it.each([
    ['its deadline passes', { timeouts: { payment: 200 } }, undefined],
    ['its caller gives up', {}, 200],
  ])('leaves no rejection unhandled when it answers a payment and %s', async (_, options, ms) => {
    const { url } = await seller({ settles: false, serve: json });
    const { client } = await newBuyer(sandbox, options);
    const init = ms === undefined ? {} : { signal: AbortSignal.timeout(ms) };
    expect(await unhandledBy(() => failureOf(client.fetch(url, init)))).toEqual([]);
  });

  it.each([
    ['that is a page', endless('text/html', '<html>'), {}],
    ['that comes too late', json, { timeouts: { terms: 50 } }],
  ])('leaves no rejection unhandled when its caller aborts it: %s', async (_, refuse, options) => {
    const { url } = await seller({ refuse });
    const { client } = await newBuyer(sandbox, options);
    const controller = new AbortController();
    expect((await client.fetch(url, { signal: controller.signal })).status).toBe(402);
    const abort = () => Promise.resolve(controller.abort('mine'));
    expect(await unhandledBy(abort)).toEqual([]);
  });
});
