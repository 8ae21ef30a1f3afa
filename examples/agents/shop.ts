import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import {
  HTTPFacilitatorClient,
  x402HTTPResourceServer,
  x402ResourceServer,
} from '@x402/core/server';
import { paymentMiddlewareFromHTTPServer } from '@x402/express';
import { ExactSvmScheme } from '@x402/svm/exact/server';
import { serve } from 'exact-change/node';
import type { Sandbox } from 'exact-change-sandbox';
import express from 'express';
import { withX402, type Price } from './with-x402.js';

/** Solana's mainnet, which the sandbox stands in for. */
const NETWORK = 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp';

/** What an agent sells, and how it comes by it. */
export interface Good {
  readonly name: string;
  readonly description: string;
  /** Base units of USDC. */
  readonly amount: bigint;
  make(query: string): Promise<string>;
}

/** Where an agent sells: one good over HTTP, one as a tool of MCP. */
export interface Shop {
  readonly http: string;
  readonly mcp: string;
  /** Base units of USDC that were settled for it, by its own books. */
  sold(): bigint;
  close(): Promise<void>;
}

/**
 * Opens the shop of an agent that is paid at an address. Over HTTP the official middleware sells,
 * over MCP `withX402`; both by the same facilitator.
 */
export async function openShop(
  { facilitatorUrl, mints }: Sandbox,
  payTo: string,
  goods: { readonly http: Good; readonly mcp: Good },
): Promise<Shop> {
  let sold = 0n;
  const seller = new x402ResourceServer(new HTTPFacilitatorClient({ url: facilitatorUrl }))
    .register(NETWORK, new ExactSvmScheme())
    .onAfterSettle(async ({ result, requirements }) => {
      if (result.success) sold += BigInt(requirements.amount);
    });
  const priceOf = ({ amount }: Good): Price => ({
    ...{ network: NETWORK, payTo, asset: mints.USDC.address, amount: amount.toString() },
  });
  const http = await sellOverHttp(seller, goods.http, priceOf(goods.http));

  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'shop', version: '1.0.0' });
    const { name, description, make } = goods.mcp;
    withX402(server, seller).paidTool({ name, description, price: priceOf(goods.mcp), run: make });
    return server;
  });
  const mcp = await serve((request) => handler.fetch(request), { port: 0 });
  return {
    http: `${http.url}/${goods.http.name}`,
    mcp: `${mcp.url}/mcp`,
    sold: () => sold,
    async close() {
      await Promise.all([http.close(), mcp.close()]);
    },
  };
}

async function sellOverHttp(
  seller: x402ResourceServer,
  { name, description, make }: Good,
  { network, payTo, asset, amount }: Price,
) {
  const accepts = [{ scheme: 'exact', network, payTo, price: { asset, amount } }];
  const paid = new x402HTTPResourceServer(seller, {
    [`GET /${name}`]: { accepts, description, mimeType: 'text/plain' },
  });
  await paid.initialize();
  const app = express();
  app.use(paymentMiddlewareFromHTTPServer(paid, undefined, undefined, false));
  app.get(`/${name}`, (request, response, next) => {
    const { query } = request.query;
    // What it could not make it does not sell: an error is not settled.
    make(typeof query === 'string' ? query : '').then((text) => response.send(text), next);
  });
  const server = createServer((request, response) => void app(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // Bound to TCP, so never a pipe's name or null.
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
