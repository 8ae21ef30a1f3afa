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

/** Solana's mainnet, which the sandbox imitates. */
const NETWORK = 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp';

/** A good that an agent sells, and the function that makes it. */
export interface Good {
  readonly name: string;
  readonly description: string;
  /** Price in base units of USDC. */
  readonly amount: bigint;
  make(query: string): Promise<string>;
}

/** The shop of an agent: it sells a good over HTTP, and a good as an MCP tool. */
export interface Shop {
  readonly http: string;
  readonly mcp: string;
  /** Returns the settled revenue by the shop's own books, in base units of USDC. */
  sold(): bigint;
  close(): Promise<void>;
}

/**
 * Opens the shop of an agent, which is paid at an address. HTTP uses the official middleware, MCP
 * uses `withX402`, and both use the same facilitator.
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
    // If the good cannot be made, the answer is an error, which the middleware does not settle.
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
