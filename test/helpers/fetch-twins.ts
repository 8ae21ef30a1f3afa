import type { RequestListener } from 'node:http';
import {
  HTTPFacilitatorClient,
  x402HTTPResourceServer,
  x402ResourceServer,
} from '@x402/core/server';
import { paymentMiddlewareFromHTTPServer } from '@x402/express';
import { ExactSvmScheme } from '@x402/svm/exact/server';
import express, { type RequestHandler } from 'express';
import type { Sandbox } from 'exact-change-sandbox';
import { serve, type Served } from '../fixtures/legacy/serve.js';
import { recording, type Seen } from './fetch-record.js';

export const MAINNET = 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp';

/** Price of each path below `/paid/`, in base units of USDC. */
export const PRICE = 10_000n;

/** A server, and all requests that it received. */
export interface Recorder extends Served {
  readonly seen: Seen[];
}

/**
 * A handler that is served twice: for free, and behind the official payment middleware, which
 * charges for each path below `/paid/`.
 */
export interface Twins {
  readonly free: Recorder;
  readonly paid: Recorder;
  forget(): void;
  close(): Promise<void>;
}

/** Starts both servers. `handle` finds the request's bytes in `request.body`. */
export async function startTwins(sandbox: Sandbox, handle: RequestHandler): Promise<Twins> {
  const free = await startRecorder(withBody(handle));
  const paid = await startRecorder(withBody(await officialPayments(sandbox), handle));
  return {
    free,
    paid,
    forget: () => void [free, paid].forEach(({ seen }) => seen.splice(0)),
    close: async () => void (await Promise.all([free.close(), paid.close()])),
  };
}

/** Serves a handler of `node:http` and records its requests. */
export async function startRecorder(handle: Parameters<typeof recording>[1]): Promise<Recorder> {
  const seen: Seen[] = [];
  return { ...(await serve(recording(seen, handle))), seen };
}

async function officialPayments(sandbox: Sandbox): Promise<RequestHandler> {
  const server = new x402ResourceServer(
    new HTTPFacilitatorClient({ url: sandbox.facilitatorUrl }),
  ).register(MAINNET, new ExactSvmScheme());
  const accepts = {
    scheme: 'exact',
    network: MAINNET,
    payTo: sandbox.merchant,
    price: { amount: PRICE.toString(), asset: sandbox.mints.USDC.address },
  } as const;
  const http = new x402HTTPResourceServer(server, {
    '/paid/*': { accepts, description: 'A test' },
  });
  await http.initialize();
  return paymentMiddlewareFromHTTPServer(http, undefined, undefined, false);
}

/** Runs Express handlers on a request that has been read to its end. */
function withBody(...handlers: RequestHandler[]): Parameters<typeof recording>[1] {
  const bodies = new WeakMap<object, Buffer>();
  const app = express();
  app.disable('x-powered-by');
  app.use((request, _response, next) => {
    request.body = bodies.get(request);
    next();
  });
  app.use(handlers);
  const listener: RequestListener = app;
  return (request, response, body) => {
    bodies.set(request, body);
    listener(request, response);
  };
}
