import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import https from 'node:https';
import { syncBuiltinESMExports } from 'node:module';
import {
  createServer as createTcpServer,
  type AddressInfo,
  type Server,
  type Socket,
} from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { deliverOver } from '../../../adapters/webhooks/deliver.js';
import { resolveByDns, type Resolve } from '../../../adapters/webhooks/resolve.js';

/** Addresses that https would connect to; a failing lookup keeps requests on this machine. */
const net = { connected: [] as string[] };
const { request } = https;
beforeAll(() => {
  const observed = (url: string | URL, options: https.RequestOptions) =>
    request(url, {
      ...options,
      lookup: (hostname, lookupOptions, callback) =>
        options.lookup!(hostname, lookupOptions, (error, address, family) => {
          net.connected.push(
            ...(Array.isArray(address) ? address.map((entry) => entry.address) : [address]),
          );
          callback(error ?? new Error('not in a test'), address, family);
        }),
    });
  vi.spyOn(https, 'request').mockImplementation(observed);
  // Modules with a named import of `request` need the sync.
  syncBuiltinESMExports();
});
afterAll(() => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
});

afterEach(() => void (net.connected.length = 0));

async function listening(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
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
  return deliverOver({ rules: LOOSE, resolve: nowhere, timeoutMs: 60_000, ...over })(
    message(url),
    signal,
  );
}

describe('a delivery', () => {
  it('posts the signed body unchanged, and returns the status', async () => {
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

  it.each([301, 302, 303, 307, 308])('does not follow a redirect with %i', async (status) => {
    let calls = 0;
    const url = await receiver((_, response) => {
      calls += 1;
      response.writeHead(status, { location: '/elsewhere' }).end();
    });
    expect(await tell(url)).toMatchObject({ status });
    expect(calls).toBe(1);
  });

  it('returns the Retry-After header of the answer', async () => {
    const url = await receiver((_, response) =>
      response.writeHead(429, { 'retry-after': '7' }).end(),
    );
    expect(await tell(url)).toEqual({ status: 429, retryAfter: '7' });
  });

  it.each<[string, (response: ServerResponse) => void]>([
    ['never ends', (response) => response.write('x')],
    ['is cut off', (response) => response.write('x', () => response.destroy())],
    [
      'has no end, of which it reads little',
      (response) => {
        const chunk = Buffer.alloc(65_536);
        const more = (): void => {
          while (!response.destroyed && response.write(chunk));
        };
        response.on('drain', more);
        more();
      },
    ],
  ])('returns the status of an answer with a body that %s', async (_, body) => {
    let closed: Promise<unknown> = Promise.resolve();
    const url = await receiver((_, response) => {
      closed = new Promise((resolve) => response.on('close', resolve));
      response.writeHead(200);
      body(response);
    });
    expect(await tell(url)).toMatchObject({ status: 200 });
    await closed;
  });

  it('rejects and closes the connection when no answer comes in time', async () => {
    let closed: Promise<unknown> = Promise.resolve();
    const url = await receiver((request) => {
      closed = new Promise((resolve) => request.socket.on('close', resolve));
    });
    await expect(tell(url, { timeoutMs: 50 })).rejects.toThrow();
    await closed;
  });

  it('rejects when the name is not resolved in time', async () => {
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
    ['does not speak HTTP', (socket) => socket.end('SSH-2.0-OpenSSH\r\n')],
    [
      'switches protocols',
      (socket) =>
        socket.write(
          'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n',
        ),
    ],
    [
      'sends endless headers',
      (socket) => socket.write(`HTTP/1.1 200 OK\r\nx: ${'x'.repeat(100_000)}`),
    ],
  ])('rejects when the connection %s', async (_, answer) => {
    const port = await listening(
      createTcpServer((socket) =>
        socket.on('error', () => undefined).once('data', () => answer(socket)),
      ),
    );
    await expect(tell(`http://127.0.0.1:${port}/`)).rejects.toThrow();
  });

  it('rejects when nothing listens', async () => {
    await expect(tell('http://127.0.0.1:1/')).rejects.toThrow(/ECONNREFUSED/);
  });

  it('rejects when its signal aborts', async () => {
    const controller = new AbortController();
    const url = await receiver(() => controller.abort());
    await expect(tell(url, {}, controller.signal)).rejects.toThrow();
  });

  it('ignores proxy variables of the environment', async () => {
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

describe('the resolution of a name', () => {
  it('runs at each delivery, and the connection goes to the checked address', async () => {
    const port = Number(
      new URL(await receiver((request, response) => response.end(request.headers.host))).port,
    );
    let calls = 0;
    const resolve: Resolve = async () => ((calls += 1), ['127.0.0.1']);
    // No name server knows this name, so only the checked address can lead to the receiver.
    for (const round of [1, 2]) {
      expect(await tell(`http://hooks.example.com:${port}/`, { resolve })).toMatchObject({
        status: 200,
      });
      expect(calls).toBe(round);
    }
  });

  it('keeps the name in the Host header', async () => {
    let host: string | undefined;
    const port = Number(
      new URL(await receiver(({ headers }, response) => ((host = headers.host), response.end())))
        .port,
    );
    await tell(`http://hooks.example.com:${port}/`, { resolve: async () => ['127.0.0.1'] });
    expect(host).toBe(`hooks.example.com:${port}`);
  });

  it('refuses a name that moved to a private address after the last delivery', async () => {
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
  ])('refuses the name when any of its addresses is not public: %j', async (addresses) => {
    await expect(
      tell('https://hooks.example.com/', { rules: STRICT, resolve: async () => addresses }),
    ).rejects.toThrow(/does not lead outside/);
    expect(net.connected).toEqual([]);
  });

  it('offers every public address, IPv4 before IPv6', async () => {
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
  ])('refuses the URL %s at delivery even if it is on record', async (url) => {
    await expect(
      tell(url, { rules: STRICT, resolve: async () => ['93.184.215.14'] }),
    ).rejects.toMatchObject({ code: 'invalid_option' });
    expect(net.connected).toEqual([]);
  });

  it('returns loopback addresses for localhost without a DNS query', async () => {
    expect(await resolveByDns('localhost', never)).toEqual(['127.0.0.1', '::1']);
    const url = await receiver((_, response) => response.writeHead(204).end());
    expect(
      await tell(url.replace('127.0.0.1', 'localhost'), { resolve: resolveByDns }),
    ).toMatchObject({ status: 204 });
  });

  it('waits for a slow connection to the first of two addresses', async () => {
    const url = await receiver((_, response) => response.writeHead(204).end());
    // This process is busy for longer than Node's own time limit for one address, of 250 ms.
    const keepBusy = () => {
      for (const since = performance.now(); performance.now() - since < 400;);
    };
    const slow = (about: unknown) => {
      const { socket } = about as { readonly socket: Socket }; // By the channel's documentation.
      socket.once('connectionAttempt', () => process.nextTick(keepBusy));
    };
    subscribe('net.client.socket', slow);
    onTestFinished(() => void unsubscribe('net.client.socket', slow));
    expect(
      await tell(url.replace('127.0.0.1', 'localhost'), { resolve: resolveByDns }),
    ).toMatchObject({ status: 204 });
  });

  it('rejects with the reason of an aborted signal', async () => {
    const controller = new AbortController();
    controller.abort('had enough');
    await expect(resolveByDns('hooks.example.com', controller.signal)).rejects.toBe('had enough');
  });
});
