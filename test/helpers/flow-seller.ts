import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  HTTPFacilitatorClient,
  x402HTTPResourceServer,
  x402ResourceServer,
} from '@x402/core/server';
import { paymentMiddlewareFromHTTPServer } from '@x402/express';
import { bazaarResourceServerExtension } from '@x402/extensions/bazaar';
import { ExactSvmScheme } from '@x402/svm/exact/server';
import type { MintSymbol, Sandbox } from 'exact-change-sandbox';
import express from 'express';

const MAINNET = 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp';

export interface Offered {
  readonly symbol: MintSymbol;
  /** Base units. */
  readonly amount: string;
  readonly extra?: Record<string, unknown>;
}

export interface Sale {
  readonly path: string;
  readonly paymentHeader: string;
}

/** A seller with the official middleware. Below `/broken` it answers 500 after it settled. */
export interface Seller {
  readonly url: string;
  /** Paid requests that reached their handler. */
  readonly sales: readonly Sale[];
  close(): Promise<void>;
}

/**
 * Starts an Express app with the official middleware. It settles through the sandbox's facilitator
 * and pays the sandbox's merchant.
 *
 * @param routes - Offers of each path, in the order in which the 402 lists them.
 * @param extensions - The entry of each path in a catalogue.
 */
export async function startSeller(
  sandbox: Sandbox,
  routes: Readonly<Record<string, readonly Offered[]>>,
  extensions?: Record<string, unknown>,
): Promise<Seller> {
  const sales: Sale[] = [];
  const config = (accepts: readonly Offered[]) => ({
    accepts: accepts.map((offered) => offer(sandbox, offered)),
    ...(extensions === undefined ? {} : { extensions }),
  });
  const configs = Object.fromEntries(
    Object.entries(routes).map(([path, accepts]) => [path, config(accepts)] as const),
  );
  const server = new x402ResourceServer(new HTTPFacilitatorClient({ url: sandbox.facilitatorUrl }))
    .register(MAINNET, new ExactSvmScheme())
    .registerExtension(bazaarResourceServerExtension);
  const http = new x402HTTPResourceServer(server, configs);
  await http.initialize();
  const app = express();
  app.use('/broken', (request, response, next) => {
    const end = response.writeHead.bind(response);
    // The middleware settles only successful answers, so the status changes after it settled.
    if (request.header('payment-signature') !== undefined)
      response.writeHead = ((_status: number, ...rest: []) =>
        end(500, ...rest)) as typeof response.writeHead;
    next();
  });
  app.use(paymentMiddlewareFromHTTPServer(http, undefined, undefined, false));
  app.use((request, response) => {
    sales.push({ path: request.path, paymentHeader: request.header('payment-signature') ?? '' });
    response.json({ ok: true, path: request.path });
  });
  const listener = createServer(app);
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  // A bound TCP server's address is never a pipe's name or null.
  const { port } = listener.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    sales,
    close: () =>
      new Promise((resolve) => {
        listener.close(() => resolve());
        listener.closeAllConnections();
      }),
  };
}

function offer(sandbox: Sandbox, { symbol, amount, extra }: Offered) {
  return {
    scheme: 'exact',
    network: MAINNET,
    payTo: sandbox.merchant,
    price: { amount, asset: sandbox.mints[symbol].address },
    ...(extra === undefined ? {} : { extra }),
  } as const;
}
