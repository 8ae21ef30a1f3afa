import { once } from 'node:events';
import { Agent, createServer } from 'node:http';
import { connect as connectHttp2, createServer as createHttp2Server } from 'node:http2';
import type { AddressInfo, Server, Socket } from 'node:net';
import { platform } from 'node:process';
import { createHandler } from 'exact-change/http';
import {
  nodeListener,
  serve,
  type FetchHandler,
  type ListenerOptions,
  type ServeOptions,
  type Service,
} from 'exact-change/node';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { until } from '../helpers/chain.js';
import { openSocket, rawRequest, readToEnd } from '../helpers/raw.js';
import { fakeTransport } from '../unit/http/fake.js';

const HALF = 'GET /api/health HTTP/1.1\r\nHost: 127.0.0.1\r\nx-slow: ';
const SMALL = 'GET /small HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';
const UNFINISHED_POST =
  'POST /api/x402/parse-payment HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{';

const services: Service[] = [];
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const service of services.splice(0)) await service.close({ graceMs: 0 });
});

const handler = createHandler(fakeTransport().transport);

async function serving(
  options: Partial<ServeOptions> = {},
  handle: FetchHandler = handler,
): Promise<Service> {
  const service = await serve(handle, { port: 0, ...options });
  services.push(service);
  return service;
}

async function socketTo({ url }: Service, text?: string): Promise<Socket> {
  const socket = await openSocket(url, text);
  sockets.push(socket);
  return socket;
}

/** Returns a handler that answers on release, and a promise of its first request. */
function heldHandler() {
  let release = (): void => undefined;
  let arrived = (_: Request): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  const asked = new Promise<Request>((resolve) => (arrived = resolve));
  const handle: FetchHandler = async (request) => {
    arrived(request);
    await released;
    return new Response('done');
  };
  return { handle, asked, release };
}

it.each([
  ['is answered', '127.0.0.1', 200],
  ['is refused under a host that the service does not go by', 'other.example', 404],
])('a request over HTTP/2 %s', async (_, authority, status) => {
  // Its listeners get other classes, with the same members.
  const server: Server = createHttp2Server();
  server.on('request', nodeListener(handler, { hosts: ['127.0.0.1'] })).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const session = connectHttp2(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  onTestFinished(() => {
    session.destroy();
    server.close();
  });
  const request = session.request({ ':path': '/api/health', ':authority': authority });
  const [head] = await once(request, 'response');
  expect(head).toMatchObject({ ':status': status });
});

describe('a caller that is slow on purpose', () => {
  it.each([
    ['in the middle of the headers', HALF],
    ['before the first byte', ''],
    ['in the middle of the body', UNFINISHED_POST],
  ])('is cut off with 408 %s', async (_, text) => {
    const service = await serving({ headersTimeoutMs: 50, requestTimeoutMs: 100 });
    expect(await readToEnd(await socketTo(service, text))).toMatch(/^HTTP\/1\.1 408 /);
  });

  it('has its call aborted with its connection', async () => {
    const { handle, asked } = heldHandler();
    // Its headers must arrive in time.
    const service = await serving({ headersTimeoutMs: 3_000, requestTimeoutMs: 3_000 }, handle);
    const socket = await socketTo(service, UNFINISHED_POST);
    const { signal } = await asked;
    const stopped = new Promise((resolve) =>
      signal.addEventListener('abort', resolve, { once: true }),
    );
    await readToEnd(socket);
    await stopped;
    expect(signal.aborted).toBe(true);
  });

  it('loses its connection if it does not read the answer', async () => {
    // More than the buffers of the system take from the server.
    const large = async ({ url }: Request) =>
      new Response(url.endsWith('/large') ? new Uint8Array(50_000_000) : 'small');
    const service = await serving(
      { headersTimeoutMs: 50, requestTimeoutMs: 100, maxConnections: 1 },
      large,
    );
    await socketTo(service, 'GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await until(
      'the place is free',
      async () => (await readToEnd(await socketTo(service, SMALL))) || undefined,
    );
  });

  it('delays no other caller with a thousand connections', async () => {
    const service = await serving({ headersTimeoutMs: 100_000, requestTimeoutMs: 100_000 });
    const slow: Socket[] = [];
    // No more at once than the system queues for a busy server.
    while (slow.length < 1_000)
      slow.push(...(await Promise.all(Array.from({ length: 250 }, () => socketTo(service, HALF)))));
    const answers = await Promise.all(
      Array.from({ length: 20 }, async () => (await fetch(`${service.url}/api/health`)).json()),
    );
    expect(answers).toEqual(Array.from({ length: 20 }, () => ({ status: 'ok' })));
    expect(slow.filter((socket) => socket.destroyed)).toEqual([]);
  });
});

describe('a crowd of callers that are slow in every way', () => {
  it('is cut off to the last caller, and delays no other caller', async () => {
    // Enough time for honest callers on a busy machine.
    const service = await serving({ headersTimeoutMs: 4_000, requestTimeoutMs: 6_000 });
    const deep = '['.repeat(60_000);
    const long =
      'POST /api/x402/parse-payment HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: ';
    const ways = [
      HALF,
      '',
      UNFINISHED_POST,
      `${long}10000000\r\n\r\n${'x'.repeat(100_000)}`,
      `${long}70000\r\n\r\n${deep}`,
    ];
    const crowd = await Promise.all(
      Array.from({ length: 250 }, (_, index) => socketTo(service, ways[index % ways.length])),
    );
    const cutOff = Promise.all(crowd.map((socket) => readToEnd(socket)));
    const answers = await Promise.all(
      Array.from({ length: 20 }, async () => (await fetch(`${service.url}/api/health`)).json()),
    );
    expect(answers).toEqual(Array.from({ length: 20 }, () => ({ status: 'ok' })));
    const heard = await cutOff;
    expect(heard.map((text) => /^HTTP\/1\.1 (?:408|413) /.test(text))).toEqual(
      heard.map(() => true),
    );
  });
});

describe('a service, for too much input', () => {
  it('closes connections above the limit unread', async () => {
    const service = await serving({ maxConnections: 2 });
    const held = [await socketTo(service, HALF), await socketTo(service, HALF)];
    expect(await readToEnd(await socketTo(service, HALF))).toBe('');
    expect(held.map((socket) => socket.destroyed)).toEqual([false, false]);
    // A connection that ends makes room for another connection.
    held[0]!.end('x\r\n\r\n');
    expect(await readToEnd(held[0]!)).toMatch(/^HTTP\/1\.1 200 /);
    expect((await rawRequest(`${service.url}/api/health`)).status).toBe(200);
  });

  it('refuses headers that are too long before the handler runs', async () => {
    let asked = 0;
    const service = await serving({}, async () => ((asked += 1), new Response()));
    expect(
      (await rawRequest(service.url, { headers: { 'x-long': 'x'.repeat(16_384) } })).status,
    ).toBe(431);
    expect(
      (await rawRequest(service.url, { headers: { 'x-long': 'x'.repeat(16_000) } })).status,
    ).toBe(200);
    expect(asked).toBe(1);
  });

  it('leaves a large body with its sender until the handler reads it', async () => {
    let read = (): void => undefined;
    const reading = new Promise<void>((resolve) => (read = resolve));
    const service = await serving({}, async ({ method, body }) => {
      if (method === 'GET') return new Response();
      await body?.getReader().read();
      read();
      return new Promise(() => undefined);
    });
    const sender = await socketTo(
      service,
      'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50000000\r\n\r\n',
    );
    sender.write(new Uint8Array(50_000_000));
    await reading;
    // During each request the rest of the body would have time to arrive.
    for (let more = 0; more < 20; more += 1) await rawRequest(service.url);
    expect(sender.writableLength).toBeGreaterThan(0);
  });

  it.each([
    ['that is refused', 'POST /api/x402/parse-payment HTTP/1.1\r\nContent-Type: application/json'],
    ['of a path that reads no body', 'POST /nowhere HTTP/1.1'],
    ['that comes with a GET', 'GET /api/health HTTP/1.1'],
  ])('cuts off the connection of a large body %s', async (_, head) => {
    const length = 50_000_000;
    const sender = await socketTo(
      await serving(),
      `${head}\r\nHost: localhost\r\nContent-Length: ${length}\r\n\r\n`,
    );
    const brokenOff = new Promise((resolve) => sender.once('close', resolve));
    sender.resume().write(new Uint8Array(length));
    expect(await brokenOff).toBe(true);
  });

  it('keeps the connection usable after it refused a body', async () => {
    const service = await serving();
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const headers = { 'content-type': 'application/json', 'transfer-encoding': 'chunked' };
    const large = { agent, method: 'POST', headers, body: 'x'.repeat(900_000) };
    expect((await rawRequest(`${service.url}/api/x402/parse-payment`, large)).status).toBe(413);
    expect((await rawRequest(`${service.url}/api/health`, { agent })).status).toBe(200);
    agent.destroy();
  });
});

describe('requests that are sent ahead of their answers', () => {
  /** Returns a handler with a record of its requests and of the most calls at the same time. */
  function countingHandler() {
    const asked: string[] = [];
    let underWay = 0;
    let most = 0;
    const handle: FetchHandler = async ({ url }) => {
      asked.push(new URL(url).pathname);
      underWay += 1;
      most = Math.max(most, underWay);
      await new Promise(setImmediate);
      underWay -= 1;
      return new Response(url.slice(-3));
    };
    return { handle, asked, most: () => most };
  }
  const pipelined = (count: number) =>
    Array.from(
      { length: count },
      (_, index) => `GET /${100 + index} HTTP/1.1\r\nHost: localhost\r\n`,
    );
  const paths = (from: number, count: number) =>
    Array.from({ length: count }, (_, index) => `/${from + index}`);

  it('are handled one at a time and answered in order', async () => {
    const { handle, asked, most } = countingHandler();
    const text = `${pipelined(16).join('\r\n')}Connection: close\r\n\r\n`;
    const heard = await readToEnd(await socketTo(await serving({}, handle), text));
    expect(heard.match(/(?<=\r\n\r\n)\d{3}/g)).toEqual(paths(100, 16).map((path) => path.slice(1)));
    expect(asked).toEqual(paths(100, 16));
    expect(most()).toBe(1);
  });

  it('cost one call and the connection if they are endless', async () => {
    const asked: string[] = [];
    const stopped: AbortSignal[] = [];
    const service = await serving({}, ({ url, signal }) => {
      asked.push(new URL(url).pathname);
      stopped.push(signal);
      return new Promise(() => undefined);
    });
    await readToEnd(await socketTo(service, `${pipelined(900).join('\r\n')}\r\n`));
    expect(asked).toEqual(['/100']);
    await until('the call is stopped', async () => stopped[0]?.aborted || undefined);
  });

  it('no longer count once they are answered', async () => {
    const { handle } = countingHandler();
    const service = await serving({}, handle);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const ports = new Set<number | undefined>();
    agent.on('free', (socket: Socket) => ports.add(socket.localPort));
    for (const path of paths(200, 40))
      expect((await rawRequest(`${service.url}${path}`, { agent })).text).toBe(path.slice(1));
    expect(ports.size).toBe(1);
    agent.destroy();
  });
});

describe('the host that a request names', () => {
  const statusFor = async ({ url, port }: Service, host: string) =>
    (
      await rawRequest(`${url}/api/health`, {
        headers: { host: host.replace('PORT', String(port)) },
      })
    ).status;

  it.each([
    ['localhost', 200],
    ['LOCALHOST:PORT', 200],
    ['127.0.0.1:PORT', 200],
    ['[::1]:80', 200],
    ['attacker.example', 404],
    ['attacker.example:PORT', 404],
    ['127.0.0.1.attacker.example', 404],
    ['localhost.', 404],
    ['user@localhost', 400],
    ['localhost/..', 400],
    ['localhost:99999', 400],
    ['[::::]', 404],
  ])('must be a name of the loopback for a service on the loopback: %s', async (host, status) => {
    expect(await statusFor(await serving(), host)).toBe(status);
  });

  it.each(['LOCALHOST', '::1', '::ffff:127.0.0.1', ...(platform === 'linux' ? ['127.0.0.2'] : [])])(
    'may be the name that the service was given for the loopback, and no foreign name: %s',
    async (hostname) => {
      const service = await serving({ hostname });
      expect((await fetch(`${service.url}/api/health`)).status).toBe(200);
      expect(await statusFor(service, 'localhost')).toBe(200);
      expect(await statusFor(service, 'attacker.example')).toBe(404);
    },
  );

  it('must be one', async () => {
    const service = await serving();
    const two = 'GET /api/health HTTP/1.1\r\nHost: localhost\r\nhost: evil.example\r\n';
    const socket = await socketTo(service, `${two}Connection: close\r\n\r\n`);
    expect(await readToEnd(socket)).toMatch(/^HTTP\/1\.1 400 /);
  });

  it('must be in the list if hosts are listed', async () => {
    const service = await serving({ hosts: ['Pay.example.com', 'pay.example.org:8443'] });
    const asked = [
      'pay.example.com',
      'pay.example.com:1',
      'pay.example.org:8443',
      'pay.example.org',
      'localhost',
    ];
    expect(await Promise.all(asked.map((host) => statusFor(service, host)))).toEqual([
      200, 200, 200, 404, 404,
    ]);
  });

  it('may be any host on other addresses, and for a listener without a list', async () => {
    expect(await statusFor(await serving({ hostname: '0.0.0.0' }), 'pay.example.com')).toBe(200);
    const server = createServer(nodeListener(handler, { hosts: ['pay.example.com'] }));
    expect(() => nodeListener(handler, { hosts: ['https://pay.example.com'] })).toThrow(
      'hosts must be a list of names',
    );
    const misspelt = { host: ['pay.example.com'] } as ListenerOptions;
    expect(() => nodeListener(handler, misspelt)).toThrow('Did you mean hosts?');
    expect(server.listenerCount('request')).toBe(1);
  });

  it('is refused with a problem', async () => {
    const { url } = await serving();
    const headers = { host: 'attacker.example' };
    const answer = await rawRequest(`${url}/api/health`, { headers });
    expect(JSON.parse(answer.text)).toMatchObject({
      status: 404,
      code: 'not_found',
      funds: 'untouched',
    });
    expect(answer.headers).toMatchObject({
      'content-type': 'application/problem+json',
      'cache-control': 'no-store',
    });
    expect(answer.headers['x-request-id']).toMatch(/^[0-9a-f]{32}$/);
    const named = await rawRequest(`${url}/api/health`, {
      headers: { ...headers, 'x-request-id': 'call-7' },
    });
    expect(named.headers['x-request-id']).toBe('call-7');
  });
});

describe('a request line', () => {
  it.each([
    ['GET http://localhost/api/health HTTP/1.1', 200],
    ['GET http://attacker.example/api/health HTTP/1.1', 404],
    ['GET http://localhost@attacker.example/api/health HTTP/1.1', 400],
    ['GET //attacker.example/api/health HTTP/1.1', 404],
    ['GET /api/health?%zz=\\ HTTP/1.1', 200],
    ['OPTIONS * HTTP/1.1', 400],
    ['TRACE /api/health HTTP/1.1', 405],
    ['GET /api/health HTTP/1.0', 200],
  ])('%s is answered with %i', async (line, status) => {
    const service = await serving();
    const text = await readToEnd(
      await socketTo(service, `${line}\r\nHost: localhost\r\nConnection: close\r\n\r\n`),
    );
    expect(text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  });
});

describe('a method that the class Request refuses', () => {
  it.each([
    ['/api/health', 405, 'GET, HEAD'],
    ['/api/swap/build', 405, 'POST'],
    ['/nowhere', 404, undefined],
  ])(
    'is refused as a problem with the allowed methods of the path: %s',
    async (path, status, allow) => {
      const { url } = await serving();
      const answer = await rawRequest(`${url}${path}`, { method: 'TRACE' });
      expect(JSON.parse(answer.text)).toMatchObject({
        status,
        code: status === 405 ? 'method_not_allowed' : 'not_found',
      });
      expect(answer.headers['allow']).toBe(allow);
    },
  );
});

describe('a service that closes', () => {
  it('answers open requests, closes idle connections, and accepts no more', async () => {
    const { handle, asked, release } = heldHandler();
    const service = await serving({}, handle);
    const idle = readToEnd(await socketTo(service));
    const half = readToEnd(await socketTo(service, HALF));
    const agent = new Agent({ keepAlive: true });
    const answer = rawRequest(service.url, { agent });
    await asked;
    const closed = service.close({ graceMs: 60_000 });
    expect(await Promise.all([idle, half])).toEqual(['', '']);
    await expect(fetch(service.url)).rejects.toThrow('fetch failed');
    release();
    expect(await answer).toMatchObject({ text: 'done', headers: { connection: 'close' } });
    await closed;
    agent.destroy();
  });

  it('ends open calls when the grace period is over', async () => {
    const { handle, asked } = heldHandler();
    const service = await serving({}, handle);
    const answer = fetch(service.url);
    const { signal } = await asked;
    const stopped = new Promise((resolve) =>
      signal.addEventListener('abort', resolve, { once: true }),
    );
    await Promise.all([
      service.close({ graceMs: 1 }),
      expect(answer).rejects.toThrow('fetch failed'),
      stopped,
    ]);
    expect(signal.aborted).toBe(true);
  });
});

describe('a stream of events', () => {
  it('reaches its reader part by part, until the reader cancels', async () => {
    let send = (_: string): void => undefined;
    let gone: Promise<void> | undefined;
    const service = await serving({}, async ({ signal }) => {
      gone = new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
      const body = new ReadableStream<Uint8Array>({
        start(controller) {
          send = (text) => controller.enqueue(new TextEncoder().encode(text));
          signal.addEventListener('abort', () => controller.close());
        },
      });
      return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
    });
    const reader = (await fetch(service.url)).body!.getReader();
    for (const part of ['data: 1\n\n', 'data: 2\n\n']) {
      send(part);
      expect(new TextDecoder().decode((await reader.read()).value)).toBe(part);
    }
    await reader.cancel();
    await gone;
  });
});

describe('a handler that throws', () => {
  it('is answered with 500, and its error goes only to onError', async () => {
    const heard: unknown[] = [];
    const failure = new Error('canary');
    const service = await serving({ onError: (error) => heard.push(error) }, () =>
      Promise.reject(failure),
    );
    expect(await rawRequest(service.url)).toMatchObject({ status: 500, text: '' });
    expect(heard).toEqual([failure]);
  });
});

describe('the options of serve', () => {
  it.each<[string, object]>([
    ['port', { port: 65_536 }],
    ['port', { port: '4021' }],
    ['headersTimeoutMs', { headersTimeoutMs: 0 }],
    ['requestTimeoutMs', { headersTimeoutMs: 100, requestTimeoutMs: 99 }],
    ['maxConnections', { maxConnections: 1.5 }],
    ['hosts', { hosts: 'localhost' }],
    ['hosts', { hosts: ['http://localhost'] }],
    ['host', { host: 'localhost' }],
  ])('are checked at once: %s of %o', (option, options) => {
    expect(() => serve(handler, { port: 0, ...options })).toThrow(
      expect.objectContaining({ code: 'invalid_option', details: { option } }),
    );
  });

  it('keep the service on 127.0.0.1 unless they name an address', async () => {
    const { port } = await serving();
    expect((await fetch(`http://127.0.0.1:${port}/api/health`)).status).toBe(200);
    // Another address of this machine.
    await expect(fetch(`http://127.0.0.2:${port}/api/health`)).rejects.toThrow('fetch failed');
  });

  it('fail with EADDRINUSE for a port in use', async () => {
    const { port } = await serving();
    await expect(serve(handler, { port })).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });
});
