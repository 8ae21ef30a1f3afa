import { FundsError, TransportError } from 'exact-change';
import { createHandler, createMetrics, type HandlerOptions } from 'exact-change/http';
import { describe, expect, it } from 'vitest';
import { operations, pages } from '../../../src/wire/operations.js';
import { errorOf, problem } from '../../../src/wire/problem.js';
import { readAs } from '../../../src/wire/read.js';
import { balanceOfUsdc, quote, USDC, WALLET } from '../wire/samples.js';
import { BASE, begun, fakeTransport, serving, streaming } from './fake.js';

const QUOTE = `/api/quote?inputMint=SOL&outputMint=${USDC}&amount=1000000`;
const signedSwap = 'A'.repeat(400);
const never = () => new Promise<never>(() => undefined);

/** Returns the problem in an answer; throws if the answer is not a valid problem. */
function problemIn({ status, headers, json }: { status: number; headers: Headers; json: unknown }) {
  expect(headers.get('content-type')).toBe('application/problem+json');
  const reading = readAs(problem, json);
  if (!reading.ok) throw new Error(`${reading.path} ${reading.rule}`);
  expect(reading.value.status).toBe(status);
  return reading.value;
}

describe('an operation', () => {
  it('returns a quote for a query', async () => {
    const { call, asked } = serving();
    const answer = await call(`${QUOTE}&swapMode=ExactOut&slippageBps=25`);
    expect([answer.status, answer.json]).toEqual([200, quote]);
    expect(answer.headers.get('content-type')).toBe('application/json');
    expect(asked).toEqual([
      [
        'quote',
        {
          inputMint: 'SOL',
          outputMint: USDC,
          amount: '1000000',
          swapMode: 'ExactOut',
          slippageBps: 25,
        },
      ],
    ]);
  });

  it('builds the swap of a given quote, or requests a quote first', async () => {
    const { post, asked } = serving();
    expect((await post('/api/swap/build', { wallet: WALLET, quote })).status).toBe(200);
    expect(asked.splice(0)).toEqual([['buildSwap', { wallet: WALLET, quote }]]);
    const parameters = { inputMint: 'SOL', outputMint: 'USDC', amount: '5' };
    expect((await post('/api/swap/build', { wallet: WALLET, ...parameters })).json).toMatchObject({
      quote,
      lastValidBlockHeight: '9',
    });
    expect(asked).toEqual([
      ['quote', parameters],
      ['buildSwap', { wallet: WALLET, quote }],
    ]);
  });

  it('returns one balance for one mint, and otherwise a list', async () => {
    const { call, asked } = serving();
    expect((await call(`/api/balance?wallet=${WALLET}&mint=USDC`)).json).toEqual(balanceOfUsdc);
    for (const query of ['', '&mint=USDC&mint=SOL']) {
      expect(JSON.parse((await call(`/api/balance?wallet=${WALLET}${query}`)).text)).toEqual([
        balanceOfUsdc,
      ]);
    }
    expect(asked.map(([, request]) => request)).toEqual([
      { wallet: WALLET, mint: ['USDC'] },
      { wallet: WALLET },
      { wallet: WALLET, mint: ['USDC', 'SOL'] },
    ]);
  });

  it('passes a 402 and a payment step unchanged to the transport', async () => {
    const { post, asked } = serving();
    const paymentRequired = {
      url: 'https://api.example.com/',
      status: 402,
      headers: { a: 'b' },
      body: { x: [1, null] },
    };
    const step = {
      paymentRequired,
      wallet: WALLET,
      autoSwap: true,
      limits: { [USDC]: '10' },
      signedSwap,
    };
    expect((await post('/api/x402/parse-payment', paymentRequired)).json).toMatchObject({
      x402Version: 2,
    });
    expect((await post('/api/x402/auto-pay', step)).json).toMatchObject({ state: 'ready_to_sign' });
    expect(asked).toEqual([
      ['parsePayment', paymentRequired],
      ['autoPay', step],
    ]);
  });

  it('answers a typed error with a problem that parses back to the same error', async () => {
    const lacking = new FundsError('unknown_mint', 'There is no such mint.', {
      details: { mint: USDC },
    });
    const { call } = serving({}, { balance: () => Promise.reject(lacking) });
    const answer = await call(`/api/balance?wallet=${WALLET}`);
    expect(problemIn(answer)).toMatchObject({
      status: 422,
      code: 'unknown_mint',
      detail: lacking.message,
    });
    expect(errorOf(answer.json)).toMatchObject({
      name: 'FundsError',
      code: 'unknown_mint',
      details: { mint: USDC },
      funds: 'untouched',
    });
  });

  it.each([
    [400, 422, 'quote_mismatch'],
    [422, 422, 'quote_mismatch'],
    [401, 503, 'jupiter_unavailable'],
    [500, 503, 'jupiter_unavailable'],
  ])('turns status %d from Jupiter into %d %s', async (upstreamStatus, status, code) => {
    const refused = new TransportError('jupiter_unavailable', 'No.', {
      details: { status: upstreamStatus },
    });
    const { post } = serving({}, { buildSwap: () => Promise.reject(refused) });
    expect(problemIn(await post('/api/swap/build', { wallet: WALLET, quote }))).toMatchObject({
      status,
      code,
    });
  });

  it('sends Retry-After when an upstream is rate limited', async () => {
    const limited = new TransportError('rate_limited', 'Wait.', {
      details: { retryAfterMs: 1_200 },
    });
    const answer = await serving({}, { quote: () => Promise.reject(limited) }).call(QUOTE);
    expect([problemIn(answer).status, answer.headers.get('retry-after')]).toEqual([429, '2']);
  });

  it.each<[string, unknown]>([
    ['an untyped error', new Error('the key is hunter2')],
    ['a thrown string', 'hunter2'],
  ])('answers %s with a fixed text, and reports it to onError', async (_, thrown) => {
    const reported: unknown[] = [];
    const onError = (error: unknown, requestId: string) => {
      reported.push([error, requestId]);
      throw new Error('a log that is full');
    };
    const { call } = serving({ onError }, { quote: () => Promise.reject(thrown) });
    const answer = await call(QUOTE);
    expect(problemIn(answer)).toMatchObject({ status: 500, code: 'internal_error' });
    expect(answer.text).not.toMatch(/hunter2|\.ts|at /);
    expect(reported).toEqual([[thrown, answer.headers.get('x-request-id')]]);
  });

  it('says after an untyped error of a payment alone that a swap may have been sent', async () => {
    const fail = () => Promise.reject(new Error('failed'));
    const { call, post } = serving({}, { quote: fail, autoPay: fail });
    expect(problemIn(await call(QUOTE))).toMatchObject({ funds: 'untouched', retry: 'fresh' });
    const paid = await post('/api/x402/auto-pay', {
      paymentRequired: {},
      wallet: WALLET,
      signedSwap,
    });
    expect(problemIn(paid)).toMatchObject({ funds: 'uncertain', retry: 'same' });
  });

  it('fails on an answer that breaks the interface, and drops fields beyond it', async () => {
    const reported: unknown[] = [];
    const lying = { ...quote, platformFeeBps: 85 } as unknown as typeof quote;
    const { call } = serving(
      { onError: (error) => reported.push(error) },
      { quote: () => Promise.resolve(lying) },
    );
    expect(problemIn(await call(QUOTE)).code).toBe('internal_error');
    expect(String(reported[0])).toContain('platformFeeBps');
    const chatty = { ...quote, internal: 'https://rpc.example.com/?key=hunter2' };
    expect((await serving({}, { quote: () => Promise.resolve(chatty) }).call(QUOTE)).json).toEqual(
      quote,
    );
  });

  it('answers 504 at its timeout, and aborts the signal of the transport', async () => {
    let received: AbortSignal | undefined;
    const { call } = serving(
      { timeoutMs: 20 },
      { quote: (_, options) => ((received = options?.signal), never()) },
    );
    expect(problemIn(await call(QUOTE))).toMatchObject({
      status: 504,
      code: 'timeout',
      funds: 'untouched',
      details: { timeoutMs: 20 },
    });
    expect(received?.aborted).toBe(true);
  });

  it('reports funds as uncertain at its timeout when the request held signed bytes', async () => {
    const { post } = serving({ timeoutMs: 20 }, { autoPay: never });
    const step = { paymentRequired: {}, wallet: WALLET };
    for (const signed of [{ signedSwap }, { signedPayment: signedSwap }])
      expect(problemIn(await post('/api/x402/auto-pay', { ...step, ...signed }))).toMatchObject({
        code: 'timeout',
        ...{ funds: 'uncertain', retry: 'same' },
      });
    expect(problemIn(await post('/api/x402/auto-pay', step))).toMatchObject({
      code: 'timeout',
      funds: 'untouched',
    });
  });

  it('answers cancelled when its caller aborts', async () => {
    const controller = new AbortController();
    const { call } = serving({}, { quote: () => (controller.abort(), never()) });
    expect(problemIn(await call(QUOTE, { signal: controller.signal })).code).toBe('cancelled');
  });
});

describe('a request', () => {
  it('to an unknown path gets 404, and with a wrong method 405, each as a problem', async () => {
    const { call, post } = serving({ metrics: createMetrics() });
    for (const path of [
      '/',
      '/api',
      '/api/quote/',
      '/API/quote',
      '/api/quotes',
      '/api/webhooks',
      '/openapi.yaml',
    ]) {
      expect(problemIn(await call(path))).toMatchObject({ status: 404, code: 'not_found' });
    }
    for (const { path, method } of [...Object.values(operations), ...Object.values(pages)]) {
      for (const wrongMethod of [
        'DELETE',
        'PUT',
        'PATCH',
        'OPTIONS',
        method === 'GET' ? 'POST' : 'GET',
      ]) {
        const answer = await call(path, { method: wrongMethod });
        expect(problemIn(answer)).toMatchObject({ status: 405, code: 'method_not_allowed' });
        expect(answer.headers.get('allow')).toBe(method === 'GET' ? 'GET, HEAD' : 'POST');
      }
    }
    expect((await post('/api/quote', {})).status).toBe(405);
  });

  it('with HEAD gets the answer to GET without the body', async () => {
    const { call } = serving();
    const answer = await call(QUOTE, { method: 'HEAD' });
    expect([answer.status, answer.text, answer.headers.get('content-type')]).toEqual([
      200,
      '',
      'application/json',
    ]);
  });

  it.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/jsonp',
    'application/json; charset=utf-16',
    '',
  ])('with a body of type %j is refused, because a foreign page could send it', async (type) => {
    const { post, asked } = serving();
    expect(
      problemIn(await post('/api/x402/parse-payment', '{}', { 'content-type': type })).code,
    ).toBe('unsupported_media_type');
    expect(asked).toEqual([]);
  });

  it.each([
    'application/json',
    'APPLICATION/JSON',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
  ])('with a body of type %j is accepted', async (type) =>
    expect(
      (await serving().post('/api/x402/parse-payment', '{}', { 'content-type': type })).status,
    ).toBe(200),
  );

  it('with a compressed body is refused', async () => {
    const answer = await serving().post('/api/x402/parse-payment', '{}', {
      'content-encoding': 'gzip',
    });
    expect(problemIn(answer).code).toBe('unsupported_media_type');
  });

  it.each(['', '{', '{"a":1}}', 'undefined', "{'a':1}", '[1,]', '\u0000'])(
    'with the malformed body %j is refused without quoting it',
    async (body) => {
      const answer = await serving().post('/api/x402/parse-payment', body);
      expect(problemIn(answer)).toMatchObject({
        status: 400,
        code: 'malformed_request',
        detail: 'The body is not JSON. Check it, and send it again.',
      });
    },
  );

  it('with a body that is not UTF-8 is refused', async () => {
    const init = {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: Uint8Array.of(0x22, 0xff, 0x22),
    };
    expect(problemIn(await serving().call('/api/x402/parse-payment', init)).code).toBe(
      'malformed_request',
    );
  });

  it('is cut off at the byte limit even when content-length states less', async () => {
    let pulled = 0;
    let stopped = false;
    const endless = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        pulled += 1;
        controller.enqueue(new Uint8Array(1_024).fill(0x20));
      },
      cancel: () => {
        stopped = true;
      },
    });
    const init = streaming(endless, { 'content-length': '2' });
    const answer = await serving({ maxBodyBytes: 10_240 }).call('/api/x402/parse-payment', init);
    expect(problemIn(answer)).toMatchObject({
      status: 413,
      code: 'request_too_large',
      details: { limitBytes: 10_240 },
    });
    expect(pulled).toBeLessThan(16);
    expect(stopped).toBe(true);
  });

  it('passes with exactly the most bytes, and is refused with one byte more', async () => {
    const { post } = serving({ maxBodyBytes: 100 });
    const body = (length: number) => `{"body":"${'x'.repeat(length - 11)}"}`;
    expect((await post('/api/x402/parse-payment', body(100))).status).toBe(200);
    expect((await post('/api/x402/parse-payment', body(101))).status).toBe(413);
  });

  it('with an endless body gets 408 at the timeout', async () => {
    const { call } = serving({ timeoutMs: 20 });
    expect(problemIn(await call('/api/x402/parse-payment', begun()))).toMatchObject({
      status: 408,
      code: 'request_timeout',
      retry: 'fresh',
    });
  });

  it('may nest JSON 32 levels deep, and brackets in strings do not count', async () => {
    const nested = (levels: number) =>
      `{"body":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;
    const { post } = serving();
    expect((await post('/api/x402/parse-payment', nested(32))).status).toBe(200);
    expect(problemIn(await post('/api/x402/parse-payment', nested(33))).code).toBe(
      'malformed_request',
    );
    expect(
      (await post('/api/x402/parse-payment', { body: `\\"${'[{'.repeat(1_000)}` })).status,
    ).toBe(200);
    expect(problemIn(await post('/api/x402/parse-payment', '['.repeat(60_000))).code).toBe(
      'malformed_request',
    );
  });

  it('gets 431 when its URL or its headers are too long', async () => {
    const { call } = serving();
    expect(problemIn(await call(`${QUOTE}&x=${'y'.repeat(8_192)}`))).toMatchObject({
      status: 431,
      code: 'headers_too_large',
    });
    expect(problemIn(await call(QUOTE, { headers: { 'x-a': 'b'.repeat(16_384) } })).code).toBe(
      'headers_too_large',
    );
  });

  it.each([
    [`${QUOTE}&amount=2`, 'amount'],
    [`${QUOTE}&slippageBps=050`, 'slippageBps'],
    [`${QUOTE}&feeAccount=${WALLET}`, 'feeAccount'],
    ['/api/quote?inputMint=SOL&outputMint=USDC&amount=0x10', 'amount'],
    ['/api/balance', 'wallet'],
    [`/api/balance?wallet=${WALLET}&wallet=${WALLET}`, 'wallet'],
  ])('to %s is refused with the name of the field', async (path, option) => {
    const { call, asked } = serving();
    expect(problemIn(await call(path))).toMatchObject({
      status: 400,
      code: 'invalid_option',
      details: { option },
    });
    expect(asked).toEqual([]);
  });
});

describe('every answer', () => {
  it('forbids caching, and has a request id and security headers', async () => {
    const { call, post } = serving({}, { balance: () => Promise.reject(new Error('no')) });
    for (const answer of [
      await call(QUOTE),
      await call('/api/health'),
      await call('/nowhere'),
      await call(`/api/balance?wallet=${WALLET}`),
      await post('/api/swap/build', '{'),
    ]) {
      expect(Object.fromEntries(answer.headers)).toMatchObject({
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
        'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
        'referrer-policy': 'no-referrer',
        'cross-origin-resource-policy': 'same-origin',
        'x-request-id': expect.stringMatching(/^[0-9a-f]{32}$/),
      });
      expect(
        [...answer.headers.keys()].filter((name) => /^access-control|^vary$/.test(name)),
      ).toEqual([]);
    }
  });

  it('repeats a well-formed request id, and replaces any other', async () => {
    const { call } = serving();
    const idOf = async (id: string) =>
      (await call('/api/health', { headers: { 'x-request-id': id } })).headers.get('x-request-id');
    expect(await idOf('req_1.2-3')).toBe('req_1.2-3');
    for (const id of ['', 'a b', '<script>', 'x'.repeat(65), 'ä'])
      expect(await idOf(id)).toMatch(/^[0-9a-f]{32}$/);
  });

  it('is served below the base path, which the OpenAPI document names as its server', async () => {
    const { call } = serving({ basePath: '/pay/v1' });
    expect((await call('/pay/v1/api/health')).json).toEqual({ status: 'ok' });
    expect((await call('/pay/v1/openapi.json')).json).toMatchObject({
      openapi: '3.1.0',
      servers: [{ url: '/pay/v1' }],
    });
    expect((await call(`/pay/v1${QUOTE}`)).status).toBe(200);
    expect((await call(QUOTE)).status).toBe(404);
    expect((await serving().call('/openapi.json')).json).toMatchObject({ servers: [{ url: '/' }] });
  });
});

describe('pages of other origins', () => {
  const APP = 'https://app.example.com';
  const preflight = {
    method: 'OPTIONS',
    headers: { origin: APP, 'access-control-request-method': 'POST' },
  };

  it('may not call unless option cors lists them', async () => {
    const closed = serving();
    expect((await closed.call('/api/swap/build', preflight)).status).toBe(405);
    const { call } = serving({ cors: ['https://other.example.com'] });
    const answer = await call('/api/swap/build', preflight);
    expect([
      answer.status,
      answer.headers.get('access-control-allow-origin'),
      answer.headers.get('vary'),
    ]).toEqual([405, null, 'origin']);
    expect(
      (await call(QUOTE, { headers: { origin: 'null' } })).headers.get(
        'access-control-allow-origin',
      ),
    ).toBeNull();
  });

  it('may call without cookies when listed, and pass preflight before authorize runs', async () => {
    const { call, asked } = serving({ cors: [APP], authorize: () => false });
    const allowed = await call('/api/swap/build', preflight);
    expect(allowed.status).toBe(204);
    expect(Object.fromEntries(allowed.headers)).toMatchObject({
      'access-control-allow-origin': APP,
      'access-control-allow-methods': 'POST',
      'access-control-allow-headers': expect.stringContaining('content-type'),
      vary: 'origin',
    });
    expect(allowed.headers.has('access-control-allow-credentials')).toBe(false);
    const refused = await call(QUOTE, { headers: { origin: APP } });
    expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([
      401,
      APP,
    ]);
    expect(asked).toEqual([]);
  });
});

describe('the hooks', () => {
  it('guard every operation, while health and the OpenAPI document stay open', async () => {
    const { call, post, asked } = serving({ authorize: async () => false, rateLimit: () => 0 });
    for (const answer of [
      await call(QUOTE),
      await post('/api/swap/build', { wallet: WALLET, quote }),
    ]) {
      expect(problemIn(answer)).toMatchObject({ status: 401, code: 'unauthorized' });
      expect(answer.headers.get('www-authenticate')).toBe('Bearer');
    }
    expect(asked).toEqual([]);
    expect((await call('/api/health')).status).toBe(200);
    expect((await call('/openapi.json')).status).toBe(200);
  });

  it('may return their own response, which keeps the security headers', async () => {
    const authorize = () =>
      new Response('Elsewhere.', {
        status: 307,
        headers: { location: 'https://b.example.com/', 'cache-control': 'public' },
      });
    const answer = await serving({ authorize }).call(QUOTE);
    expect([answer.status, answer.text, answer.headers.get('location')]).toEqual([
      307,
      'Elsewhere.',
      'https://b.example.com/',
    ]);
    expect(answer.headers.get('cache-control')).toBe('no-store');
  });

  it('refuse the request when they fail, without showing the reason', async () => {
    for (const options of [
      { authorize: () => Promise.reject(new Error('hunter2')) },
      { rateLimit: () => { throw new Error('hunter2'); } }, // prettier-ignore
      { rateLimit: () => NaN },
      { authorize: () => 'yes' as unknown as boolean, expected: 401 },
    ] as (HandlerOptions & { expected?: number })[]) {
      const { expected = 500, ...hooks } = options;
      const { call, asked } = serving(hooks);
      const answer = await call(QUOTE);
      expect([answer.status, asked.length]).toEqual([expected, 0]);
      expect(answer.text).not.toContain('hunter2');
    }
  });

  it('run rateLimit before authorize, so that guessing keys is slow', async () => {
    const order: string[] = [];
    const { call } = serving({
      rateLimit: () => (order.push('rateLimit'), 2_500),
      authorize: () => (order.push('authorize'), true),
    });
    const answer = await call(QUOTE);
    expect(problemIn(answer)).toMatchObject({
      status: 429,
      code: 'rate_limited',
      details: { retryAfterMs: 2_500 },
    });
    expect([answer.headers.get('retry-after'), order]).toEqual(['3', ['rateLimit']]);
  });

  it('end with the timeout of the request', async () => {
    expect((await serving({ timeoutMs: 20, authorize: never }).call(QUOTE)).status).toBe(504);
  });
});

describe('the options of createHandler', () => {
  it.each<[string, Record<string, unknown>]>([
    ['authorise', { authorise: () => true }],
    ['authorize', { authorize: true }],
    ['basePath', { basePath: 'pay' }],
    ['basePath', { basePath: '/pay/' }],
    ['basePath', { basePath: '/../x?y' }],
    ['maxBodyBytes', { maxBodyBytes: 0 }],
    ['timeoutMs', { timeoutMs: Infinity }],
    ['cors', { cors: '*' }],
    ['cors', { cors: ['*'] }],
    ['cors', { cors: ['https://app.example.com/'] }],
    ['cors', { cors: ['null'] }],
    ['rateLimit', { rateLimit: { perMinute: 5 } }],
    ['onError', { onError: 'log' }],
  ])('are refused at once with the name of a wrong %s: %j', (option, options) => {
    expect(() => createHandler(fakeTransport().transport, options as HandlerOptions)).toThrow(
      expect.objectContaining({ code: 'invalid_option', details: { option } }),
    );
  });

  it('are all optional', async () => {
    const response = await createHandler(fakeTransport().transport)(new Request(`${BASE}${QUOTE}`));
    expect(response.status).toBe(200);
  });
});
