import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import { expressHandler } from 'exact-change/express';
import { honoHandler } from 'exact-change/hono';
import { nextRoutes } from 'exact-change/next';
import { nodeListener, serve, type FetchHandler } from 'exact-change/node';
import express, { type RequestHandler } from 'express';
import { Hono } from 'hono';

export interface Mounted {
  /** Includes the path below which the handler is mounted. */
  readonly url: string;
  close(): Promise<void>;
}

export interface Mount {
  readonly name: string;
  /** True if a parser reads the body before the handler. */
  readonly parses: boolean;
  /** Serves a handler with `basePath` `/pay`, beside a route of the framework itself. */
  start(handler: FetchHandler): Promise<Mounted>;
}

/** Mounts for frameworks that only `npm run test:package` installs. */
export const MOUNTS_OF_PACKAGE_TESTS: readonly string[] = ['fastify', 'koa'];

/** Ways to mount a handler on the real frameworks. */
export const MOUNTS: readonly Mount[] = [
  { name: 'node', parses: false, start: (handler) => underServe(handler) },
  {
    name: 'a listener of node:http',
    parses: false,
    start: (handler) => listening(createServer(nodeListener(handler))),
  },
  { name: 'express', parses: false, start: (handler) => inExpress(handler) },
  {
    name: 'express after express.json()',
    parses: true,
    start: (handler) => inExpress(handler, express.json()),
  },
  {
    name: 'express after express.raw()',
    parses: true,
    start: (handler) => inExpress(handler, express.raw({ type: '*/*' })),
  },
  {
    name: 'express after express.text()',
    parses: true,
    start: (handler) => inExpress(handler, express.text({ type: '*/*' })),
  },
  { name: 'hono', parses: false, start: (handler) => inHono(handler, false) },
  {
    name: 'hono after a reader of bodies',
    parses: true,
    start: (handler) => inHono(handler, true),
  },
  // The package tests run Next.js itself; this mount imitates the requests that Next.js was
  // measured to pass on.
  { name: 'next', parses: false, start: (handler) => asInNext(handler) },
];

async function underServe(handler: FetchHandler): Promise<Mounted> {
  const { url, close } = await serve(handler, { port: 0 });
  return { url: `${url}/pay`, close: () => close({ graceMs: 0 }) };
}

function inExpress(handler: FetchHandler, ...before: RequestHandler[]): Promise<Mounted> {
  const app = express().set('trust proxy', 1);
  for (const middleware of before) app.use(middleware);
  app.use('/pay', expressHandler(handler));
  app.get('/other', (_, response) => void response.send('other'));
  const listener: RequestListener = (request, response) => void app(request, response);
  return listening(createServer(listener));
}

function inHono(handler: FetchHandler, reads: boolean): Promise<Mounted> {
  const app = new Hono();
  if (reads) {
    app.use(async ({ req }, next) => {
      await req.text();
      await next();
    });
  }
  app.all('/pay/*', honoHandler(handler));
  app.get('/other', (context) => context.text('other'));
  return listening(
    createAdaptorServer({ fetch: app.fetch, createServer, overrideGlobalObjects: false }),
  );
}

/** Gives each request a localhost URL and the header that Next.js adds. */
async function asInNext(handler: FetchHandler): Promise<Mounted> {
  const routes = nextRoutes(handler);
  const served = await serve(
    async (request) => {
      const { method, headers, body, signal } = request;
      const { pathname, search } = new URL(request.url);
      const known = Object.entries(routes).find(([name]) => name === method)?.[1];
      if (known === undefined) return new Response(null, { status: 405 });
      const named = new Headers([...headers, ['x-forwarded-proto', 'http']]);
      const init = { method, headers: named, body, signal };
      return known(
        new Request(`https://localhost:3000${pathname}${search}`, {
          ...init,
          duplex: 'half',
        } as RequestInit),
      );
    },
    { port: 0 },
  );
  return { url: `${served.url}/pay`, close: () => served.close({ graceMs: 0 }) };
}

export interface Listens {
  listen(port: number, hostname: string, done: () => void): unknown;
  address(): AddressInfo | string | null;
  close(done: () => void): unknown;
  closeAllConnections?(): void;
}

export async function listening(server: Listens): Promise<Mounted> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // A bound TCP server's address is never a pipe's name or null.
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/pay`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections?.();
      }),
  };
}
