import type { IncomingMessage, ServerResponse } from 'node:http';
import { createSandbox, type Sandbox } from 'exact-change-sandbox';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { envelopeV1, envelopeV2 } from '../fixtures/malformed-402.js';
import { isPaid, startSeller, type Seller } from '../helpers/seller.js';
import { answer, offerOf, offerV1Of, settle } from '../helpers/settling.js';
import { MAINNET_SLOT_MS } from '../helpers/sandbox.js';
import { launch, openPage, type BrowserPage } from './harness.js';

let sandbox: Sandbox;
let browser: Browser;
let opened: BrowserPage;

beforeAll(async () => {
  sandbox = await createSandbox({ slotMs: MAINNET_SLOT_MS, confirmationMs: 0 });
  browser = await launch();
  opened = await openPage(browser);
});

afterAll(async () => {
  await opened.close();
  await browser.close();
  await sandbox.close();
});

interface Allows {
  readonly version?: 1 | 2;
  readonly exposes?: string;
  readonly headers?: string;
  /** A 402 body that replaces the terms. */
  readonly other?: string;
}

/** Starts a seller on another origin than the page, with only the given CORS permissions. */
async function sellerOf(
  { version = 2, exposes, headers = '', other }: Allows,
  isLost: (seen: readonly unknown[]) => boolean = () => false,
) {
  const terms = version === 1 ? envelopeV1([offerV1Of(sandbox)]) : envelopeV2([offerOf(sandbox)]);
  const seller = await startSeller((request: IncomingMessage, response: ServerResponse) => {
    if (isLost(seller.seen)) return void request.destroy();
    response.setHeader('access-control-allow-origin', '*');
    if (exposes !== undefined) response.setHeader('access-control-expose-headers', exposes);
    if (request.method === 'OPTIONS')
      return void response
        .writeHead(204, {
          'access-control-allow-methods': 'GET, POST',
          'access-control-allow-headers': headers,
        })
        .end();
    if (
      isPaid(request) &&
      (request.headers['payment-signature'] ?? request.headers['x-payment']) !== ''
    )
      return void settle(sandbox, request, version === 1 ? offerV1Of(sandbox) : undefined).then(
        () => answer(response, 200, { ok: true }),
      );
    if (other !== undefined) return void response.writeHead(402).end(other);
    if (version === 1) return answer(response, 402, terms);
    const header = Buffer.from(JSON.stringify(terms)).toString('base64');
    answer(response, 402, {}, { 'payment-required': header });
  });
  onTestFinished(() => seller.close());
  return seller;
}

/** Calls from the page with a wallet of 1 USDC; returns the outcome and the wallet's balance. */
async function call(url: string, method = 'GET', calls = 1, headers = {}) {
  const { secretKey, address } = await sandbox.createWallet({ USDC: '1' });
  const { rpcUrl, wsUrl, jupiterUrl } = sandbox;
  const options = { walletSecretKey: secretKey, rpcUrl, wsUrl, jupiterUrl };
  const outcome = await opened.page.evaluate(
    async ({ url, method, calls, headers, options }) => {
      const client = exactChange.createClient(options);
      let last: object = {};
      for (let left = calls; left > 0; left -= 1) {
        last = await client
          .fetch(url, { headers, ...(method !== 'GET' && { method, body: '{"n":1}' }) })
          .then(async (response) => ({ status: response.status, text: await response.text() }))
          .catch((error: unknown) => {
            const { code, message, funds } = error as Record<string, unknown>;
            return { code, message, funds };
          });
      }
      return last;
    },
    { url, method, calls, headers, options },
  );
  return { ...outcome, left: await sandbox.balance(address, 'USDC') };
}

describe('a seller of another origin, called from a page', () => {
  it.each<[string, Allows, string]>([
    ['version 2', { exposes: 'PAYMENT-REQUIRED', headers: 'payment-signature' }, 'GET'],
    ['version 2, POST', { exposes: 'PAYMENT-REQUIRED', headers: 'payment-signature' }, 'POST'],
    ['version 1', { version: 1, headers: 'X-PAYMENT' }, 'GET'],
  ])('is paid when it allows the headers of %s', async (_, allows, method) => {
    const seller = await sellerOf(allows);
    expect(await call(seller.url, method)).toMatchObject({ status: 200, left: 990_000n });
  });

  it('gets one preflight for three calls', async () => {
    const seller = await sellerOf({ exposes: 'PAYMENT-REQUIRED', headers: 'PAYMENT-SIGNATURE' });
    expect(await call(seller.url, 'GET', 3)).toMatchObject({ status: 200, left: 970_000n });
    // Three calls, unpaid and paid, and one probe.
    expect(seller.seen.filter(({ method }) => method === 'GET')).toHaveLength(7);
  });

  it('gets no Authorization of the page by a redirect, also not in the probe', async () => {
    const headers = 'authorization, payment-signature';
    const led = await sellerOf({ exposes: 'PAYMENT-REQUIRED', headers });
    const first = await startSeller(({ method }, response) =>
      response
        .writeHead(method === 'OPTIONS' ? 204 : 302, {
          location: led.url,
          'access-control-allow-origin': '*',
          'access-control-allow-headers': headers,
        })
        .end(),
    );
    onTestFinished(() => first.close());
    const outcome = await call(first.url, 'GET', 1, { authorization: 'Bearer t' });
    expect(outcome).toMatchObject({ status: 200, left: 990_000n });
    const credentials = (seller: Seller) =>
      seller.seen.map(({ headers: seen }) => seen.authorization).filter(Boolean);
    expect([credentials(first), credentials(led)]).toEqual([['Bearer t'], []]);
  });

  it.each<[string, Allows, string]>([
    ['PAYMENT-SIGNATURE', { exposes: 'PAYMENT-REQUIRED' }, 'GET'],
    ['PAYMENT-SIGNATURE', { exposes: 'PAYMENT-REQUIRED', headers: 'x-payment' }, 'POST'],
    ['X-PAYMENT', { version: 1 }, 'GET'],
  ])('is not paid when it does not allow %s: %o', async (header, allows, method) => {
    const seller = await sellerOf(allows);
    const outcome = await call(seller.url, method);
    expect(outcome).toMatchObject({
      code: 'unsupported_offer',
      funds: 'untouched',
      left: 1_000_000n,
    });
    expect(outcome).toHaveProperty(
      'message',
      expect.stringContaining(`"Access-Control-Allow-Headers: ${header}"`),
    );
    expect(seller.paid).toEqual([]);
  });

  it('is not blamed for its headers when the connection is lost before the payment', async () => {
    const allows = { exposes: 'PAYMENT-REQUIRED', headers: 'PAYMENT-SIGNATURE' };
    const { url } = await sellerOf(allows, ({ length }) => length > 1);
    const message: unknown = expect.not.stringContaining('CORS');
    expect(await call(url)).toMatchObject({ message, left: 1_000_000n });
  });

  it('gets advice to expose PAYMENT-REQUIRED when it does not', async () => {
    const seller = await sellerOf({ headers: 'PAYMENT-SIGNATURE' });
    const outcome = await call(seller.url);
    expect(outcome).toMatchObject({ code: 'malformed_payment_required', funds: 'untouched' });
    expect(outcome).toHaveProperty(
      'message',
      expect.stringContaining('Access-Control-Expose-Headers: PAYMENT-REQUIRED'),
    );
  });

  it.each(['Pay at the desk', '{"error":"quota"}'])(
    'passes its 402 to the page when the body holds no terms: %s',
    async (other) => {
      const seller = await sellerOf({ other });
      expect(await call(seller.url)).toMatchObject({ status: 402, text: other });
    },
  );
});
