import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newBuyer, type Buyer } from '../helpers/fetch-buyer.js';
import { expectSame } from '../helpers/fetch-compare.js';
import { startTwins, type Twins } from '../helpers/fetch-twins.js';
import { useSandbox } from '../helpers/sandbox.js';

const sandbox = await useSandbox({ slotMs: 20, confirmationMs: 0 });
let twins: Twins;
let buyer: Buyer;

beforeAll(async () => {
  twins = await startTwins(sandbox, (request, response) => {
    response
      .set('x-method', request.method)
      .send({ method: request.method, length: (request.body as Buffer).length });
  });
});

beforeEach(async () => {
  buyer = await newBuyer(sandbox);
});

afterAll(async () => {
  await twins.close();
});

function streamOf(...parts: string[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    pull(controller) {
      const part = parts.shift();
      if (part === undefined) controller.close();
      else controller.enqueue(new TextEncoder().encode(part));
    },
  });
}

const bytes = Uint8Array.from({ length: 1000 }, (_, index) => index % 256);

describe('the input of client.fetch', () => {
  it('may be a string', () =>
    expectSame(twins, buyer, (fetch, origin) => fetch(`${origin}/paid/a?b=c&d=%20#part`)));
  it('may be a URL', () =>
    expectSame(twins, buyer, (fetch, origin) => fetch(new URL('/paid/ä b?q=1#part', origin))));
  it('may be a Request', () =>
    expectSame(twins, buyer, (fetch, origin) => fetch(new Request(`${origin}/paid/a`))));
  it('may be any object that converts to a string, as with plain fetch', () =>
    expectSame(twins, buyer, (fetch, origin) =>
      fetch({ toString: () => `${origin}/paid/a` } as unknown as string),
    ));
});

describe('the method of a paid call', () => {
  it.each(['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE', 'put', 'QUERY'])(
    'reaches the seller as with plain fetch: %s',
    async (method) => {
      const { receipt, outcome } = await expectSame(twins, buyer, (fetch, origin) =>
        fetch(`${origin}/paid/a`, { method }),
      );
      expect(outcome.headers['x-method']).toBe(method === 'put' ? 'PUT' : method);
      expect(receipt.method).toBe(outcome.headers['x-method']);
    },
  );
});

describe('the headers of a paid call', () => {
  const pairs: [string, string][] = [
    ['X-One', 'a'],
    ['x-one', 'b'],
    ['accept', 'text/html'],
    ['authorization', 'Bearer x'],
    ['user-agent', 'mine/1'],
    ['cookie', 'a=b'],
  ];
  const plain = { ...Object.fromEntries(pairs), 'cache-control': 'max-age=0' };

  it('may be an object', () =>
    expectSame(twins, buyer, (fetch, origin) => fetch(`${origin}/paid/a`, { headers: plain })));
  it('may be pairs', () =>
    expectSame(twins, buyer, (fetch, origin) => fetch(`${origin}/paid/a`, { headers: pairs })));
  it('may be a Headers object', () =>
    expectSame(twins, buyer, (fetch, origin) =>
      fetch(`${origin}/paid/a`, { headers: new Headers(pairs) }),
    ));
  it('may come from a Request', () =>
    expectSame(twins, buyer, (fetch, origin) =>
      fetch(new Request(`${origin}/paid/a`, { headers: pairs })),
    ));
  it('come from init when a Request has headers too', () =>
    expectSame(twins, buyer, (fetch, origin) =>
      fetch(new Request(`${origin}/paid/a`, { headers: plain }), { headers: [['x-two', '2']] }),
    ));
  it('do not change the Headers object of the caller', async () => {
    const headers = new Headers(pairs);
    await buyer.client.fetch(`${twins.paid.url}/paid/a`, { headers });
    expect([...headers]).toEqual([...new Headers(pairs)]);
  });
});

describe('the body of a paid call', () => {
  const form = (): FormData => {
    const data = new FormData();
    data.append('field', 'ünï\r\ncode');
    data.append('file', new File([bytes], 'a.bin', { type: 'application/x-test' }));
    return data;
  };
  const cases: [string, () => BodyInit][] = [
    ['text', () => 'grüße'],
    ['empty text', () => ''],
    ['JSON', () => JSON.stringify({ question: 'how many?', n: [1, 2, 3] })],
    [
      'URLSearchParams',
      () =>
        new URLSearchParams([
          ['a', 'ü &='],
          ['a', '2'],
        ]),
    ],
    ['FormData', form],
    ['a Blob with a type', () => new Blob([bytes], { type: 'application/x-test' })],
    ['a Blob without a type', () => new Blob(['x'])],
    ['a File', () => new File([bytes], 'a.bin', { type: 'image/png' })],
    ['an ArrayBuffer', () => bytes.buffer.slice(0)],
    ['a part of a typed array', () => bytes.subarray(10, 20)],
    ['a Uint16Array', () => new Uint16Array([1, 2, 65535])],
    ['a DataView', () => new DataView(bytes.buffer, 3, 7)],
  ];

  it.each(cases)('may be %s', async (_name, body) => {
    await expectSame(twins, buyer, (fetch, origin) =>
      fetch(`${origin}/paid/a`, { method: 'POST', body: body() }),
    );
  });
  // The place of a body and its kind are read apart, so each other place has a third of the kinds.
  const third = (from: number) => cases.filter((_, index) => index % 3 === from);
  it.each(third(0))('may be %s in a Request', async (_name, body) => {
    await expectSame(
      twins,
      buyer,
      (fetch, origin) => fetch(new Request(`${origin}/paid/a`, { method: 'PUT', body: body() })),
      framing,
    );
  });
  it.each(third(1))('may be %s in init beside a Request with a body', async (_name, body) => {
    await expectSame(twins, buyer, (fetch, origin) =>
      fetch(new Request(`${origin}/paid/a`, { method: 'POST', body: 'old' }), {
        method: 'PATCH',
        body: body(),
      }),
    );
  });

  it('keeps the content type of the caller', () =>
    expectSame(twins, buyer, (fetch, origin) =>
      fetch(`${origin}/paid/a`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{}',
      }),
    ));
  it('may be a stream with half duplex', () =>
    expectSame(
      twins,
      buyer,
      (fetch, origin) =>
        fetch(`${origin}/paid/a`, {
          method: 'POST',
          body: streamOf('one', 'two', 'three'),
          ...half,
        }),
      framing,
    ));
  it('may be a stream in a Request', () =>
    expectSame(
      twins,
      buyer,
      (fetch, origin) =>
        fetch(
          new Request(`${origin}/paid/a`, {
            method: 'POST',
            body: streamOf('one', 'two'),
            ...half,
          }),
        ),
      framing,
    ));
  it('may be an async iterable, as with plain fetch of this runtime', async () => {
    async function* parts(): AsyncGenerator<Uint8Array> {
      yield new TextEncoder().encode('one');
      yield new TextEncoder().encode('two');
    }
    await expectSame(
      twins,
      buyer,
      (fetch, origin) =>
        fetch(`${origin}/paid/a`, {
          method: 'POST',
          body: parts() as unknown as BodyInit,
          ...half,
        }),
      framing,
    );
  });
  it('may come from a Request as init', () =>
    expectSame(
      twins,
      buyer,
      (fetch, origin) =>
        fetch(
          `${origin}/paid/a`,
          new Request('http://other.test/', {
            method: 'POST',
            headers: { 'x-one': '1' },
            body: 'from init',
          }),
        ),
      framing,
    ));
  it('may have exactly the size of the limit', () =>
    expectSame(twins, buyer, (fetch, origin) =>
      fetch(`${origin}/paid/a`, { method: 'POST', body: new Uint8Array(1024 * 1024).fill(7) }),
    ));
  it('marks a Request as used, as plain fetch does', async () => {
    const used = async (call: typeof fetch, origin: string): Promise<boolean[]> => {
      const request = new Request(`${origin}/paid/a`, { method: 'POST', body: 'once' });
      await call(request);
      const other = new Request(`${origin}/paid/a`, { method: 'POST', body: 'once' });
      await call(other, { body: 'another' });
      return [request.bodyUsed, other.bodyUsed];
    };
    expect(await used(buyer.client.fetch, twins.paid.url)).toEqual(
      await used(fetch, twins.free.url),
    );
  });
});

/** The cast allows `duplex`, which the DOM types lack. */
const half = { duplex: 'half' } as object;
/** The unpaid request sends a stream; the paid request sends bytes of known length. */
const framing = { except: ['transfer-encoding', 'content-length'] };
