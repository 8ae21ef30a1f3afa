import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { isExactChangeError } from '../../../src/errors.js';
import { captureCall } from '../../../src/internal/request.js';
import { BODY_LIMIT_BYTES } from '../../../src/internal/kept-body.js';
import { headersOf, startRecording, type RecordingServer, type Seen } from '../recording-server.js';
import { X402_HEADERS } from '../../../src/protocols/x402/index.js';

const captured = (pass: typeof fetch, input: RequestInfo | URL, init?: RequestInit) =>
  captureCall(pass, input, init, X402_HEADERS);

type Arguments = [RequestInfo | URL, (RequestInit | undefined)?];

const HEADER = { name: 'PAYMENT-SIGNATURE', value: 'eyJ4IjoxfQ==' };
// The DOM's types have no `duplex`, which fetch demands with a stream.
const streaming = (init: RequestInit): RequestInit => Object.assign(init, { duplex: 'half' });

let server: RecordingServer;
let other: RecordingServer;
beforeAll(async () => {
  server = await startRecording();
  other = await startRecording();
});
afterAll(() => Promise.all([server.close(), other.close()]));
beforeEach(() => {
  server.seen.length = 0;
  other.seen.length = 0;
});

function capture(...[input, init]: Arguments) {
  const call = captured(fetch, input, init);
  if (call === undefined) throw new Error('plain fetch would refuse these arguments');
  return call;
}

/** Sends the unpaid request and the paid request, and reads their answers. */
async function sendBoth(call: ReturnType<typeof captured>): Promise<void> {
  await (await call?.sendUnpaid())?.text();
  await (await call?.sendPaid(server.origin, HEADER, new AbortController().signal))?.text();
}

function streamOf(...chunks: string[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(new TextEncoder().encode(chunk));
      controller.close();
    },
  });
}

function form(): FormData {
  const data = new FormData();
  data.append('name', 'Ada & co');
  data.append(
    'file',
    new Blob([Uint8Array.of(0, 255, 13, 10)], { type: 'image/png' }),
    'a "b".png',
  );
  return data;
}

const ONE = { 'x-one': '1' };
type Make = (url: string) => Arguments;
const post =
  (body: () => BodyInit, init: RequestInit = {}): Make =>
  (url) => [url, { method: 'POST', body: body(), ...init }];
const streamed =
  (...chunks: string[]): Make =>
  (url) => [url, streaming({ method: 'POST', body: streamOf(...chunks) })];
const request =
  (init: () => RequestInit, over?: () => RequestInit): Make =>
  (url) => [new Request(url, { method: 'POST', ...init() }), over?.()];

/** Every way to make a call. Each function returns new arguments. */
const calls: readonly (readonly [string, Make])[] = [
  ['a string', (url) => [url]],
  ['a URL', (url) => [new URL(`${url}?q=ä b#fragment`)]],
  ['a Request', (url) => [new Request(url, { headers: { 'x-one': '1' } })]],
  ['a signal of null', (url) => [url, { signal: null }]],
  ['a lower-case method', (url) => [url, { method: 'post', body: 'x' }]],
  ['HEAD', (url) => [url, { method: 'HEAD' }]],
  ['DELETE without a body', (url) => [url, { method: 'DELETE' }]],
  ['POST without a body', (url) => [new Request(url, { method: 'POST' })]],
  ['Headers', (url) => [url, { headers: new Headers({ Accept: 'a/b', 'X-Two': '2' }) }]],
  [
    'header pairs, some repeated',
    (url) => [
      url,
      {
        headers: [
          ['X-B', '1'],
          ['X-A', '2'],
          ['x-b', '3'],
        ],
      },
    ],
  ],
  ['a string body', post(() => 'grüße\u0000\ud83d\ude00')],
  ['a JSON body', post(() => '{"a":1}', { headers: { 'Content-Type': 'application/json' } })],
  ['an empty string body', post(() => '')],
  ['URLSearchParams', post(() => new URLSearchParams({ a: '1 2', b: 'ü' }), { method: 'PUT' })],
  ['a Blob with a type', post(() => new Blob(['abc'], { type: 'text/x' }))],
  ['a Blob without a type', post(() => new Blob(['abc']))],
  ['an ArrayBuffer', post(() => Uint8Array.of(1, 2, 3).buffer, { method: 'PATCH' })],
  ['a view into a larger buffer', post(() => Uint8Array.of(1, 2, 3, 4, 5).subarray(1, 4))],
  ['FormData', post(form, { headers: { 'X-Form': 'yes' } })],
  ['a stream', streamed('one ', '', 'two')],
  ['a Request with a string body', request(() => ({ body: 'in a request', headers: ONE }))],
  ['a Request with FormData', request(() => ({ body: form() }))],
  ['a Request with a stream', request(() => streaming({ body: streamOf('a', 'b') }))],
  [
    'a Request with a replaced body',
    request(
      () => ({ body: 'old', headers: ONE }),
      () => ({ body: 'new' }),
    ),
  ],
  [
    'a Request with a body that FormData replaces',
    request(
      () => ({ body: 'old' }),
      () => ({ body: form() }),
    ),
  ],
  [
    'a Request with a body that null keeps',
    request(
      () => ({ body: 'kept' }),
      () => ({ body: null, headers: { 'x-new': '1' } }),
    ),
  ],
  [
    'a Request as init',
    (url) => [
      url,
      new Request('http://127.0.0.1:9/other', { method: 'POST', body: 'as init', headers: ONE }),
    ],
  ],
  [
    'init with inherited members',
    (url) => [url, Object.create({ method: 'POST', body: 'inherited', headers: ONE })],
  ],
  ['a body of exactly the limit', post(() => new Uint8Array(BODY_LIMIT_BYTES))],
  [
    'keepalive, credentials, mode and referrer',
    (url) => [
      url,
      {
        keepalive: true,
        credentials: 'omit',
        mode: 'same-origin',
        referrer: '',
        referrerPolicy: 'no-referrer',
      },
    ],
  ],
];

/** A request without its random part, the boundary of a form. */
function comparable({ method, url, rawHeaders, body }: Seen) {
  const text = body.toString('latin1');
  const boundary = /^--(-*formdata-\S+)\r\n/.exec(text)?.[1];
  const withoutBoundary = (value: string) =>
    boundary === undefined ? value : value.split(boundary).join('BOUNDARY');
  return { method, url, rawHeaders: rawHeaders.map(withoutBoundary), body: withoutBoundary(text) };
}

describe('the unpaid request', () => {
  it.each(calls)('equals the request of plain fetch: %s', async (_, make) => {
    await (await fetch(...make(`${server.origin}/a`))).text();
    const response = await capture(...make(`${server.origin}/a`)).sendUnpaid();
    await response.text();
    const [plain, ours] = server.seen.map(comparable);
    // The headers of a form come in another order, because the form is sent as bytes with an
    // explicit type.
    const order = (headers: readonly string[] = []) =>
      /form-data/.test(headers.join()) ? [...headers].sort() : headers;
    expect({ ...ours, rawHeaders: order(ours?.rawHeaders) }).toEqual({
      ...plain,
      rawHeaders: order(plain?.rawHeaders),
    });
  });

  it('is sent at once, so that later changes to its arguments have no effect', async () => {
    const bytes = Uint8Array.of(1, 2, 3);
    const init: RequestInit = { method: 'POST', body: bytes, headers: { 'x-one': '1' } };
    const call = capture(server.origin, init);
    const unpaid = call.sendUnpaid();
    bytes.fill(9);
    init.method = 'DELETE';
    init.headers = { 'x-one': 'changed' };
    init.body = 'changed';
    await (await unpaid).text();
    await (await call.sendPaid(call.url, HEADER, new AbortController().signal)).text();
    expect(server.seen.map(({ method, body }) => [method, ...body])).toEqual([
      ['POST', 1, 2, 3],
      ['POST', 1, 2, 3],
    ]);
    expect(headersOf(server.seen[1])['x-one']).toBe('1');
  });

  it('uses up a Request and locks a stream, as plain fetch does', async () => {
    const request = new Request(server.origin, { method: 'POST', body: 'x' });
    await (await capture(request).sendUnpaid()).text();
    expect(request.bodyUsed).toBe(true);
    const stream = streamOf('x');
    await (
      await capture(server.origin, streaming({ method: 'POST', body: stream })).sendUnpaid()
    ).text();
    expect(stream.locked).toBe(true);
  });

  it('passes options beyond the standard to both requests', async () => {
    const inits: (RequestInit | undefined)[] = [];
    const spy: typeof fetch = (_, init) => {
      inits.push(init);
      return Promise.resolve(new Response(null, { status: 402 }));
    };
    const init = Object.assign(
      { method: 'POST', body: streamOf('x') },
      { duplex: 'half', dispatcher: 'the proxy', next: { revalidate: 1 } },
    );
    const call = captured(spy, server.origin, init);
    await call?.sendUnpaid();
    await call?.sendPaid(server.origin, HEADER, new AbortController().signal);
    expect(inits).toMatchObject([
      { dispatcher: 'the proxy', next: { revalidate: 1 } },
      { dispatcher: 'the proxy', next: { revalidate: 1 } },
    ]);
  });

  it('leaves the body property of a Request unread, because Deno would send chunks', async () => {
    const input = new Request(server.origin, { method: 'POST', body: 'in a request' });
    const body = vi.spyOn(input, 'body', 'get');
    await sendBoth(captured(fetch, input));
    expect(body).not.toHaveBeenCalled();
    expect(server.seen.map(({ hash }) => hash)).toEqual([
      server.seen[0]?.hash,
      server.seen[0]?.hash,
    ]);
  });
});

describe('the paid request', () => {
  it.each(calls)('has the same method, bytes and headers: %s', async (_, make) => {
    const call = capture(...make(`${server.origin}/a`));
    await (await call.sendUnpaid()).text();
    const response = await call.sendPaid(call.url, HEADER, new AbortController().signal);
    expect(response.status).toBe(200);
    const [unpaid, paid] = server.seen;
    expect([paid?.method, paid?.url, paid?.hash]).toEqual([
      unpaid?.method,
      unpaid?.url,
      unpaid?.hash,
    ]);
    // Headers that the caller does not set: the framing of a body, and the ban on cached answers.
    const framing = [
      'transfer-encoding',
      'content-length',
      'cache-control',
      'pragma',
      'connection',
    ];
    const callers = (seen: Seen | undefined) =>
      Object.entries(headersOf(seen))
        .filter(([name]) => !framing.includes(name))
        .sort();
    expect(callers(paid)).toEqual([...callers(unpaid), ['payment-signature', HEADER.value]].sort());
  });

  it('adds only its own header, and sends neither cookies nor credentials to another origin', async () => {
    const headers = {
      Authorization: 'Bearer t',
      Cookie: 'a=b',
      'Proxy-Authorization': 'p',
      'X-Api-Key': 'k',
    };
    const call = capture(`${server.origin}/a`, { headers });
    await (await call.sendPaid(`${server.origin}/b`, HEADER, new AbortController().signal)).text();
    await (await call.sendPaid(`${other.origin}/b`, HEADER, new AbortController().signal)).text();
    expect(headersOf(server.seen[0])).toMatchObject({
      authorization: 'Bearer t',
      cookie: 'a=b',
      'x-api-key': 'k',
    });
    expect(headersOf(other.seen[0])).toMatchObject({
      'payment-signature': HEADER.value,
      'x-api-key': 'k',
    });
    for (const name of ['authorization', 'cookie', 'proxy-authorization'])
      expect(headersOf(other.seen[0])).not.toHaveProperty(name);
  });

  it('follows no redirect, whatever the caller asks for', async () => {
    const redirecting = await startRecording((_, response) =>
      response.writeHead(307, { location: `${other.origin}/thief` }).end(),
    );
    try {
      const call = capture(redirecting.origin, { redirect: 'follow', method: 'POST', body: 'x' });
      const response = await call.sendPaid(call.url, HEADER, new AbortController().signal);
      expect(response.status).toBe(307);
      expect(other.seen).toEqual([]);
    } finally {
      await redirecting.close();
    }
  });

  it('is aborted by its own signal, which is not the signal of the caller', async () => {
    const caller = new AbortController();
    const call = capture(server.origin, { signal: caller.signal });
    const paid = new AbortController();
    paid.abort(new Error('time is up'));
    await expect(call.sendPaid(call.url, HEADER, paid.signal)).rejects.toThrow('time is up');
    expect(call.signal).toBe(caller.signal);
  });
});

describe('the signal of the caller', () => {
  const signal = new AbortController().signal;

  it('comes from init, else from the Request, and is removed by null', () => {
    const request = new Request(server.origin, { signal: new AbortController().signal });
    expect(capture(request).signal).toBe(request.signal);
    expect(capture(request, { signal }).signal).toBe(signal);
    expect(capture(request, { signal: null }).signal).toBeUndefined();
    expect(capture(server.origin).signal).toBeUndefined();
  });

  it.each(calls)('aborts the unpaid request with its own reason: %s', async (_, make) => {
    const [input, init] = make(server.origin);
    const reason = new Error('changed my mind');
    const signal = AbortSignal.abort(reason);
    const aborted: RequestInit =
      init instanceof Request
        ? new Request(init, { signal })
        : Object.assign(Object.create(init ?? null), { signal });
    const unpaid = capture(input, aborted).sendUnpaid();
    // A Request has its own signal, which aborts with the given signal.
    await expect(unpaid).rejects.toBe(reason);
    expect(server.seen).toEqual([]);
  });
});

describe('a call that has a payment header of its caller', () => {
  it.each(['PAYMENT-SIGNATURE', 'x-payment', 'X-Payment'])(
    'is recognized by its %s header',
    (name) => {
      expect(capture(server.origin, { headers: { [name]: 'x' } }).paysItself).toBe(true);
      expect(capture(new Request(server.origin, { headers: { [name]: 'x' } })).paysItself).toBe(
        true,
      );
    },
  );

  const redirectingTo = (target: RecordingServer) =>
    startRecording((_, response) =>
      response.writeHead(307, { location: `${target.origin}/thief` }).end(),
    );
  const X = { 'X-Payment': 'x' };
  const paying: readonly (readonly [string, Make])[] = [
    ['init', (url) => [url, { headers: { 'PAYMENT-SIGNATURE': 'x' } }]],
    ['init that says follow', (url) => [url, { headers: X, redirect: 'follow' }]],
    ['a Request', (url) => [new Request(url, { headers: { 'Payment-Signature': 'x' } })]],
    [
      'a Request and init',
      (url) => [
        new Request(url, { redirect: 'follow' }),
        { headers: new Headers({ 'X-PAYMENT': 'x' }) },
      ],
    ],
    ['a body', post(() => 'x', { headers: [['payment-signature', 'x']] })],
    ['a stream', post(() => streamOf('a'), streaming({ headers: X }))],
    ['a form', post(form, { headers: X })],
    ['a signal', (url) => [url, { signal: new AbortController().signal, headers: X }]],
  ];

  it.each(paying)('is not redirected to any origin: %s', async (_, make) => {
    for (const target of [server, other]) {
      const redirecting = await redirectingTo(target);
      onTestFinished(() => redirecting.close());
      const response = await capture(...make(redirecting.origin)).sendUnpaid();
      expect([response.status, redirecting.seen.length, target.seen.length]).toEqual([307, 1, 0]);
    }
  });

  it('fails at a redirect if its caller asks for that', async () => {
    const redirecting = await redirectingTo(other);
    onTestFinished(() => redirecting.close());
    const call = capture(redirecting.origin, { headers: { 'x-payment': 'x' }, redirect: 'error' });
    await expect(call.sendUnpaid()).rejects.toThrow(TypeError);
    expect(other.seen).toEqual([]);
  });

  it('is not assumed without such a header', () => {
    expect(capture(server.origin, { headers: { 'x-payment-id': 'x' } }).paysItself).toBe(false);
  });
});

describe('a body that cannot be sent again', () => {
  const large = new Uint8Array(BODY_LIMIT_BYTES + 1);
  const tooLarge: readonly (readonly [string, Make])[] = [
    ['bytes', post(() => large)],
    ['a Blob', post(() => new Blob([large]))],
    [
      'a form',
      post(() => {
        const data = new FormData();
        data.append('file', new Blob([new Uint8Array(BODY_LIMIT_BYTES)]));
        return data;
      }),
    ],
    ['a stream', streamed('x'.repeat(BODY_LIMIT_BYTES), 'y')],
    ['a Request', request(() => ({ body: 'x'.repeat(BODY_LIMIT_BYTES + 1) }))],
  ];

  it.each(tooLarge)(
    'is sent whole in the unpaid request, and is refused before the paid request: %s',
    async (_, make) => {
      const call = capture(...make(server.origin));
      expect((await call.sendUnpaid()).status).toBe(402);
      expect(server.seen[0]?.body.byteLength).toBeGreaterThan(BODY_LIMIT_BYTES);
      const refusal = await call
        .sendPaid(call.url, HEADER, new AbortController().signal)
        .catch((error: unknown) => error);
      expect(isExactChangeError(refusal, 'body_not_replayable') && refusal.details.limitBytes).toBe(
        BODY_LIMIT_BYTES,
      );
      expect(refusal).toMatchObject({ funds: 'untouched', retry: 'never' });
      expect(server.seen).toHaveLength(1);
    },
  );

  it('fails the request and its repetition when its stream breaks', async () => {
    const broken = () =>
      new ReadableStream<Uint8Array>({
        pull(controller) {
          controller.error(new Error('disk gone'));
        },
      });
    const call = capture(server.origin, streaming({ method: 'POST', body: broken() }));
    const plain = await fetch(server.origin, streaming({ method: 'POST', body: broken() })).catch(
      (error: unknown) => error,
    );
    const ours = await call.sendUnpaid().catch((error: unknown) => error);
    expect(String(ours)).toBe(String(plain));
    await expect(call.replayable()).rejects.toMatchObject({ code: 'body_not_replayable' });
  });

  it('is released by forget() when fetch is done, if its stream never ends', async () => {
    const cancelled = vi.fn();
    const endless = new ReadableStream<Uint8Array>({
      pull: (controller) =>
        new Promise<void>((resolve) => setImmediate(resolve)).then(() =>
          controller.enqueue(new Uint8Array(1)),
        ),
      cancel: cancelled,
    });
    const done: typeof fetch = async (_, init) => {
      if (init?.body instanceof ReadableStream) void init.body.cancel('answered');
      return Promise.resolve(new Response(null, { status: 200 }));
    };
    const call = captured(done, server.origin, streaming({ method: 'POST', body: endless }));
    await call?.sendUnpaid();
    expect(cancelled).not.toHaveBeenCalled();
    call?.forget();
    await expect.poll(() => cancelled).toHaveBeenCalledOnce();
    await expect(call?.replayable()).rejects.toMatchObject({ code: 'body_not_replayable' });
  });

  it('is read up to the limit if its stream never ends', async () => {
    let pulled = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        pulled += 65_536;
        controller.enqueue(new Uint8Array(65_536));
      },
    });
    const answering: typeof fetch = () => Promise.resolve(new Response(null, { status: 402 }));
    const call = captured(answering, server.origin, streaming({ method: 'POST', body: endless }));
    await call?.sendUnpaid();
    await expect(call?.replayable()).rejects.toMatchObject({ code: 'body_not_replayable' });
    expect(pulled).toBeLessThan(BODY_LIMIT_BYTES + 4 * 65_536);
  });

  it('is awaited for a limited time, and no longer after its caller aborts', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const silent = () => streaming({ method: 'POST', body: new ReadableStream<Uint8Array>() });
      const late = capture(server.origin, silent()).replayable();
      const refused = expect(late).rejects.toMatchObject({ code: 'body_not_replayable' });
      await vi.advanceTimersByTimeAsync(10_000);
      await refused;
      // While real time passed, other tests of this process may have set timers of their own.
      vi.clearAllTimers();
      const aborter = new AbortController();
      const waiting = capture(server.origin, { ...silent(), signal: aborter.signal }).replayable();
      const stopped = expect(waiting).rejects.toThrow('no more');
      aborter.abort(new Error('no more'));
      await stopped;
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });
});

describe('a fetch of another implementation', () => {
  // Like undici of npm, it accepts only its own Request and reads every other value as a URL.
  const foreign: typeof fetch = (input, init) => {
    if (input instanceof Request)
      return Promise.reject(new TypeError('Failed to parse URL from [object Request]'));
    return isForeign(input) ? fetch(input.url, { ...input.asInit(), ...init }) : fetch(input, init);
  };

  class ForeignRequest {
    readonly #init: RequestInit;
    readonly signal = new AbortController().signal;
    readonly method: string;
    readonly headers: Headers;
    readonly body: BodyInit | null;
    constructor(
      readonly url: string,
      init: RequestInit,
    ) {
      this.#init = init;
      this.method = init.method ?? 'GET';
      this.headers = new Headers(init.headers);
      this.body = init.body ?? null;
    }
    clone() {
      return new ForeignRequest(this.url, this.#init);
    }
    asInit() {
      return this.#init;
    }
  }
  const isForeign = (input: unknown): input is ForeignRequest => input instanceof ForeignRequest;

  it.each(calls.filter(([name]) => !name.startsWith('a Request')))(
    'gets arguments that it understands: %s',
    async (name, make) => {
      if (name === 'POST without a body') return;
      const call = captured(foreign, ...(make(server.origin) as [string, RequestInit?]));
      await sendBoth(call);
      expect(server.seen.map(({ hash }) => hash)).toEqual([
        server.seen[0]?.hash,
        server.seen[0]?.hash,
      ]);
    },
  );

  it('sends the fields of its own form', async () => {
    // Newer runtimes take the form of another fetch for a value with a name, as they do an object.
    const forEach: FormData['forEach'] = (call) => form().forEach(call);
    const own = { [Symbol.toStringTag]: 'FormData', forEach };
    const init = Object.assign({ method: 'POST' }, { body: own });
    const call = captured(foreign, server.origin, init as unknown as RequestInit);
    await sendBoth(call);
    expect(server.seen.map(({ hash }) => hash)).toEqual([
      server.seen[0]?.hash,
      server.seen[0]?.hash,
    ]);
    for (const seen of server.seen) {
      expect(headersOf(seen)['content-type']).toMatch(/^multipart\/form-data; boundary=/);
      expect(seen.body.toString()).toContain('Ada & co');
    }
  });

  it('sends a body by itself if the runtime cannot read the body', () => {
    const stream = { pipe: () => undefined };
    const tag = { [Symbol.toStringTag]: 'FormData' };
    const file = { [Symbol.toStringTag]: 'File', name: 'table.csv' };
    const withFile: unknown = { ...tag, forEach: (call: Each) => call(file, 'file') };
    type Each = (value: unknown, name: string) => void;
    // The forms of the package form-data have the tag, and no fields that can be read.
    for (const body of [stream, tag, withFile]) {
      const init = Object.assign({ method: 'POST' }, { body }) as RequestInit;
      expect(captured(foreign, server.origin, init)).toBeUndefined();
    }
  });

  it('accepts its own Request', async () => {
    const request = new ForeignRequest(server.origin, {
      method: 'POST',
      body: 'foreign',
      headers: { 'x-one': '1' },
    });
    // The types know only a single Request.
    const call = captured(foreign, request as unknown as Request, undefined);
    await sendBoth(call);
    expect(server.seen.map(({ method, body }) => [method, body.toString()])).toEqual([
      ['POST', 'foreign'],
      ['POST', 'foreign'],
    ]);
    expect(headersOf(server.seen[1])['x-one']).toBe('1');
  });
});

describe('a Request without a body property, as in Firefox', () => {
  it('is read whole, and has no body for GET', async () => {
    const body = Object.getOwnPropertyDescriptor(Request.prototype, 'body');
    Object.defineProperty(Request.prototype, 'body', { configurable: true, get: () => undefined });
    try {
      const post = capture(server.origin, { method: 'POST', body: 'abc' });
      expect(new TextDecoder().decode(await post.replayable())).toBe('abc');
      expect(await capture(server.origin).replayable()).toBeUndefined();
      const large = capture(server.origin, {
        method: 'POST',
        body: new Uint8Array(BODY_LIMIT_BYTES + 1),
      });
      await expect(large.replayable()).rejects.toMatchObject({ code: 'body_not_replayable' });
    } finally {
      if (body !== undefined) Object.defineProperty(Request.prototype, 'body', body);
    }
  });
});

describe('a call with arguments that plain fetch refuses', () => {
  const used = async () => {
    const request = new Request(server.origin, { method: 'POST', body: 'x' });
    await request.text();
    return request;
  };
  const locked = () => {
    const stream = streamOf('x');
    stream.getReader();
    return stream;
  };
  // The arguments are wrong on purpose, so they bypass the types.
  const wrong: readonly (readonly [string, () => unknown[] | Promise<unknown[]>])[] = [
    ['nothing', () => [undefined]],
    ['a relative URL', () => ['/a']],
    ['a URL with credentials', () => ['http://user:secret@127.0.0.1/']],
    ['GET with a body', () => [server.origin, { body: 'x' }]],
    ['a header with a line break', () => [server.origin, { headers: { a: '1\r\nb: 2' } }]],
    ['a stream without duplex', () => [server.origin, { method: 'POST', body: streamOf('x') }]],
    ['a locked stream', () => [server.origin, streaming({ method: 'POST', body: locked() })]],
    ['a used Request', async () => [await used()]],
    ['a number as init', () => [server.origin, 5]],
    ['text as init', () => [server.origin, 'POST']],
    ['an invalid signal', () => [server.origin, { signal: {} }]],
    [
      'an invalid signal with a body',
      () => [server.origin, { signal: {}, method: 'POST', body: 'x' }],
    ],
    [
      'a getter that throws',
      () => [
        server.origin,
        {
          get method() {
            throw new RangeError('from a getter');
          },
        },
      ],
    ],
  ];

  it.each(wrong)('is refused with the error of plain fetch: %s', async (_, make) => {
    const plain = await fetch(...((await make()) as Arguments)).catch((error: unknown) => error);
    const [input, init] = (await make()) as Arguments;
    const call = captured(fetch, input, init);
    const ours = await (call === undefined ? fetch(input, init) : call.sendUnpaid()).catch(
      (error: unknown) => error,
    );
    expect(plain).toBeInstanceOf(Error);
    expect([ours instanceof TypeError, String(ours)]).toEqual([
      plain instanceof TypeError,
      String(plain),
    ]);
    expect(server.seen).toEqual([]);
  });
});
