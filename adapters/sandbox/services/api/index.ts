import {
  HTTPFacilitatorClient,
  x402HTTPResourceServer,
  x402ResourceServer,
} from '@x402/core/server';
import { paymentMiddlewareFromHTTPServer } from '@x402/express';
import { ExactSvmScheme } from '@x402/svm/exact/server';
import express, { type RequestHandler } from 'express';
import type { SandboxMint } from '../../types.js';
import { MAINNET } from '../facilitator.js';
import { FaultBoard, type ServiceControls } from '../faults.js';
import { listen, sendPreflight } from '../http.js';
import { paymentIdentifiers } from './identifier.js';
import { bookkeeping, type ServedRequest } from './ledger.js';
import { middlewareRoute, PAID_ROUTES, type PaidRoute } from './routes.js';

export type { ServedRequest } from './ledger.js';
export type { PaidRoute } from './routes.js';

/** Controls of the paid API. Endpoints are its paths: `/usdc`, `POST /echo`, ... */
export interface ApiControls extends ServiceControls {
  /** Requests that were served after their payment was verified, oldest first. */
  readonly served: readonly ServedRequest[];
  /** Sets the milliseconds that the handler of `/slow` takes; default 200. */
  setSlowness(milliseconds: number): void;
}

export interface ApiService {
  readonly url: string;
  readonly routes: readonly PaidRoute[];
  readonly controls: ApiControls;
  close(): Promise<void>;
}

export interface ApiOptions {
  readonly port: number;
  readonly facilitatorUrl: string;
  readonly rpcUrl: string;
  /** Payee of every paid route but `/no-account`. */
  readonly merchant: string;
  /** A wallet without any token account: payee of `/no-account`. */
  readonly newcomer: string;
  readonly mints: readonly SandboxMint[];
}

/**
 * Serves the paid API: Express with the official x402 middleware in front of {@link PAID_ROUTES},
 * and `/free`.
 */
export async function startApi(options: ApiOptions): Promise<ApiService> {
  const served: ServedRequest[] = [];
  let slowness = 200;
  const app = express();
  app.disable('x-powered-by');
  app.use(crossOrigin);
  app.use(
    express.json({ strict: false, limit: '1mb' }),
    express.text({ type: ['text/*', 'application/x-www-form-urlencoded'], limit: '1mb' }),
  );
  app.use('/identified', paymentIdentifiers());
  app.use(await Promise.all([payments(options, false), payments(options, true)]));
  app.all(
    '/free',
    (request, response) =>
      void response.json({
        ok: true,
        method: request.method,
        body: (request.body as unknown) ?? null,
      }),
  );
  const ledger = bookkeeping(served);
  for (const route of PAID_ROUTES) {
    const methods = route.methods.map((method) => (method === 'GET' ? 'get' : 'post'));
    for (const method of methods)
      app[method](
        route.path,
        ledger,
        handlerOf(route, () => slowness),
      );
  }

  const board = new FaultBoard();
  const listener = await listen(options.port, board, app);
  return {
    url: listener.url,
    routes: PAID_ROUTES,
    controls: Object.assign(board, {
      served,
      setSlowness: (milliseconds: number) => {
        slowness = milliseconds;
      },
    }),
    close: () => listener.stop(),
  };
}

/** Makes the official middleware for the routes with, or without, a blockhash in the 402. */
async function payments(options: ApiOptions, blockhash: boolean): Promise<RequestHandler> {
  const routes = PAID_ROUTES.filter((route) => (route.blockhash === true) === blockhash).flatMap(
    (route) => {
      const config = middlewareRoute(
        route,
        route.payee === 'newcomer' ? options.newcomer : options.merchant,
        options.mints,
      );
      return route.methods.map((method) => [`${method} ${route.path}`, config] as const);
    },
  );
  const scheme = new ExactSvmScheme(blockhash ? { rpcUrl: options.rpcUrl } : {});
  const server = new x402ResourceServer(
    new HTTPFacilitatorClient({ url: options.facilitatorUrl }),
  ).register(MAINNET, scheme);
  const http = new x402HTTPResourceServer(server, Object.fromEntries(routes));
  // Await this here, so that the API is ready when its start resolves.
  await http.initialize();
  return paymentMiddlewareFromHTTPServer(http, undefined, undefined, false);
}

function handlerOf(route: PaidRoute, slowness: () => number): RequestHandler {
  switch (route.handler) {
    case 'fails':
      return (_request, response) => void response.status(500).json({ error: 'out of order' });
    case 'redirects':
      return (_request, response) => void response.redirect(303, '/free');
    case 'slow':
      return (_request, response) =>
        void setTimeout(() => response.json({ ok: true, path: route.path }), slowness());
    default:
      return (request, response) =>
        void response.json({
          ok: true,
          path: route.path,
          method: request.method,
          body: (request.body as unknown) ?? null,
        });
  }
}

/** Lets browsers pay: a page of another origin can read x402's headers only if they are exposed. */
const crossOrigin: RequestHandler = (request, response, next) => {
  if (request.method === 'OPTIONS') return sendPreflight(request, response);
  response.set(
    'access-control-expose-headers',
    'PAYMENT-REQUIRED, PAYMENT-RESPONSE, X-PAYMENT-RESPONSE, Idempotency-Replayed',
  );
  next();
};
