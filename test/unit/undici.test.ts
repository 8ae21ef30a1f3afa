import { EventEmitter, once } from 'node:events';
import { gzipSync } from 'node:zlib';
import { undiciRequest } from 'exact-change/undici';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { headersOf as headersSent, startRecording } from './recording-server.js';

/** Requests a body that never ends after its first chunk. */
async function requested() {
  const cancel = vi.fn();
  const source = { start: (to: ReadableStreamDefaultController) => to.enqueue(Uint8Array.of(1)) };
  const request = undiciRequest({
    fetch: async () => new Response(new ReadableStream({ ...source, cancel })),
  });
  return { ...(await request('https://api.example.com/')), cancel };
}

describe('the body of an answer', () => {
  it('is cancelled when it is destroyed before it was read', async () => {
    const { body, cancel } = await requested();
    body.destroy();
    await once(body, 'close');
    expect(cancel).toHaveBeenCalledOnce();
  });

  it('is cancelled when it is destroyed while it waits for a chunk', async () => {
    const { body, cancel } = await requested();
    body.resume();
    await once(body, 'data');
    body.destroy();
    await once(body, 'close');
    expect(cancel).toHaveBeenCalledOnce();
  });

  it('may be destroyed after a method has read it', async () => {
    const request = undiciRequest({ fetch: async () => new Response('whole') });
    const { body } = await request('https://api.example.com/');
    expect(await body.text()).toBe('whole');
    body.destroy();
    await once(body, 'close');
    expect(body.errored).toBeNull();
  });
});

describe('dump', () => {
  /** Requests a body of chunks of ten bytes. `sent` returns how many of them were read. */
  async function dumped(chunks: number, end: 'close' | 'error' = 'close') {
    let sent = 0;
    const pull = (to: ReadableStreamDefaultController) => {
      if (sent === chunks) return end === 'close' ? to.close() : to.error(new Error('broke off'));
      sent += 1;
      to.enqueue(new Uint8Array(10));
    };
    const [cancel, highWaterMark] = [vi.fn(), 0];
    const stream = new ReadableStream({ pull, cancel }, { highWaterMark });
    const request = undiciRequest({ fetch: async () => new Response(stream) });
    const { body } = await request('https://api.example.com/');
    return { body, cancel, sent: () => sent };
  }

  it('reads a body to its end, so that its answer counts as delivered', async () => {
    const { body, cancel, sent } = await dumped(5);
    expect([body.bodyUsed, body.readableEnded]).toEqual([false, false]);
    expect(await body.dump({ limit: 50 })).toBeNull();
    expect([body.bodyUsed, body.readableEnded, sent()]).toEqual([true, true, 5]);
    expect(cancel).not.toHaveBeenCalled();
    expect(await body.dump()).toBeNull();
  });

  it('reads up to 128 KiB by default, and cancels what is longer', async () => {
    const { body, cancel } = await dumped(Infinity);
    expect(await body.dump()).toBeNull();
    expect(cancel).toHaveBeenCalledOnce();
    const whole = await dumped(13_107);
    expect(await whole.body.dump()).toBeNull();
    expect(whole.cancel).not.toHaveBeenCalled();
  });

  it('is quiet about a body that breaks off, or that a method has read', async () => {
    const { body } = await dumped(1, 'error');
    expect(await body.dump()).toBeNull();
    const read = await dumped(1);
    await read.body.text();
    expect(await read.body.dump()).toBeNull();
  });

  it('cancels the body and rejects with the reason when its signal is aborted', async () => {
    for (const isEarly of [true, false]) {
      const { body, cancel } = await requested();
      const [controller, reason] = [new AbortController(), new Error('no longer')];
      if (isEarly) controller.abort(reason);
      const dumping = body.dump({ signal: controller.signal });
      controller.abort(reason);
      await expect(dumping).rejects.toBe(reason);
      expect(cancel).toHaveBeenCalledOnce();
    }
  });
});

it('gives a body as bytes, and as a stream of the web', async () => {
  const request = undiciRequest({ fetch: async () => new Response('whole') });
  const answered = async () => (await request('https://api.example.com/')).body;
  expect(await (await answered()).bytes()).toEqual(new TextEncoder().encode('whole'));
  expect(await new Response((await answered()).body).text()).toBe('whole');
});

it('sends a body without a method by PUT, as undici does, and an empty text not at all', async () => {
  const { server, request } = await served((_, response) => response.end());
  for (const body of ['text', Buffer.from('bytes'), '', undefined])
    await (await request(server.origin, { body })).body.text();
  await (await request(server.origin, { method: '', body: 'text' })).body.text();
  expect(server.seen.map(({ method, body }) => `${method} ${body.toString()}`)).toEqual([
    ...['PUT text', 'PUT bytes', 'GET ', 'GET ', 'PUT text'],
  ]);
});

/** Starts a server, and returns it with a function that sends to it through the runtime's fetch. */
async function served(answer: Parameters<typeof startRecording>[0]) {
  const server = await startRecording(answer);
  onTestFinished(() => server.close());
  return { server, request: undiciRequest({ fetch: globalThis.fetch }) };
}

it('sends a query as undici does, after the query of the address', async () => {
  const { server, request } = await served((_, response) => response.end());
  const query = { page: undefined, size: null, text: 'a b', ids: [1, null, 2n], at: new Date(0) };
  const { body } = await request(`${server.origin}/?first=%20`, { query: { ...query, all: true } });
  await body.text();
  expect(server.seen.map(({ url }) => url)).toEqual([
    '/?first=%20&page=&size=&text=a%20b&ids=1&ids=&ids=2&at=&all=true',
  ]);
});

it('asks for no zstd by itself, because only some versions of fetch decode it', async () => {
  const { server, request } = await served((_, response) => response.end());
  for (const headers of [{}, { 'Accept-Encoding': 'zstd' }, { Range: 'bytes=0-1' }])
    await (await request(server.origin, { headers })).body.text();
  expect(server.seen.map((seen) => headersSent(seen)['accept-encoding'])).toEqual([
    ...['br, gzip, deflate', 'zstd', 'identity'],
  ]);
});

describe('the headers of a compressed answer', () => {
  const packed = gzipSync('whole');
  const length = String(packed.length);

  it.each([
    ['are left out if fetch has decoded the body', 'GET', 'X-Gzip', {}, 'whole'],
    [
      'stay if fetch knows no such coding',
      ...(['GET', 'gzip, aes128gcm'] as const),
      { 'content-encoding': 'gzip, aes128gcm', 'content-length': length },
      packed.toString(),
    ],
    [
      'stay if there is no body',
      ...(['HEAD', 'gzip'] as const),
      { 'content-encoding': 'gzip', 'content-length': length },
      '',
    ],
  ])('%s', async (_, method, coding, kept, text) => {
    const { server, request } = await served((__, response) => {
      response.writeHead(200, { 'content-encoding': coding, 'content-length': length });
      response.end(packed);
    });
    const { headers, body } = await request(server.origin, { method });
    const { connection: _connection, date: _date, 'keep-alive': _keep, ...rest } = headers;
    expect([rest, await body.text()]).toEqual([kept, text]);
  });
});

it('refuses a stream that fetch would send as its name', async () => {
  const fetch = vi.fn<typeof globalThis.fetch>();
  const url = 'https://api.example.com/';
  // The package form-data declares its forms as `Readable`, which they are not.
  const body = Object.assign(new EventEmitter(), { pipe: () => undefined });
  const options = Object.assign({ method: 'POST' }, { body });
  const asked: unknown = Reflect.apply(undiciRequest({ fetch }), undefined, [url, options]);
  await expect(asked).rejects.toMatchObject({ code: 'invalid_option' });
  expect(fetch).not.toHaveBeenCalled();
});
