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

describe('where to', () => {
  it('takes a string', () =>
    expectSame(twins, buyer, (fetch, origin) => fetch(`${origin}/paid/a?b=c&d=%20#part`)));
  it('takes a URL', () =>
    expectSame(twins, buyer, (fetch, origin) => fetch(new URL('/paid/ä b?q=1#part', origin))));
  it('takes a Request', () =>
    expectSame(twins, buyer, (fetch, origin) => fetch(new Request(`${origin}/paid/a`))));
  it('takes anything that turns into a string, as fetch does', () =>
    expectSame(twins, buyer, (fetch, origin) =>
      fetch({ toString: () => `${origin}/paid/a` } as unknown as string),
    ));
});

describe('methods', () => {
  it.each(['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE', 'put', 'QUERY'])(
    '%s',
    async (method) => {
      const { receipt, outcome } = await expectSame(twins, buyer, (fetch, origin) =>
        fetch(`${origin}/paid/a`, { method }),
      );
      expect(outcome.headers['x-method']).toBe(method === 'put' ? 'PUT' : method);
      expect(receipt.method).toBe(outcome.headers['x-method']);
    },
  );
});

describe('headers', () => {
  const pairs: [string, string][] = [
    ['X-One', 'a'],
    ['x-one', 'b'],
    ['accept', 'text/html'],
    ['authorization', 'Bearer x'],
    ['user-agent', 'mine/1'],
    ['cookie', 'a=b'],
  ];
  const plain = { ...Object.fromEntries(pairs), 'cache-control': 'max-age=0' };

  it('takes an object', () =>
    expectSame(twins, buyer, (fetch, origin) => fetch(`${origin}/paid/a`, { headers: plain })));
  it('takes pairs', () =>
    expectSame(twins, buyer, (fetch, origin) => fetch(`${origin}/paid/a`, { headers: pairs })));
  it('takes Headers', () =>
    expectSame(twins, buyer, (fetch, origin) =>
      fetch(`${origin}/paid/a`, { headers: new Headers(pairs) }),
    ));
  it('takes those of a Request', () =>
    expectSame(twins, buyer, (fetch, origin) =>
      fetch(new Request(`${origin}/paid/a`, { headers: pairs })),
    ));
  it('lets those of init replace those of a Request', () =>
    expectSame(twins, buyer, (fetch, origin) =>
      fetch(new Request(`${origin}/paid/a`, { headers: plain }), { headers: [['x-two', '2']] }),
    ));
  it('leaves the caller’s Headers as they are', async () => {
    const headers = new Headers(pairs);
    await buyer.client.fetch(`${twins.paid.url}/paid/a`, { headers });
    expect([...headers]).toEqual([...new Headers(pairs)]);
  });
});

describe('bodies', () => {
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
    ['a typed array that is a part of its buffer', () => bytes.subarray(10, 20)],
    ['a typed array of wider numbers', () => new Uint16Array([1, 2, 65535])],
    ['a DataView', () => new DataView(bytes.buffer, 3, 7)],
  ];

  it.each(cases)('takes %s', async (_name, body) => {
    await expectSame(twins, buyer, (fetch, origin) =>
      fetch(`${origin}/paid/a`, { method: 'POST', body: body() }),
    );
  });
  it.each(cases)('takes %s in a Request', async (_name, body) => {
    await expectSame(
      twins,
      buyer,
      (fetch, origin) => fetch(new Request(`${origin}/paid/a`, { method: 'PUT', body: body() })),
      framing,
    );
  });
  it.each(cases)('takes %s over a Request with another', async (_name, body) => {
    await expectSame(twins, buyer, (fetch, origin) =>
      fetch(new Request(`${origin}/paid/a`, { method: 'POST', body: 'old' }), {
        method: 'PATCH',
        body: body(),
      }),
    );
  });

  it('keeps the content type that the caller gives', () =>
    expectSame(twins, buyer, (fetch, origin) =>
      fetch(`${origin}/paid/a`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{}',
      }),
    ));
  it('takes a stream, half duplex', () =>
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
  it('takes a stream in a Request', () =>
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
  it('takes an async iterable, as fetch does here', async () => {
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
  it('takes a Request as init', () =>
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
  it('sends a body of exactly the limit, and reads the last byte', () =>
    expectSame(twins, buyer, (fetch, origin) =>
      fetch(`${origin}/paid/a`, { method: 'POST', body: new Uint8Array(1024 * 1024).fill(7) }),
    ));
  it('leaves a Request used, as fetch does', async () => {
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

/** `duplex` is not in the library's types yet. */
const half = { duplex: 'half' } as object;
/** What is a stream the first time is bytes of known length the second. */
const framing = { except: ['transfer-encoding', 'content-length'] };
