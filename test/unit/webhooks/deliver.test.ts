import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import https from 'node:https';
import { syncBuiltinESMExports } from 'node:module';
import {
  createServer as createTcpServer,
  type AddressInfo,
  type Server,
  type Socket,
} from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { deliverOver } from '../../../adapters/webhooks/deliver.js';
import { resolveByDns, type Resolve } from '../../../adapters/webhooks/resolve.js';

/** Where https would connect to: it is asked for as Node does, and no server outside is called. */
const net = { connected: [] as string[] };
const { request } = https;
beforeAll(() => {
  const observed = (url: string | URL, options: https.RequestOptions) =>
    request(url, {
      ...options,
      lookup: (hostname, asked, callback) =>
        options.lookup!(hostname, asked, (error, address, family) => {
          net.connected.push(
            ...(Array.isArray(address) ? address.map((one) => one.address) : [address]),
          );
          callback(error ?? new Error('not in a test'), address, family);
        }),
    });
  vi.spyOn(https, 'request').mockImplementation(observed);
  // Also for modules that have imported it by its name.
  syncBuiltinESMExports();
});
afterAll(() => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
});

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
  net.connected.length = 0;
});

async function listening(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return (server.address() as AddressInfo).port; // A bound TCP server's.
}

const receiver = async (answer: (request: IncomingMessage, response: ServerResponse) => void) =>
  `http://127.0.0.1:${await listening(createServer(answer))}/hook`;

const LOOSE = { allowPrivate: true, ports: [443] };
const STRICT = { allowPrivate: false, ports: [443] };
const message = (url: string) => ({
  url,
  headers: { 'content-type': 'application/json', 'webhook-id': 'a' },
  body: '{"ü":1}',
});
const never = new AbortController().signal;
const nowhere: Resolve = () => Promise.reject(new Error('no resolver should be asked'));

function tell(url: string, over: Partial<Parameters<typeof deliverOver>[0]> = {}, signal = never) {
  return deliverOver({ rules: LOOSE, resolve: nowhere, timeoutMs: 5_000, ...over })(
    message(url),
    signal,
  );
}

describe('a delivery', () => {
  it('posts the body as it was signed, and gives the status', async () => {
    const seen: unknown[] = [];
    const url = await receiver((request, response) => {
      let body = '';
      request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
      request.on('end', () => {
        const { method, url: path, headers } = request;
        seen.push({
          method,
          path,
          body,
          type: headers['content-type'],
          length: headers['content-length'],
          id: headers['webhook-id'],
        });
        response.writeHead(202).end('thanks');
      });
    });
    expect(await tell(url)).toEqual({ status: 202, retryAfter: undefined });
    expect(seen).toEqual([
      {
        method: 'POST',
        path: '/hook',
        body: '{"ü":1}',
        type: 'application/json',
        length: '8',
        id: 'a',
      },
    ]);
  });

  it.each([301, 302, 303, 307, 308])('follows no redirect: %i', async (status) => {
    let calls = 0;
    const url = await receiver((_, response) => {
      calls += 1;
      response.writeHead(status, { location: '/elsewhere' }).end();
    });
    expect(await tell(url)).toMatchObject({ status });
    expect(calls).toBe(1);
  });

  it('hands on when to come again', async () => {
    const url = await receiver((_, response) =>
      response.writeHead(429, { 'retry-after': '7' }).end(),
    );
    expect(await tell(url)).toEqual({ status: 429, retryAfter: '7' });
  });

  it.each<[string, (response: ServerResponse) => void]>([
    ['that never ends', (response) => response.write('x')],
    ['that is cut off', (response) => response.write('x', () => response.destroy())],
    [
      'of a gigabyte, of which it takes little',
      (response) => {
        const chunk = Buffer.alloc(65_536);
        const more = (): void => {
          while (!response.destroyed && response.write(chunk));
        };
        response.on('drain', more);
        more();
      },
    ],
  ])('goes by the status of an answer %s', async (_, body) => {
    let closed: Promise<unknown> = Promise.resolve();
    const url = await receiver((_, response) => {
      closed = new Promise((resolve) => response.on('close', resolve));
      response.writeHead(200);
      body(response);
    });
    expect(await tell(url)).toMatchObject({ status: 200 });
    await closed;
  });

  it('fails if there is no answer in time, and leaves the connection', async () => {
    let closed: Promise<unknown> = Promise.resolve();
    const url = await receiver((request) => {
      closed = new Promise((resolve) => request.socket.on('close', resolve));
    });
    await expect(tell(url, { timeoutMs: 50 })).rejects.toThrow();
    await closed;
  });

  it('fails if the name is not found in time', async () => {
    await expect(
      tell('http://slow.example.com/', {
        timeoutMs: 50,
        resolve: () => new Promise(() => undefined),
      }),
    ).rejects.toThrow(/deadline/);
  });

  it.each<[string, (socket: Socket) => void]>([
    ['is reset', (socket) => socket.resetAndDestroy()],
    ['is closed', (socket) => socket.end()],
    ['is of no HTTP', (socket) => socket.end('SSH-2.0-OpenSSH\r\n')],
    [
      'speaks of another protocol',
      (socket) =>
        socket.write(
          'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n',
        ),
    ],
    [
      'has headers without end',
      (socket) => socket.write(`HTTP/1.1 200 OK\r\nx: ${'x'.repeat(100_000)}`),
    ],
  ])('fails if the connection %s', async (_, answer) => {
    const port = await listening(
      createTcpServer((socket) =>
        socket.on('error', () => undefined).once('data', () => answer(socket)),
      ),
    );
    await expect(tell(`http://127.0.0.1:${port}/`)).rejects.toThrow();
  });

  it('fails when nothing listens', async () => {
    await expect(tell('http://127.0.0.1:1/')).rejects.toThrow(/ECONNREFUSED/);
  });

  it('ends when it is told to', async () => {
    const controller = new AbortController();
    const url = await receiver(() => controller.abort());
    await expect(tell(url, {}, controller.signal)).rejects.toThrow();
  });

  it('knows no proxy of the environment', async () => {
    let calls = 0;
    const proxy = await receiver((_, response) => {
      calls += 1;
      response.end();
    });
    for (const name of ['http_proxy', 'HTTP_PROXY', 'https_proxy', 'HTTPS_PROXY', 'ALL_PROXY'])
      vi.stubEnv(name, proxy);
    vi.stubEnv('NODE_USE_ENV_PROXY', '1');
    const url = await receiver((_, response) => response.writeHead(204).end());
    expect(await tell(url)).toMatchObject({ status: 204 });
    expect(calls).toBe(0);
    vi.unstubAllEnvs();
  });
});

describe('where a name leads', () => {
  it('is asked for at each delivery, and what was checked is what is connected to', async () => {
    const port = Number(
      new URL(await receiver((request, response) => response.end(request.headers.host))).port,
    );
    let calls = 0;
    const resolve: Resolve = async () => ((calls += 1), ['127.0.0.1']);
    // No name server knows it: only the checked address can have led there.
    for (const round of [1, 2]) {
      expect(await tell(`http://hooks.example.com:${port}/`, { resolve })).toMatchObject({
        status: 200,
      });
      expect(calls).toBe(round);
    }
  });

  it('keeps its name in the request, whatever the address', async () => {
    let host: string | undefined;
    const port = Number(
      new URL(await receiver(({ headers }, response) => ((host = headers.host), response.end())))
        .port,
    );
    await tell(`http://hooks.example.com:${port}/`, { resolve: async () => ['127.0.0.1'] });
    expect(host).toBe(`hooks.example.com:${port}`);
  });

  it('is not connected to if it has moved inside since', async () => {
    const answers = [['93.184.215.14'], ['127.0.0.1'], ['169.254.169.254']];
    const resolve: Resolve = async () => answers.shift() ?? [];
    const strict = { rules: STRICT, resolve };
    await expect(tell('https://hooks.example.com/', strict)).rejects.toThrow('not in a test');
    expect(net.connected).toEqual(['93.184.215.14']);
    for (let round = 0; round < 3; round += 1)
      await expect(tell('https://hooks.example.com/', strict)).rejects.toThrow(
        /does not lead outside/,
      );
    expect(net.connected).toEqual(['93.184.215.14']);
  });

  it.each([
    [['93.184.215.14', '10.0.0.1']],
    [['127.0.0.1', '93.184.215.14']],
    [['93.184.215.14', '::1']],
    [['2606:4700::1111', 'fd00:ec2::254']],
    [['2606:4700::1111', '::ffff:93.184.215.14']],
    [['93.184.215.14', 'fe80::1%eth0']],
    [['93.184.215.14', '0x5db8d70e']],
    [['64:ff9b::5db8:d70e']],
    [['']],
    [[]],
  ])('is refused as a whole if one address of it is not public: %j', async (addresses) => {
    await expect(
      tell('https://hooks.example.com/', { rules: STRICT, resolve: async () => addresses }),
    ).rejects.toThrow(/does not lead outside/);
    expect(net.connected).toEqual([]);
  });

  it('may be any of several public addresses, those of IPv4 first', async () => {
    const resolve: Resolve = async () => ['2606:4700::1111', '93.184.215.14', '1.1.1.1'];
    await expect(tell('https://hooks.example.com/', { rules: STRICT, resolve })).rejects.toThrow();
    expect(net.connected).toEqual(['93.184.215.14', '1.1.1.1', '2606:4700::1111']);
  });

  it.each([
    'https://127.0.0.1/',
    'https://[::1]/',
    'https://localhost/',
    'http://hooks.example.com/',
    'https://hooks.example.com:8443/',
  ])('is checked anew if %s is on record', async (url) => {
    await expect(
      tell(url, { rules: STRICT, resolve: async () => ['93.184.215.14'] }),
    ).rejects.toMatchObject({ code: 'invalid_option' });
    expect(net.connected).toEqual([]);
  });

  it('is this machine for localhost, without asking a resolver', async () => {
    expect(await resolveByDns('localhost', never)).toEqual(['127.0.0.1', '::1']);
    const url = await receiver((_, response) => response.writeHead(204).end());
    expect(
      await tell(url.replace('127.0.0.1', 'localhost'), { resolve: resolveByDns }),
    ).toMatchObject({ status: 204 });
  });

  it('is no longer asked for when time is up', async () => {
    const controller = new AbortController();
    controller.abort('had enough');
    await expect(resolveByDns('hooks.example.com', controller.signal)).rejects.toBe('had enough');
  });
});
