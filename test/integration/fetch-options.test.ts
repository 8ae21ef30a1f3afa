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

/** What a caller can tell of an error, its causes included. */
function told(error: unknown): unknown[] {
  if (!(error instanceof Error)) return [error];
  const { name, message, cause } = error;
  const code: unknown = Reflect.get(error, 'code');
  return [error.constructor.name, name, message, code, ...(cause === undefined ? [] : told(cause))];
}

describe('arguments that plain fetch refuses', () => {
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
    ['a URL that is none', () => 'http://'],
    ['a URL with a password', () => 'http://user:password@127.0.0.1/'],
    ['an unknown scheme', () => 'gopher://127.0.0.1/'],
    ['a port that is blocked', () => 'http://127.0.0.1:22/'],
    ['a refused connection', () => 'http://127.0.0.1:1/'],
    ['a host that is none', () => 'http://a b/'],
    ['GET with a body', () => twins.paid.url, () => ({ body: 'x' })],
    ['HEAD with a body', () => twins.paid.url, () => ({ method: 'HEAD', body: 'x' })],
    ['a forbidden method', () => twins.paid.url, () => ({ method: 'TRACE' })],
    ['a method that is none', () => twins.paid.url, () => ({ method: 'A B' })],
    ['a header that is none', () => twins.paid.url, () => ({ headers: { 'a b': '1' } })],
    ['a header value that is none', () => twins.paid.url, () => ({ headers: { a: '\n\u0000' } })],
    ['pairs that are not', () => twins.paid.url, () => ({ headers: [['a']] })],
    ['an init that is none', () => twins.paid.url, () => 'POST'],
    ['an unknown redirect', () => twins.paid.url, () => ({ redirect: 'maybe' })],
    ['an unknown cache', () => twins.paid.url, () => ({ cache: 'maybe' })],
    ['the mode of a page', () => twins.paid.url, () => ({ mode: 'navigate' })],
    ['a signal that is none', () => twins.paid.url, () => ({ signal: {} })],
    ['a stream without duplex', () => twins.paid.url, () => ({ method: 'POST', body: stream() })],
    ['a Request that is read', read],
    ['a window', () => twins.paid.url, () => ({ window: {} })],
  ];

  it.each(cases)(
    'are refused with the same error, and send nothing: %s',
    async (_name, input, init = () => undefined) => {
      const [first, second] = [await input(), await input()] as [string, string];
      const plain = await failureOf(fetch(first, init() as RequestInit));
      const error = await failureOf(buyer.client.fetch(second, init() as RequestInit));
      expect(told(error)).toEqual(told(plain));
      expect(twins.paid.seen).toEqual([]);
    },
  );

  it('are refused by a rejection, never by a throw', async () => {
    const calls = [undefined, '/paid/a', Symbol('x')].map((input) =>
      buyer.client.fetch(input as unknown as string),
    );
    for (const call of calls) expect(await failureOf(call)).toBeInstanceOf(TypeError);
  });
});

describe('schemes that plain fetch serves by itself', () => {
  it.each(['data:text/plain,hello', 'data:application/json;base64,e30='])('%s', async (url) => {
    const [response, plain] = [await buyer.client.fetch(url), await fetch(url)];
    expect([response.status, response.url, await response.text()]).toEqual([
      plain.status,
      plain.url,
      await plain.text(),
    ]);
    expect(response.headers.get('content-type')).toBe(plain.headers.get('content-type'));
  });

  it('blob:', async () => {
    const url = URL.createObjectURL(new Blob(['hello']));
    expect(await (await buyer.client.fetch(url)).text()).toBe('hello');
  });
});

describe('init beyond the standard', () => {
  /** What carries requests in this runtime: its own dispatcher, with a count. */
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

  it('a dispatcher carries the unpaid and the paid request', async () => {
    const { dispatcher, paths } = countingDispatcher();
    await expectSame(twins, buyer, (fetch, origin) =>
      fetch(`${origin}/paid/a`, { dispatcher } as object),
    );
    expect(paths).toEqual(['/paid/a', '/paid/a', '/paid/a']);
  });

  it('a dispatcher carries a body too', async () => {
    const { dispatcher, paths } = countingDispatcher();
    await expectSame(twins, buyer, (fetch, origin) =>
      fetch(`${origin}/paid/a`, { method: 'POST', body: 'x', dispatcher } as object),
    );
    expect(paths).toHaveLength(3);
  });

  it('a dispatcher of a Request carries both as well', async () => {
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
    ['mode of the same origin', { mode: 'no-cors' }],
    ['referrer', { referrer: 'about:client', referrerPolicy: 'no-referrer' }],
    ['keepalive', { keepalive: true }],
    ['integrity', { integrity: '' }],
    ['priority', { priority: 'high' }],
    ['no body', { method: 'POST', body: null }],
    [
      'nothing set',
      {
        method: undefined,
        headers: undefined,
        body: undefined,
        signal: undefined,
      } as unknown as RequestInit,
    ],
    ['something unknown', { next: { revalidate: 1 }, cf: {} } as RequestInit],
  ])('%s goes to both', async (_name, init) => {
    await expectSame(twins, buyer, (fetch, origin) => fetch(`${origin}/paid/a`, init));
  });

  it('cache goes to the unpaid one; the paid one asks for no old answer', async () => {
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

  it('an idempotencyKey goes nowhere as a header, and an Idempotency-Key header goes to both', async () => {
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

describe('option fetch', () => {
  it('sends every request, with what the caller gave', async () => {
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
    const paid = calls.find(([, one]) => new Headers(one?.headers).has('payment-signature'));
    expect(paid).toMatchObject([
      url.href,
      { method: 'POST', redirect: 'manual', cache: 'no-store' },
    ]);
    expect(
      calls.filter(([input]) => String(input).startsWith(sandbox.rpcUrl)).length,
    ).toBeGreaterThan(0);
  });

  it('may return what it likes: a Response that it made', async () => {
    const given = new Response('made');
    const { client } = await newBuyer(sandbox, { fetch: async () => given });
    expect(await client.fetch('https://seller.test/')).toBe(given);
  });

  it('that fails fails the call, with its own error', async () => {
    const reason = new Error('mine');
    const { client } = await newBuyer(sandbox, { fetch: () => Promise.reject(reason) });
    expect(await failureOf(client.fetch('https://seller.test/'))).toBe(reason);
  });

  it('left out, is the global one of the moment', async () => {
    const before = globalThis.fetch;
    onTestFinished(() => void (globalThis.fetch = before));
    const seen: string[] = [];
    globalThis.fetch = (input, init) => {
      seen.push(input instanceof Request ? input.url : String(input));
      return before(input, init);
    };
    await buyer.client.fetch(`${twins.paid.url}/paid/a`);
    expect(seen.filter((one) => one === `${twins.paid.url}/paid/a`)).toHaveLength(2);
  });
});

describe('fetch itself', () => {
  it('can be handed on alone', async () => {
    const { fetch: pay } = buyer.client;
    const response = await pay(`${twins.paid.url}/paid/a`);
    expect([response.status, receiptOf(response)?.payment.amount]).toEqual([200, PRICE.toString()]);
  });

  it('is made without a call, and asks no node or service until one is paid', async () => {
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

describe('a body that is too large to be sent twice', () => {
  const large = new Uint8Array(1024 * 1024 + 1);

  it('is refused before anything is paid', async () => {
    const error = await failureOf(
      buyer.client.fetch(`${twins.paid.url}/paid/a`, { method: 'POST', body: large }),
    );
    expect(error).toMatchObject({
      code: 'body_not_replayable',
      funds: 'untouched',
      details: { limitBytes: 1024 * 1024 },
    });
    expect(twins.paid.seen.map((one) => [one.body.length, paymentOf(one)])).toEqual([
      [large.length, undefined],
    ]);
    expect(await buyer.spent()).toBe(0n);
  });

  it.each(['bytes', 'a stream'])(
    'goes where nothing is asked for it, as with plain fetch: %s',
    async (kind) => {
      const body = kind === 'bytes' ? large : new Blob([large, large, large]).stream();
      const response = await buyer.client.fetch(`${twins.free.url}/paid/a`, {
        method: 'POST',
        body,
        duplex: 'half',
      } as RequestInit);
      const length = kind === 'bytes' ? large.length : 3 * large.length;
      expect(await response.text()).toBe(`POST ${length}`);
      expect(twins.free.seen.map((one) => one.body.length)).toEqual([length]);
    },
  );
});
