import { createServer } from 'node:http';
import {
  createClient,
  HTTPInterceptor,
  isExactChangeError,
  local,
  receiptOf,
  type Client,
  type Journal,
  type Signer,
} from 'exact-change';
import { expressHandler } from 'exact-change/express';
import { honoHandler } from 'exact-change/hono';
import { apiKeys, createHandler } from 'exact-change/http';
import { nodeListener, serve, type Service } from 'exact-change/node';
import { createSandbox, type Sandbox } from 'exact-change-sandbox';
import { undiciRequest } from 'exact-change/undici';
import { createWebhooks, type Webhooks } from 'exact-change/webhooks';
import { verifyWebhook, type WebhookEvent } from 'exact-change/webhooks/verify';
import express from 'express';
import { Hono } from 'hono';

export async function pay(
  url: string,
  signer: Signer,
  journal: Journal,
): Promise<string | undefined> {
  const client: Client = createClient({
    signer,
    journal,
    autoSwap: true,
    policy: { maxPerPayment: '0.25' },
  });
  try {
    return receiptOf(await client.fetch(url))?.payment.amount;
  } catch (error) {
    if (isExactChangeError(error, 'insufficient_funds')) return error.details.required;
    // @ts-expect-error a code that does not exist
    if (isExactChangeError(error, 'insufficient_fun')) return undefined;
    throw error;
  }
}

export const bytesOf = async (client: Client, url: string): Promise<Uint8Array> =>
  (await undiciRequest(client)(url)).body.bytes();

// @ts-expect-error an option that does not exist
export const misspelt = () => new HTTPInterceptor({ walletSecretKey: '', autoSwop: true });

export const sandbox: Promise<Sandbox> = createSandbox();

export const handler: (request: Request) => Promise<Response> = createHandler(local(), {
  authorize: apiKeys(['a-key-that-is-long-enough']),
});

export const service: Promise<Service> = serve(handler, { port: 4021 });
export const server = createServer(nodeListener(handler, { hosts: ['pay.example.com'] }));
export const app = express().use('/pay', expressHandler(handler));
export const routes = new Hono().all('/pay/*', honoHandler(handler));

export const webhooksOf = (journal: Journal): Webhooks => createWebhooks({ journal });
export const eventOf = async (request: Request, secret: string): Promise<WebhookEvent> =>
  verifyWebhook({ secret, headers: request.headers, body: await request.text() });
