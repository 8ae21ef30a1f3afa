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

  it.each(cases)('comes back untouched: %s', async (_name, headers, body) => {
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

  it('is the very object that fetch gave', async () => {
    const given: Response[] = [];
    const own = await newBuyer(sandbox, {
      fetch: async (input, init) => {
        const response = await fetch(input, init);
        given.push(response);
        return response;
      },
    });
    const { url } = await refusing(json, '{"error":"quota"}');
    expect(await own.client.fetch(url)).toBe(given[0]);
    expect(await given[0]?.clone().json()).toEqual({ error: 'quota' });
  });

  it.each(['text/event-stream', 'text/plain', 'multipart/mixed; boundary=x', 'video/mp4'])(
    'comes back at once if its body streams on: %s',
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

  it('comes back to POST with a body as well', async () => {
    const { url, seen } = await refusing(json, '{"error":"quota"}');
    const response = await buyer.client.fetch(url, { method: 'POST', body: 'a body' });
    expect(await response.json()).toEqual({ error: 'quota' });
    expect(seen.map(({ body }) => body.toString())).toEqual(['a body']);
  });
});

describe('terms that cannot be read', () => {
  const cases: [string, Record<string, string>, string][] = [
    ['a header that is no base64', { 'payment-required': '%%%' }, ''],
    ['a header that is no JSON', { 'payment-required': 'aGVsbG8=' }, 'for people'],
    ['a body with nothing in accepts', json, '{"x402Version":2,"accepts":[]}'],
    ['a body that breaks off', json, '{"x402Version":1,"accepts":[{'],
  ];

  it.each(cases)('throw, with the response to read: %s', async (_name, headers, body) => {
    const { url, seen } = await refusing(headers, body);
    const error = await failureOf(buyer.client.fetch(url));
    if (!isExactChangeError(error, 'malformed_payment_required')) throw error;
    expect([error.funds, error.moved, error.response?.status, error.response?.bodyUsed]).toEqual([
      'untouched',
      [],
      402,
      false,
    ]);
    expect(await error.response?.text()).toBe(body);
    expect(seen).toHaveLength(1);
  });
});

describe('terms in a page', () => {
  it('are paid if the header has them', async () => {
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
    expect(seen.map((one) => paymentOf(one) !== undefined)).toEqual([false, true]);
  });

  it('are not looked for if it has not', async () => {
    const { url } = await refusing(html, page);
    const response = await buyer.client.fetch(url);
    expect([response.status, await response.text(), await buyer.spent()]).toEqual([402, page, 0n]);
  });

  it('are paid as the official middleware sends them to browsers', async () => {
    const response = await buyer.client.fetch(`${sandbox.apiUrl}/usdc`, {
      headers: { accept: 'text/html', 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64)' },
    });
    expect([response.status, await buyer.spent()]).toEqual([200, PRICE]);
  });
});

describe('terms in two places', () => {
  const elsewhere = {
    network: 'eip155:8453',
    asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
  } as const;

  it('the header of version 2 wins over a body of version 1', async () => {
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

  it('the header of version 2 wins over a body of version 2', async () => {
    const header = encodePaymentRequiredHeader(termsOf(sandbox));
    const { url } = await refusing(
      { ...json, 'payment-required': header },
      JSON.stringify(termsOf(sandbox, 3n * PRICE)),
    );
    expect([(await buyer.client.fetch(url)).status, await buyer.spent()]).toEqual([200, PRICE]);
  });

  it('a body of version 1 is paid if nothing in the header can be', async () => {
    const legacy = legacyRequirementsOf(sandbox, 2n * PRICE);
    const header = encodePaymentRequiredHeader({
      ...termsOf(sandbox),
      accepts: [{ ...requirementsOf(sandbox), ...elsewhere }],
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

  it('a body of version 1 alone is paid', async () => {
    const legacy = legacyRequirementsOf(sandbox);
    const { url } = await refusing(json, JSON.stringify({ x402Version: 1, accepts: [legacy] }), {
      legacy,
    });
    expect([(await buyer.client.fetch(url)).status, await buyer.spent()]).toEqual([200, PRICE]);
  });

  it('a readable body is paid if the header is not readable', async () => {
    const { url } = await refusing(
      { ...json, 'payment-required': '%%%' },
      JSON.stringify(termsOf(sandbox)),
    );
    expect([(await buyer.client.fetch(url)).status, await buyer.spent()]).toEqual([200, PRICE]);
  });

  it('nothing payable in either is refused, entry by entry', async () => {
    const header = encodePaymentRequiredHeader({
      ...termsOf(sandbox),
      accepts: [{ ...requirementsOf(sandbox), ...elsewhere }],
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
  it.each([200, 400, 401, 403, 500])('%d is not paid, whatever it says', async (status) => {
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

describe('a caller that pays itself', () => {
  it.each(['PAYMENT-SIGNATURE', 'x-payment'])(
    'gets the answer as it is, 402 too: %s',
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

  it('pays once, with what client.pay() made', async () => {
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
