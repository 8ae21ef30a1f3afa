import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import { expressHandler } from 'exact-change/express';
import { honoHandler } from 'exact-change/hono';
import { createHandler } from 'exact-change/http';
import { nodeListener, serve } from 'exact-change/node';
import express from 'express';
import { Hono } from 'hono';
import { afterEach, describe, expect, it } from 'vitest';
import { openSocket, readToEnd } from '../helpers/raw.js';
import { fakeRegistry } from '../unit/http/fake-registry.js';
import { fakeTransport } from '../unit/http/fake.js';

const DENIED = '/pay/api/webhooks';
const handler = createHandler(fakeTransport().transport, {
  basePath: '/pay',
  webhooks: fakeRegistry(),
});

/** Forms of a path that a URL parser maps to the same path, and a framework does not. */
const OTHER_FORMS = [
  '/pay/x/../api/webhooks',
  '/pay/./api/webhooks',
  '/pay/api/./webhooks',
  '/pay/api/x/../webhooks?a=1',
  '/other/../pay/api/webhooks',
  '/../pay/api/webhooks',
  '/pay/%2e/api/webhooks',
  '/pay/%2E/api/webhooks',
  '/pay/x/%2e%2e/api/webhooks',
  '/pay/x/.%2E/api/webhooks',
  '/pay/x/%2e./api/webhooks',
  '/pay\\api\\webhooks',
  '/pay/api\\webhooks',
  '/pay/x\\..\\api/webhooks',
  '/pay/api%2fwebhooks',
  '/pay/api%5Cwebhooks',
  '/pay/%61pi/webhooks',
  '/pay/api/webhooks#',
  '/pay/api/webhooks#/../..',
  '//pay/api/webhooks',
  '/pay//api/webhooks',
  '/pay/api/webhooks/',
  '/pay/api/webhooks/.',
  '/pay/api/webhooks/x/..',
  'http://127.0.0.1/pay/x/../api/webhooks',
  'http://127.0.0.1\\pay/api/webhooks',
  'http://127.0.0.1/pay\\api/webhooks',
];

const servers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of servers.splice(0)) await close();
});

interface Listens {
  listen(port: number, hostname: string, done: () => void): unknown;
  address(): AddressInfo | string | null;
  close(done: () => void): unknown;
}

async function listening(server: Listens): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  servers.push(() => new Promise<void>((resolve) => server.close(resolve)));
  // The address of a bound TCP server is never the name of a pipe or null.
  const { port } = server.address() as AddressInfo;
  return `http://127.0.0.1:${port}`;
}

const inExpress = (app: express.Express) => {
  const listener: RequestListener = (request, response) => void app(request, response);
  return listening(createServer(listener));
};

/**
 * Starts the same handler behind a rule of the framework, which lets no caller list or register
 * webhooks.
 */
const FRAMEWORKS: Readonly<Record<string, () => Promise<string>>> = {
  express: () => {
    const app = express();
    app.use(DENIED, (_, response) => void response.status(403).end());
    app.use('/pay', expressHandler(handler));
    return inExpress(app);
  },
  'a router of express': () => {
    const [app, router] = [express(), express.Router()];
    router.use('/api/webhooks', (_, response) => void response.status(403).end());
    router.use(expressHandler(handler));
    app.use('/pay', router);
    return inExpress(app);
  },
  hono: () => {
    const app = new Hono();
    for (const path of [DENIED, `${DENIED}/*`]) app.all(path, (context) => context.body(null, 403));
    app.all('*', honoHandler(handler));
    return listening(
      createAdaptorServer({ fetch: app.fetch, createServer, overrideGlobalObjects: false }),
    );
  },
  'a listener of node:http': () => {
    const listener = nodeListener(handler);
    return listening(
      createServer((request, response) => {
        if (request.url?.split('?')[0] === DENIED) response.writeHead(403).end();
        else listener(request, response);
      }),
    );
  },
};

/** Sends a request line as it stands, since a client would normalize it, and returns the answer. */
async function answerTo(
  url: string,
  target: string,
  headers: readonly string[] = [],
): Promise<{ readonly status: number; readonly text: string }> {
  const lines = [
    `GET ${target} HTTP/1.1`,
    'Host: 127.0.0.1',
    'Connection: close',
    ...headers,
    '',
    '',
  ];
  const text = await readToEnd(await openSocket(url, lines.join('\r\n')));
  return { status: Number(text.split(' ')[1]), text };
}

describe.each(Object.entries(FRAMEWORKS))('a service behind a rule of %s', (_, start) => {
  it('lets no other form of a path past the rule', async () => {
    const url = await start();
    expect((await answerTo(url, DENIED)).status).toBe(403);
    expect((await answerTo(url, '/pay/api/health')).status).toBe(200);
    for (const target of OTHER_FORMS)
      expect([target, (await answerTo(url, target)).status]).not.toEqual([target, 200]);
  });
});

describe('a path that normalizes to another path', () => {
  it.each(OTHER_FORMS.filter((form) => form.startsWith('/')))(
    'is answered with a problem by the listener: %s',
    async (target) => {
      const service = await serve(handler, { port: 0, hosts: ['127.0.0.1'] });
      servers.push(() => service.close({ graceMs: 0 }));
      const { status, text } = await answerTo(service.url, target);
      expect([status, text]).toEqual([
        404,
        expect.stringMatching(/content-type: application\/problem\+json[^]*"code":"not_found"/),
      ]);
    },
  );
});

describe('express', () => {
  it('serves the path that it routed on, if middleware changed the path before', async () => {
    const app = express();
    app.use((request, _, next) => {
      request.url = request.url
        .replace(/^\/(?:v1|hidden)\//, '/pay/')
        .replace('webhooks', 'nothing');
      next();
    });
    app.use('/pay', expressHandler(handler));
    const url = await inExpress(app);
    expect((await answerTo(url, DENIED)).status).toBe(404);
    expect((await answerTo(url, '/v1/api/health')).status).toBe(200);
    expect((await answerTo(url, 'http://127.0.0.1/pay/api/health')).status).toBe(200);
  });

  it.each([
    'https://x/pay/api/webhooks#',
    'https://x/pay/api/webhooks?',
    'HTTPS',
    'ftp',
    'javascript',
    'https:',
    'http:/',
    'https://x\\',
  ])('refuses a scheme of the proxy other than http and https: %s', async (proto) => {
    const app = express().set('trust proxy', true);
    app.use('/pay', expressHandler(handler));
    const url = await inExpress(app);
    const { status, text } = await answerTo(url, '/pay/api/health', [
      `X-Forwarded-Proto: ${proto}`,
    ]);
    expect([status, text]).toEqual([400, expect.stringContaining('"code":"malformed_request"')]);
  });

  it.each(['http', 'https'])('uses the scheme that the proxy names: %s', async (proto) => {
    const app = express().set('trust proxy', true);
    const seen: string[] = [];
    app.use(expressHandler(async (request) => (seen.push(request.url), new Response())));
    await answerTo(await inExpress(app), '/pay/api/health?a=/../b', [
      `X-Forwarded-Proto: ${proto}`,
    ]);
    expect(seen).toEqual([`${proto}://127.0.0.1/pay/api/health?a=/../b`]);
  });
});

describe('the handler itself', () => {
  it('uses the path as written when no code has normalized the request', async () => {
    const request = new Request('https://pay.example.com/pay/api/health');
    // Some servers pass a request that is not of the platform's own class.
    const raw = new Proxy(request, {
      get: (target, name) => {
        if (name === 'url') return 'https://pay.example.com/pay/x/../api/health';
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    expect((await handler(request)).status).toBe(200);
    expect((await handler(raw)).status).toBe(404);
  });
});
