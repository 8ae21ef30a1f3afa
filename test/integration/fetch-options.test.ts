import { Readable } from 'node:stream';
import { createClient, receiptOf } from 'exact-change';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { failureOf, newBuyer, type Buyer } from '../helpers/fetch-buyer.js';
import { expectSame } from '../helpers/fetch-compare.js';
import { paymentOf } from '../helpers/fetch-record.js';
import { PRICE, startTwins, type Twins } from '../helpers/fetch-twins.js';
import { useSandbox } from '../helpers/sandbox.js';

const sandbox = await useSandbox({ slotMs: 20, confirmationMs: 0 });
let twins: Twins;
let buyer: Buyer;

beforeAll(async () => {
  twins = await startTwins(
    sandbox,
    (request, response) =>
      void response.send(`${request.method} ${(request.body as Buffer).length}`),
  );
});

beforeEach(async () => {
  buyer = await newBuyer(sandbox);
  twins.forget();
});

afterAll(async () => {
  await twins.close();
});

/** Returns the visible parts of an error and of its causes. */
function partsOf(error: unknown): unknown[] {
  if (!(error instanceof Error)) return [error];
  const { name, message, cause } = error;
  const code: unknown = Reflect.get(error, 'code');
  return [
    error.constructor.name,
    name,
    message,
    code,
    ...(cause === undefined ? [] : partsOf(cause)),
  ];
}

describe('an argument that plain fetch refuses', () => {
  const stream = (): ReadableStream =>
    new ReadableStream({ start: (controller) => controller.close() });
  const read = async (): Promise<Request> => {
    const request = new Request(twins.paid.url, { method: 'POST', body: 'x' });
    await request.text();
    return request;
  };
  const cases: [string, () => unknown, (() => unknown)?][] = [
    ['a relative URL', () => '/paid/a'],
    ['an empty URL', () => ''],
    ['no URL', () => undefined],
    ['an invalid URL', () => 'http://'],
    ['a URL with a password', () => 'http://user:password@127.0.0.1/'],
    ['an unknown scheme', () => 'gopher://127.0.0.1/'],
    ['a blocked port', () => 'http://127.0.0.1:22/'],
    ['a refused connection', () => 'http://127.0.0.1:1/'],
    ['an invalid host', () => 'http://a b/'],
    ['GET with a body', () => twins.paid.url, () => ({ body: 'x' })],
    ['HEAD with a body', () => twins.paid.url, () => ({ method: 'HEAD', body: 'x' })],
    ['a forbidden method', () => twins.paid.url, () => ({ method: 'TRACE' })],
    ['an invalid method', () => twins.paid.url, () => ({ method: 'A B' })],
    ['an invalid header name', () => twins.paid.url, () => ({ headers: { 'a b': '1' } })],
    ['an invalid header value', () => twins.paid.url, () => ({ headers: { a: '\n\u0000' } })],
    ['a header pair without a value', () => twins.paid.url, () => ({ headers: [['a']] })],
    ['a text as init', () => twins.paid.url, () => 'POST'],
    ['an unknown redirect', () => twins.paid.url, () => ({ redirect: 'maybe' })],
    ['an unknown cache', () => twins.paid.url, () => ({ cache: 'maybe' })],
    ['the mode of a page', () => twins.paid.url, () => ({ mode: 'navigate' })],
    ['an object as signal', () => twins.paid.url, () => ({ signal: {} })],
    ['a stream without duplex', () => twins.paid.url, () => ({ method: 'POST', body: stream() })],
    ['a used Request', read],
    ['a window', () => twins.paid.url, () => ({ window: {} })],
  ];

  it.each(cases)(
    'is refused with the same error, and sends nothing: %s',
    async (_name, input, init = () => undefined) => {
      const [first, second] = [await input(), await input()] as [string, string];
      const plain = await failureOf(fetch(first, init() as RequestInit));
      const error = await failureOf(buyer.client.fetch(second, init() as RequestInit));
      expect(partsOf(error)).toEqual(partsOf(plain));
      expect(twins.paid.seen).toEqual([]);
    },
  );

  it('rejects the promise and never throws synchronously', async () => {
    const calls = [undefined, '/paid/a', Symbol('x')].map((input) =>
      buyer.client.fetch(input as unknown as string),
    );
    for (const error of await Promise.all(calls.map(failureOf)))
      expect(error).toBeInstanceOf(TypeError);
  });
});

describe('a URL that plain fetch serves without a server', () => {
  it.each(['data:text/plain,hello', 'data:application/json;base64,e30='])(
    'gives the answer of plain fetch: %s',
    async (url) => {
      const [response, plain] = [await buyer.client.fetch(url), await fetch(url)];
      expect([response.status, response.url, await response.text()]).toEqual([
        plain.status,
        plain.url,
        await plain.text(),
      ]);
      expect(response.headers.get('content-type')).toBe(plain.headers.get('content-type'));
    },
  );

  it('gives the content of a blob: URL', async () => {
    const url = URL.createObjectURL(new Blob(['hello']));
    expect(await (await buyer.client.fetch(url)).text()).toBe('hello');
  });
});

describe('init beyond the standard', () => {
  /** A dispatcher that notes each path and passes the request to the runtime's dispatcher. */
  function countingDispatcher(): { dispatcher: object; paths: string[] } {
    const global = Reflect.get(globalThis, Symbol.for('undici.globalDispatcher.1')) as {
      dispatch(...args: unknown[]): boolean;
    };
    const paths: string[] = [];
    const dispatch = (options: { path: string }, handler: unknown): boolean => {
      paths.push(options.path);
      return global.dispatch(options, handler);
    };
    return { dispatcher: { dispatch }, paths };
  }

  it('sends the unpaid and the paid request through a dispatcher', async () => {
    const { dispatcher, paths } = countingDispatcher();
    await expectSame(twins, buyer, (fetch, origin) =>
      fetch(`${origin}/paid/a`, { dispatcher } as object),
    );
    expect(paths).toEqual(['/paid/a', '/paid/a', '/paid/a']);
  });

  it('sends a body through a dispatcher', async () => {
    const { dispatcher, paths } = countingDispatcher();
    await expectSame(twins, buyer, (fetch, origin) =>
      fetch(`${origin}/paid/a`, { method: 'POST', body: 'x', dispatcher } as object),
    );
    expect(paths).toHaveLength(3);
  });

  it('sends both requests through the dispatcher of a Request', async () => {
    const { dispatcher, paths } = countingDispatcher();
    await expectSame(twins, buyer, (fetch, origin) =>
      fetch(new Request(`${origin}/paid/a#part`, { dispatcher } as object)),
    );
    expect(paths).toHaveLength(3);
    const init = { method: 'POST', body: 'x', dispatcher };
    await expectSame(twins, buyer, (fetch, origin) => fetch(new Request(`${origin}/paid/a`, init)));
    expect(paths).toHaveLength(6);
  });

  it.each<[string, RequestInit]>([
    ['credentials', { credentials: 'include' }],
    ['mode', { mode: 'cors' }],
    ['mode no-cors', { mode: 'no-cors' }],
    ['referrer', { referrer: 'about:client', referrerPolicy: 'no-referrer' }],
    ['keepalive', { keepalive: true }],
    ['integrity', { integrity: '' }],
    ['priority', { priority: 'high' }],
    ['no body', { method: 'POST', body: null }],
    [
      'undefined fields',
      {
        method: undefined,
        headers: undefined,
        body: undefined,
        signal: undefined,
      } as unknown as RequestInit,
    ],
    ['unknown fields', { next: { revalidate: 1 }, cf: {} } as RequestInit],
  ])('is passed to both requests: %s', async (_name, init) => {
    await expectSame(twins, buyer, (fetch, origin) => fetch(`${origin}/paid/a`, init));
  });

  it('keeps the referrer of a Request', async () => {
    const init = { referrer: 'http://page.test/a?b', referrerPolicy: 'unsafe-url' } as const;
    await expectSame(twins, buyer, (fetch, origin) => fetch(new Request(`${origin}/paid/a`, init)));
    expect(twins.paid.seen.map(({ headers }) => headers['referer'])).toEqual([
      'http://page.test/a?b',
      'http://page.test/a?b',
    ]);
  });

  it('passes cache to the unpaid request only; the paid request bypasses caches', async () => {
    await expectSame(
      twins,
      buyer,
      (fetch, origin) => fetch(`${origin}/paid/a`, { cache: 'no-cache' }),
      { except: ['cache-control'] },
    );
    expect(twins.paid.seen.map(({ headers }) => headers['cache-control'])).toEqual([
      'max-age=0',
      'no-cache',
    ]);
  });

  it('sends an Idempotency-Key header in both requests, but no idempotencyKey', async () => {
    await expectSame(twins, buyer, (call, origin) =>
      origin === twins.free.url
        ? call(`${origin}/paid/a`)
        : call(`${origin}/paid/a`, { idempotencyKey: 'mine' }),
    );
    await expectSame(twins, buyer, (call, origin) =>
      call(`${origin}/paid/b`, { headers: { 'idempotency-key': 'other' } }),
    );
  });
});

describe('the fetch option', () => {
  it("sends every request, the first with the caller's arguments", async () => {
    const calls: [unknown, RequestInit | undefined][] = [];
    const own = await newBuyer(sandbox, {
      fetch: (input, init) => {
        calls.push([input, init]);
        return fetch(input, init);
      },
    });
    const url = new URL('/paid/a', twins.paid.url);
    const init = { method: 'POST', body: 'x', headers: { a: 'b' } };
    const response = await own.client.fetch(url, init);
    expect([response.status, await own.spent()]).toEqual([200, PRICE]);
    expect(calls[0]).toEqual([url, init]);
    expect([calls[0]?.[0], calls[0]?.[1]]).toEqual([url, init]);
    const paid = calls.find(([, sent]) => new Headers(sent?.headers).has('payment-signature'));
    expect(paid).toMatchObject([
      url.href,
      { method: 'POST', redirect: 'manual', cache: 'no-store' },
    ]);
    expect(
      calls.filter(([input]) => String(input).startsWith(sandbox.rpcUrl)).length,
    ).toBeGreaterThan(0);
  });

  it('may return a Response that it made itself', async () => {
    const made = new Response('made');
    const { client } = await newBuyer(sandbox, { fetch: async () => made });
    expect(await client.fetch('https://seller.test/')).toBe(made);
  });

  it('is refused before a payment when its bodies are streams of Node', async () => {
    const { client, spent } = await newBuyer(sandbox, {
      fetch: async (...args) => {
        const response = await fetch(...args);
        return Object.defineProperty(response, 'body', { value: Readable.from(['{}']) });
      },
    });
    const refused = { code: 'invalid_option', funds: 'untouched', details: { option: 'fetch' } };
    expect(await failureOf(client.fetch(`${twins.paid.url}/paid/a`))).toMatchObject(refused);
    expect(await failureOf(client.plan(`${twins.paid.url}/paid/a`))).toMatchObject(refused);
    expect((await client.fetch(`${sandbox.apiUrl}/free`)).status).toBe(200);
    expect(await spent()).toBe(0n);
  });

  it('reads balances, quotes and swaps when its bodies are streams of Node', async () => {
    const fetch: typeof globalThis.fetch = async (...args) => {
      const response = await globalThis.fetch(...args);
      return Object.defineProperty(response, 'body', { value: Readable.from(['{}']) });
    };
    const { client } = await newBuyer(sandbox, { fetch }, { USDC: '5', SOL: '0.1' });
    expect(await client.balance(['USDC'])).toMatchObject([{ uiAmount: '5' }]);
    const request = { inputMint: 'USDC', outputMint: 'SOL', uiAmount: '1' };
    expect(await client.quote(request)).toMatchObject({ inAmount: '1000000' });
    expect(await client.swap(request)).toMatchObject({ inAmount: '1000000' });
  });

  it('rejects the call with its own error when it fails', async () => {
    const reason = new Error('mine');
    const { client } = await newBuyer(sandbox, { fetch: () => Promise.reject(reason) });
    expect(await failureOf(client.fetch('https://seller.test/'))).toBe(reason);
  });

  it('defaults to the global fetch at the time of the call', async () => {
    const before = globalThis.fetch;
    onTestFinished(() => void (globalThis.fetch = before));
    const seen: string[] = [];
    globalThis.fetch = (input, init) => {
      seen.push(input instanceof Request ? input.url : String(input));
      return before(input, init);
    };
    await buyer.client.fetch(`${twins.paid.url}/paid/a`);
    expect(seen.filter((url) => url === `${twins.paid.url}/paid/a`)).toHaveLength(2);
  });
});

describe('client.fetch', () => {
  it('works without its client as receiver', async () => {
    const { fetch: pay } = buyer.client;
    const response = await pay(`${twins.paid.url}/paid/a`);
    expect([response.status, receiptOf(response)?.payment.amount]).toEqual([200, PRICE.toString()]);
  });

  it('asks no node or service before the first payment', async () => {
    const requests: unknown[] = [];
    const client = createClient({
      walletSecretKey: buyer.wallet.secretKey,
      rpcUrl: 'http://127.0.0.1:1',
      fetch: (input, init) => {
        requests.push(input);
        return fetch(input, init);
      },
    });
    onTestFinished(() => client.close());
    expect(requests).toEqual([]);
    const response = await client.fetch(`${twins.free.url}/paid/a`);
    expect([response.status, requests]).toEqual([200, [`${twins.free.url}/paid/a`]]);
  });
});

describe('a body that is too large to send twice', () => {
  const large = new Uint8Array(1024 * 1024 + 1);

  it('is refused before the payment', async () => {
    const error = await failureOf(
      buyer.client.fetch(`${twins.paid.url}/paid/a`, { method: 'POST', body: large }),
    );
    expect(error).toMatchObject({
      code: 'body_not_replayable',
      funds: 'untouched',
      details: { limitBytes: 1024 * 1024 },
    });
    expect(twins.paid.seen.map((request) => [request.body.length, paymentOf(request)])).toEqual([
      [large.length, undefined],
    ]);
    expect(await buyer.spent()).toBe(0n);
  });

  it.each(['bytes', 'a stream'])(
    'is sent to a free endpoint, as with plain fetch: %s',
    async (kind) => {
      const body = kind === 'bytes' ? large : new Blob([large, large, large]).stream();
      const response = await buyer.client.fetch(`${twins.free.url}/paid/a`, {
        method: 'POST',
        body,
        duplex: 'half',
      } as RequestInit);
      const length = kind === 'bytes' ? large.length : 3 * large.length;
      expect(await response.text()).toBe(`POST ${length}`);
      expect(twins.free.seen.map((request) => request.body.length)).toEqual([length]);
    },
  );
});
