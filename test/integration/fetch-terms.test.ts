import { encodePaymentRequiredHeader } from '@x402/core/http';
import { isExactChangeError, receiptOf } from 'exact-change';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { failureOf, newBuyer, type Buyer } from '../helpers/fetch-buyer.js';
import { outcomeOf } from '../helpers/fetch-compare.js';
import { holdsPayment, paymentOf } from '../helpers/fetch-record.js';
import {
  legacyRequirementsOf,
  requirementsOf,
  startSeller,
  termsOf,
  type SellerOptions,
} from '../helpers/fetch-seller.js';
import { PRICE, type Recorder } from '../helpers/fetch-twins.js';
import { useSandbox } from '../helpers/sandbox.js';

const sandbox = await useSandbox({ slotMs: 20, confirmationMs: 0 });
let buyer: Buyer;

beforeEach(async () => {
  buyer = await newBuyer(sandbox);
});

async function seller(options: SellerOptions): Promise<Recorder> {
  const started = await startSeller(sandbox, options);
  onTestFinished(() => started.close());
  return started;
}

/** A seller that answers 402 with these headers and this body. */
function refusing(
  headers: Record<string, string>,
  body: string,
  options: SellerOptions = {},
): Promise<Recorder> {
  return seller({
    ...options,
    refuse: (_request, response) => void response.writeHead(402, headers).end(body),
  });
}

const json = { 'content-type': 'application/json' };
const html = { 'content-type': 'text/html; charset=utf-8' };
const page = `<!doctype html><title>Pay</title><script>window.x402 = { "x402Version": 2, "accepts": [] }</script>${'<p>'.repeat(20_000)}`;

describe('a 402 that asks for no payment', () => {
  const cases: [string, Record<string, string>, string][] = [
    ['no body', {}, ''],
    ['a page', html, page],
    ['a page with Content-Length', { ...html, 'content-length': String(page.length) }, page],
    ['text', { 'content-type': 'text/plain' }, 'Your card was declined.'],
    ['JSON of another kind', json, '{"error":"quota","upgrade":"https://example.com"}'],
    ['JSON that is a list', json, '[{"accepts":[]}]'],
    ['JSON that is a string', json, '"accepts"'],
    ['JSON that is broken', json, '{"error":'],
    [
      'problem details',
      { 'content-type': 'application/problem+json' },
      '{"title":"Payment Required","status":402}',
    ],
    [
      'a large JSON',
      json,
      JSON.stringify({ list: Array.from({ length: 30_000 }, (_, index) => index) }),
    ],
    ['bytes', { 'content-type': 'application/octet-stream' }, '\u0000{\u0001'],
    [
      'the header of another scheme',
      { 'www-authenticate': 'L402 macaroon="x", invoice="y"' },
      'pay by lightning',
    ],
  ];

  it.each(cases)('is returned unchanged: %s', async (_name, headers, body) => {
    const { url, seen } = await refusing(headers, body);
    const plain = await fetch(url);
    const response = await buyer.client.fetch(url);
    expect([response.bodyUsed, response.body?.locked, receiptOf(response)]).toEqual([
      false,
      plain.body?.locked,
      undefined,
    ]);
    expect(await outcomeOf(response)).toEqual(await outcomeOf(plain));
    expect(seen.some(holdsPayment)).toBe(false);
    expect(seen).toHaveLength(2);
  });

  it('is returned as the same Response object', async () => {
    const fetched: Response[] = [];
    const own = await newBuyer(sandbox, {
      fetch: async (input, init) => {
        const response = await fetch(input, init);
        fetched.push(response);
        return response;
      },
    });
    const { url } = await refusing(json, '{"error":"quota"}');
    expect(await own.client.fetch(url)).toBe(fetched[0]);
    expect(await fetched[0]?.clone().json()).toEqual({ error: 'quota' });
  });

  it.each(['text/event-stream', 'text/plain', 'multipart/mixed; boundary=x', 'video/mp4'])(
    'is returned before its body ends: %s',
    async (type) => {
      let end = (): void => undefined;
      const { url } = await seller({
        refuse: (_request, response) => {
          response.writeHead(402, { 'content-type': type });
          response.write('one ');
          end = () => void response.end('two');
        },
      });
      const response = await buyer.client.fetch(url);
      const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
      expect(await reader?.read()).toEqual({ done: false, value: 'one ' });
      end();
      expect(await reader?.read()).toEqual({ done: false, value: 'two' });
      expect(await reader?.read()).toEqual({ done: true, value: undefined });
    },
  );

  it('is returned for a POST with a body', async () => {
    const { url, seen } = await refusing(json, '{"error":"quota"}');
    const response = await buyer.client.fetch(url, { method: 'POST', body: 'a body' });
    expect(await response.json()).toEqual({ error: 'quota' });
    expect(seen.map(({ body }) => body.toString())).toEqual(['a body']);
  });
});

describe('a 402 with an HTML page', () => {
  it('is paid when its header has terms', async () => {
    const { url, seen } = await refusing(
      { ...html, 'payment-required': encodePaymentRequiredHeader(termsOf(sandbox)) },
      page,
    );
    const response = await buyer.client.fetch(url);
    expect([response.status, await response.text(), await buyer.spent()]).toEqual([
      200,
      'served',
      PRICE,
    ]);
    expect(seen.map((request) => paymentOf(request) !== undefined)).toEqual([false, true]);
  });

  it('is returned when only the page has terms', async () => {
    const { url } = await refusing(html, page);
    const response = await buyer.client.fetch(url);
    expect([response.status, await response.text(), await buyer.spent()]).toEqual([402, page, 0n]);
  });

  it('is paid in the form that the official middleware sends to browsers', async () => {
    const response = await buyer.client.fetch(`${sandbox.apiUrl}/usdc`, {
      headers: { accept: 'text/html', 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64)' },
    });
    expect([response.status, await buyer.spent()]).toEqual([200, PRICE]);
  });
});

describe('a 402 with terms in its header and its body', () => {
  const evm = {
    network: 'eip155:8453',
    asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
  } as const;

  it('is paid by a version 2 header instead of a version 1 body', async () => {
    const legacy = legacyRequirementsOf(sandbox, 3n * PRICE);
    const header = encodePaymentRequiredHeader(termsOf(sandbox));
    const { url, seen } = await refusing(
      { ...json, 'payment-required': header },
      JSON.stringify({ x402Version: 1, accepts: [legacy] }),
    );
    const response = await buyer.client.fetch(url);
    expect([response.status, await buyer.spent()]).toEqual([200, PRICE]);
    expect([
      seen[1]?.headers['payment-signature'] !== undefined,
      seen[1]?.headers['x-payment'],
    ]).toEqual([true, undefined]);
    expect(receiptOf(response)?.payment.amount).toBe(PRICE.toString());
  });

  it('is paid by a version 2 header instead of a version 2 body', async () => {
    const header = encodePaymentRequiredHeader(termsOf(sandbox));
    const { url } = await refusing(
      { ...json, 'payment-required': header },
      JSON.stringify(termsOf(sandbox, 3n * PRICE)),
    );
    expect([(await buyer.client.fetch(url)).status, await buyer.spent()]).toEqual([200, PRICE]);
  });

  it('is paid by a version 1 body when no offer of the header can be paid', async () => {
    const legacy = legacyRequirementsOf(sandbox, 2n * PRICE);
    const header = encodePaymentRequiredHeader({
      ...termsOf(sandbox),
      accepts: [{ ...requirementsOf(sandbox), ...evm }],
    });
    const { url, seen } = await refusing(
      { ...json, 'payment-required': header },
      JSON.stringify({ x402Version: 1, accepts: [legacy] }),
      {
        legacy,
      },
    );
    const response = await buyer.client.fetch(url);
    expect([response.status, await buyer.spent()]).toEqual([200, 2n * PRICE]);
    expect([
      seen[1]?.headers['payment-signature'],
      seen[1]?.headers['x-payment'] !== undefined,
    ]).toEqual([undefined, true]);
    expect(receiptOf(response)?.settlement).toMatchObject({ success: true });
  });

  it('is paid by a version 1 body without a header', async () => {
    const legacy = legacyRequirementsOf(sandbox);
    const { url } = await refusing(json, JSON.stringify({ x402Version: 1, accepts: [legacy] }), {
      legacy,
    });
    expect([(await buyer.client.fetch(url)).status, await buyer.spent()]).toEqual([200, PRICE]);
  });

  it('is paid by its body when its header is unreadable', async () => {
    const { url } = await refusing(
      { ...json, 'payment-required': '%%%' },
      JSON.stringify(termsOf(sandbox)),
    );
    expect([(await buyer.client.fetch(url)).status, await buyer.spent()]).toEqual([200, PRICE]);
  });

  it('is refused when neither has an offer that can be paid', async () => {
    const header = encodePaymentRequiredHeader({
      ...termsOf(sandbox),
      accepts: [{ ...requirementsOf(sandbox), ...evm }],
    });
    const { url, seen } = await refusing(
      { ...json, 'payment-required': header },
      '{"error":"pay"}',
    );
    const error = await failureOf(buyer.client.fetch(url));
    if (!isExactChangeError(error)) throw error;
    expect(['no_payable_offer', 'unsupported_network']).toContain(error.code);
    expect([error.funds, await error.response?.text()]).toEqual(['untouched', '{"error":"pay"}']);
    expect(seen).toHaveLength(1);
  });
});

describe('a status other than 402', () => {
  it.each([200, 400, 401, 403, 500])('is not paid even with valid terms: %d', async (status) => {
    const header = encodePaymentRequiredHeader(termsOf(sandbox));
    const { url, seen } = await seller({
      refuse: (_request, response) =>
        void response
          .writeHead(status, { ...json, 'payment-required': header })
          .end(JSON.stringify(termsOf(sandbox))),
    });
    const response = await buyer.client.fetch(url);
    expect([response.status, receiptOf(response), seen.length]).toEqual([status, undefined, 1]);
    expect(await response.json()).toEqual(termsOf(sandbox));
  });
});

describe('a call with a payment header of the caller', () => {
  it.each(['PAYMENT-SIGNATURE', 'x-payment'])(
    'returns the answer unchanged, even a 402: %s',
    async (name) => {
      const { url, seen } = await seller({
        settles: false,
        serve: (_request, response) =>
          void response
            .writeHead(402, { 'payment-required': encodePaymentRequiredHeader(termsOf(sandbox)) })
            .end('no'),
      });
      const response = await buyer.client.fetch(url, {
        method: 'POST',
        headers: { [name]: 'mine' },
        body: 'x',
      });
      expect([response.status, await response.text(), receiptOf(response)]).toEqual([
        402,
        'no',
        undefined,
      ]);
      expect(seen.map(paymentOf)).toEqual(['mine']);
      expect(await buyer.spent()).toBe(0n);
    },
  );

  it('pays once with a header of client.pay()', async () => {
    const { url, seen } = await seller({});
    const unpaid = await fetch(url);
    const { header, receipt } = await buyer.client.pay(unpaid);
    const response = await buyer.client.fetch(url, { headers: { [header.name]: header.value } });
    expect([response.status, await response.text(), await buyer.spent()]).toEqual([
      200,
      'served',
      PRICE,
    ]);
    expect(seen.map(paymentOf)).toEqual([undefined, header.value]);
    expect([receiptOf(response), receipt.payment.payer]).toEqual([undefined, buyer.wallet.address]);
  });
});
