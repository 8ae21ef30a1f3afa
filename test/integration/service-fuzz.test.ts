import fc from 'fast-check';
import { local } from 'exact-change';
import { createHandler } from 'exact-change/http';
import { beforeAll, describe, expect, it } from 'vitest';
import { operations } from '../../src/wire/operations.js';
import { problem, PROBLEM_TYPE } from '../../src/wire/problem.js';
import { readAs } from '../../src/wire/read.js';
import { webhookOperations } from '../../src/wire/webhooks.js';
import { useSandbox } from '../helpers/sandbox.js';
import { fakeRegistry } from '../unit/http/fake-registry.js';

const all = { ...operations, ...webhookOperations };

const sandbox = await useSandbox({ confirmationMs: 20 });
let handler: (request: Request) => Promise<Response>;
let pools: Record<string, readonly unknown[]>;
const failures: unknown[] = [];

beforeAll(async () => {
  const transport = local({ rpcUrl: sandbox.rpcUrl, jupiterUrl: sandbox.jupiterUrl });
  const webhooks = fakeRegistry();
  const endpoint = await webhooks.register({
    url: 'https://shop.example.com/',
    events: ['payment.settled'],
  });
  handler = createHandler(transport, { webhooks, onError: (error) => failures.push(error) });
  const wallet = await sandbox.createWallet({ SOL: '0.5', BONK: '1000000' });
  const { USDC, PYUSD, BONK, SOL } = sandbox.mints;
  const mints = [
    'SOL',
    'USDC',
    'NONE',
    USDC.address,
    PYUSD.address,
    BONK.address,
    SOL.address,
    wallet.address,
    '11111111111111111111111111111111',
  ];
  const quotes = await Promise.all(
    [
      'inputMint=SOL&outputMint=USDC&amount=5000000',
      `inputMint=${BONK.address}&outputMint=PYUSD&amount=20000&swapMode=ExactOut`,
    ].map(
      async (query) =>
        (
          await handler(new Request(`http://service.example/api/quote?${query}`))
        ).json() as Promise<object>,
    ),
  );
  const seller = await fetch(`${sandbox.apiUrl}/any`);
  const terms = {
    url: seller.url,
    status: 402,
    headers: Object.fromEntries(seller.headers),
    body: await seller.text(),
  };
  const built = await handler(
    new Request('http://service.example/api/swap/build', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ wallet: wallet.address, quote: quotes[0] }),
    }),
  );
  const { transaction } = (await built.json()) as { transaction: string };
  pools = {
    inputMint: mints,
    outputMint: mints,
    mint: [mints.slice(0, 1), mints.slice(3, 5), mints, []],
    amount: ['0', '1', '10000', '18446744073709551615', '18446744073709551616', '-1', '1.5', ''],
    inAmount: ['0', '1', '18446744073709551615'],
    outAmount: ['0', '1', '18446744073709551615'],
    minOutAmount: ['0', '1', '18446744073709551615'],
    maxInAmount: ['0', '1', '18446744073709551615'],
    swapMode: ['ExactIn', 'ExactOut', 'exactin'],
    slippageBps: [0, 1, 50, 51, 10_000, 10_001],
    maxAccounts: [0, 1, 8, 64, 65],
    priceImpactBps: [null, 0, -5, 1e300],
    platformFeeBps: [0, 1],
    provider: ['jupiter-v1', 'jupiter-v2', 'nobody'],
    wallet: [
      wallet.address,
      sandbox.merchant,
      USDC.address,
      '11111111111111111111111111111111',
      'SOL',
    ],
    quote: quotes,
    raw: [{}, null, { routePlan: [] }, { routePlan: [{ swapInfo: null }] }],
    url: [terms.url, 'https://api.example.com/', 'nowhere', 'https://'],
    status: [402, 200, 99],
    headers: [
      terms.headers,
      {},
      { 'payment-required': 'e30=' },
      { 'PAYMENT-REQUIRED': '{"x402Version":2,"accepts":[{}]}' },
    ],
    body: [
      terms.body,
      '',
      '{}',
      { x402Version: 1, accepts: [] },
      { x402Version: 1, accepts: [{ scheme: 'exact' }] },
      null,
      7,
      ['accepts'],
    ],
    paymentRequired: [terms, {}, { headers: terms.headers }],
    autoSwap: [true, false, 'true'],
    limits: [{}, { [USDC.address]: '0' }, { [USDC.address]: '1000000' }, { USDC: '1' }],
    events: [
      ['payment.settled'],
      ['swap.failed', 'payment.failed'],
      [],
      ['all'],
      'payment.settled',
    ],
    wallets: [[wallet.address], mints.slice(3), ['SOL'], []],
    id: [endpoint.id, 'none', '', 'x'.repeat(65), ['a', 'b']],
    signedSwap: [transaction, 'A'.repeat(400), transaction.slice(0, -4), ''],
    signedPayment: [transaction, 'A'.repeat(400), `${transaction}AAAA`, ''],
  };
});

/** The fields of each operation; every field may be missing, wrong, or of another operation. */
const FIELDS: { readonly [O in keyof typeof all]: readonly string[] } = {
  quote: ['inputMint', 'outputMint', 'amount', 'swapMode', 'slippageBps', 'maxAccounts'],
  buildSwap: ['wallet', 'quote', 'inputMint', 'outputMint', 'amount', 'swapMode', 'slippageBps'],
  balance: ['wallet', 'mint'],
  parsePayment: ['url', 'status', 'headers', 'body'],
  autoPay: ['paymentRequired', 'wallet', 'autoSwap', 'limits', 'signedSwap', 'signedPayment'],
  listWebhooks: [],
  registerWebhook: ['url', 'events', 'wallets'],
  removeWebhook: ['id'],
  rotateWebhook: ['id'],
};

function valueOf(name: string): fc.Arbitrary<unknown> {
  const known = fc.constantFrom<unknown>(...(pools[name] ?? [null]));
  return fc.oneof(
    { weight: 12, arbitrary: known },
    { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) },
  );
}

/**
 * Makes requests of some of these fields. Now and then a request has a field of another operation,
 * or a quote with a changed field.
 */
function requestOf(names: readonly string[]): fc.Arbitrary<Record<string, unknown>> {
  const fields = fc.record(
    Object.fromEntries(
      names.map((name) => [name, fc.option(valueOf(name), { freq: 4, nil: undefined })]),
    ),
  );
  const inner = fc
    .constantFrom(...Object.keys(pools))
    .chain((name) => fc.tuple(fc.constant(name), valueOf(name)));
  return fc
    .tuple(fields, fc.option(inner, { freq: 2, nil: undefined }), fc.nat(9))
    .map(([request, change, foreign]) => {
      const quote = request['quote'];
      if (change !== undefined && typeof quote === 'object' && quote !== null)
        return { ...request, quote: { ...quote, [change[0]]: change[1] } };
      return change !== undefined && foreign === 0
        ? { ...request, [change[0]]: change[1] }
        : request;
    });
}

/** Builds the query by hand, because values that are no text have to be sent too. */
function queryOf(body: Record<string, unknown>): URLSearchParams {
  const text = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));
  const entries = Object.entries(body).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map((item) => [name, item] as const),
  );
  return new URLSearchParams(
    entries.flatMap(([name, value]) => (value === undefined ? [] : [[name, text(value)]])),
  );
}

describe('the service, for any request', () => {
  it.each(Object.keys(all) as (keyof typeof all)[])(
    '%s returns an answer of the interface, and never a failure of the service',
    async (id) => {
      const { method, path, response, query } = all[id];
      const seen = new Set<number>();
      await fc.assert(
        fc.asyncProperty(requestOf(FIELDS[id]), async (body) => {
          const url = `http://service.example${path}`;
          const request =
            query !== undefined
              ? new Request(`${url}?${queryOf(body).toString()}`, { method })
              : new Request(url, {
                  method,
                  headers: { 'content-type': 'application/json' },
                  body: JSON.stringify(body),
                });
          const answer = await handler(request);
          seen.add(answer.status);
          const json: unknown = await answer.json();
          const shape =
            answer.status === 200
              ? readAs<unknown>(response, json)
              : readAs<unknown>(problem, json);
          expect(shape).toMatchObject({ ok: true });
          expect(answer.headers.get('content-type')).toBe(
            answer.status === 200 ? 'application/json' : PROBLEM_TYPE,
          );
          expect([answer.status < 500, failures]).toEqual([true, []]);
        }),
        { numRuns: 200 },
      );
    },
  );
});
