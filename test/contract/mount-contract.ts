import { TransportError, type Transport } from 'exact-change';
import { createHandler, type HandlerOptions } from 'exact-change/http';
import { afterEach, describe, expect, it } from 'vitest';
import { problem } from '../../src/wire/problem.js';
import { readAs } from '../../src/wire/read.js';
import type { Mount, Mounted } from '../helpers/mounts.js';
import { rawRequest } from '../helpers/raw.js';
import { fakeTransport } from '../unit/http/fake.js';
import { fakeRegistry } from '../unit/http/fake-registry.js';
import { balanceOfUsdc, quote, WALLET } from '../unit/wire/samples.js';

const JSON_TYPE = { 'content-type': 'application/json' };
const QUOTE = '/api/quote?inputMint=SOL&outputMint=USDC&amount=5';
const CHUNKED = { ...JSON_TYPE, 'transfer-encoding': 'chunked' };
const TOO_MUCH = `{"body":"${'x'.repeat(70_000)}"}`;

/** The contract of a service, whatever it is mounted in, over real sockets. */
export function mountContract({ name, parses, start }: Mount): void {
  const open: Mounted[] = [];
  afterEach(async () => {
    for (const mounted of open.splice(0)) await mounted.close();
  });

  describe(`the service in ${name}`, () => {
    async function mounted(options: HandlerOptions = {}, over: Partial<Transport> = {}) {
      const { transport, asked } = fakeTransport(over);
      const mount = await start(createHandler(transport, { basePath: '/pay', ...options }));
      open.push(mount);
      const ask = async (path: string, init: RequestInit = {}) => {
        const response = await fetch(mount.url + path, init);
        const text = await response.text();
        return {
          status: response.status,
          headers: response.headers,
          text,
          json: text === '' ? undefined : (JSON.parse(text) as unknown),
        };
      };
      const post = (
        path: string,
        body: string | object,
        headers: Record<string, string> = JSON_TYPE,
      ) =>
        ask(path, {
          method: 'POST',
          headers,
          body: typeof body === 'string' ? body : JSON.stringify(body),
        });
      return { ...mount, asked, ask, post };
    }

    function expectProblem(
      answer: { status: number; headers: Headers; json: unknown },
      status: number,
      code: string,
    ): void {
      expect(answer).toMatchObject({ status, json: { status, code } });
      expect(answer.headers.get('content-type')).toBe('application/problem+json');
      expect(answer.headers.get('x-request-id')).toMatch(/^[0-9a-f]{32}$/);
      expect(readAs(problem, answer.json)).toMatchObject({ ok: true });
    }

    it('performs each operation', async () => {
      const { ask, post, asked } = await mounted();
      // Another amount than in the quote, because the service would share an equal quote.
      const swap = { wallet: WALLET, inputMint: 'SOL', outputMint: 'USDC', amount: '6' };
      // Characters of several bytes, and names that objects have themselves.
      const paymentRequired = {
        url: 'https://api.example.com/',
        status: 402,
        headers: { a: 'b' },
        body: { 'x\u2713': '\u{1f4b0}', __proto__x: 1 },
      };
      expect((await ask(QUOTE)).json).toEqual(quote);
      expect((await post('/api/swap/build', swap)).json).toMatchObject({ quote });
      expect((await ask(`/api/balance?wallet=${WALLET}&mint=USDC`)).json).toEqual(balanceOfUsdc);
      expect((await post('/api/x402/parse-payment', paymentRequired)).json).toMatchObject({
        x402Version: 2,
      });
      expect(
        (await post('/api/x402/auto-pay', { paymentRequired, wallet: WALLET })).json,
      ).toMatchObject({ state: 'ready_to_sign' });
      const { wallet: _, ...parameters } = swap;
      expect(asked).toEqual([
        ['quote', { inputMint: 'SOL', outputMint: 'USDC', amount: '5' }],
        ['quote', parameters],
        ['buildSwap', { wallet: WALLET, quote }],
        ['balance', { wallet: WALLET, mint: ['USDC'] }],
        ['parsePayment', paymentRequired],
        ['autoPay', { paymentRequired, wallet: WALLET }],
      ]);
      expect((await ask('/api/health')).json).toEqual({ status: 'ok' });
      expect((await ask('/openapi.json')).json).toMatchObject({
        openapi: '3.1.0',
        servers: [{ url: '/pay' }],
      });
    });

    it('registers webhooks for each caller alone', async () => {
      const callerOf = ({ headers }: Request) => {
        const id = headers.get('x-api-key');
        return id === null ? undefined : { id };
      };
      const { ask, post } = await mounted({ webhooks: fakeRegistry(), callerOf });
      const as = (key: string) => ({ headers: { 'x-api-key': key } });
      const events = ['payment.settled'];
      const made = await post(
        '/api/webhooks',
        { url: 'https://shop.example.com/', events },
        { ...JSON_TYPE, 'x-api-key': 'a' },
      );
      expect(made).toMatchObject({
        status: 200,
        json: { events, secret: expect.stringMatching(/^whsec_/) },
      });
      const { secret, ...endpoint } = made.json as { id: string; secret: string };
      expect((await ask('/api/webhooks', as('a'))).json).toEqual([endpoint]);
      expect((await ask('/api/webhooks', as('b'))).json).toEqual([]);
      expectProblem(await ask('/api/webhooks'), 401, 'unauthorized');
      const rotated = await post(
        '/api/webhooks/rotate',
        { id: endpoint.id },
        { ...JSON_TYPE, 'x-api-key': 'a' },
      );
      expect(rotated.json).toEqual({ ...endpoint, secret: expect.not.stringContaining(secret) });
      const remove = (key: string) =>
        ask(`/api/webhooks?id=${endpoint.id}`, { method: 'DELETE', ...as(key) });
      expectProblem(await remove('b'), 404, 'not_found');
      expect(await remove('a')).toMatchObject({ status: 200, json: { removed: true } });
      expectProblem(await remove('a'), 404, 'not_found');
      const refused = await ask('/api/webhooks', { method: 'PUT' });
      expect([refused.status, refused.headers.get('allow')]).toEqual([
        405,
        'GET, HEAD, POST, DELETE',
      ]);
    });

    it('reports an invalid request to each operation as a problem', async () => {
      const { ask, post, asked } = await mounted();
      expectProblem(await ask('/api/quote?inputMint=SOL'), 400, 'invalid_option');
      expectProblem(await post('/api/swap/build', { wallet: 1 }), 400, 'invalid_option');
      expectProblem(await ask('/api/balance'), 400, 'invalid_option');
      expectProblem(
        await post('/api/x402/parse-payment', '{"secretKey":1}'),
        400,
        'secret_refused',
      );
      expectProblem(await post('/api/x402/auto-pay', {}), 400, 'invalid_option');
      expectProblem(
        await post('/api/x402/auto-pay', 'a=b', {
          'content-type': 'application/x-www-form-urlencoded',
        }),
        415,
        'unsupported_media_type',
      );
      expectProblem(await ask('/api/quote', { method: 'DELETE' }), 405, 'method_not_allowed');
      expectProblem(await ask('/api/nothing'), 404, 'not_found');
      expectProblem(await post('/', {}), 404, 'not_found');
      expect(asked).toEqual([]);
    });

    it('reports an error of the transport as a problem, with the time to wait', async () => {
      const limited = new TransportError('rate_limited', 'Wait.', {
        details: { retryAfterMs: 1_500 },
      });
      const { ask } = await mounted({}, { quote: () => Promise.reject(limited) });
      const answer = await ask(QUOTE);
      expectProblem(answer, 429, 'rate_limited');
      expect(answer.headers.get('retry-after')).toBe('2');
    });

    it('answers an empty body at once, which a parser leaves no trace of', async () => {
      const { url, post } = await mounted();
      const path = '/api/x402/parse-payment';
      expectProblem(await post(path, ''), 400, 'malformed_request');
      const chunked = { method: 'POST', headers: CHUNKED };
      expect(await rawRequest(url + path, chunked)).toMatchObject({ status: 400 });
    });

    it('limits a chunked body, which has no stated length', async () => {
      const { url, asked } = await mounted();
      const options = { method: 'POST', headers: CHUNKED, body: TOO_MUCH };
      expect(await rawRequest(`${url}/api/x402/parse-payment`, options)).toMatchObject({
        status: 413,
      });
      expect(asked).toEqual([]);
    });

    it('refuses a body that is nested as deep as it is long', async () => {
      const { post, asked } = await mounted();
      expectProblem(
        await post('/api/x402/parse-payment', '['.repeat(30_000) + ']'.repeat(30_000)),
        400,
        'malformed_request',
      );
      expect(asked).toEqual([]);
    });

    it('aborts the work for a caller that disconnects', async () => {
      let asked = (_: AbortSignal | undefined): void => undefined;
      const asking = new Promise<AbortSignal | undefined>((resolve) => (asked = resolve));
      const { url } = await mounted(
        {},
        { autoPay: (_, options) => (asked(options?.signal), new Promise(() => undefined)) },
      );
      const caller = new AbortController();
      const body = JSON.stringify({ paymentRequired: { body: '' }, wallet: WALLET });
      const answer = fetch(`${url}/api/x402/auto-pay`, {
        method: 'POST',
        headers: JSON_TYPE,
        body,
        signal: caller.signal,
      });
      const signal = await asking;
      const stopped = new Promise((resolve) =>
        signal?.addEventListener('abort', resolve, { once: true }),
      );
      expect(signal?.aborted).toBe(false);
      caller.abort();
      await expect(answer).rejects.toThrow('aborted');
      await stopped;
    });

    it('does not abort a request that was answered', async () => {
      const signals: (AbortSignal | undefined)[] = [];
      const { ask } = await mounted({
        authorize: (request) => (signals.push(request.signal), true),
      });
      expect((await ask(QUOTE)).status).toBe(200);
      expect((await ask(QUOTE)).status).toBe(200);
      expect(signals.map((signal) => signal?.aborted)).toEqual([false, false]);
    });

    it('answers HEAD without a body, and the preflight of an allowed page', async () => {
      const { url, ask } = await mounted({ cors: ['https://app.example.com'] });
      expect(await ask('/api/health', { method: 'HEAD' })).toMatchObject({ status: 200, text: '' });
      expect(await ask('/api/nothing', { method: 'HEAD' })).toMatchObject({
        status: 404,
        text: '',
      });
      const headers = {
        origin: 'https://app.example.com',
        'access-control-request-method': 'POST',
      };
      const answer = await rawRequest(`${url}/api/swap/build`, { method: 'OPTIONS', headers });
      expect(answer).toMatchObject({
        status: 204,
        text: '',
        headers: { 'access-control-allow-origin': 'https://app.example.com' },
      });
      expect(await rawRequest(`${url}/api/swap/build`, { method: 'OPTIONS' })).toMatchObject({
        status: 405,
        headers: { allow: 'POST' },
      });
    });

    it('gives hooks the whole request, and passes their answer on unchanged', async () => {
      const seen: string[] = [];
      const refusal = () =>
      new Response('Wait\n', { status: 418, headers: [['set-cookie', 'a=1'], ['set-cookie', 'b=2'], ['x-a', 'b']] }); // prettier-ignore
      const { url } = await mounted({
        authorize: ({ method, url: address, headers }) => (
          seen.push(method, address, headers.get('x-key') ?? ''),
          refusal()
        ),
      });
      const response = await fetch(`${url}${QUOTE}`, { headers: { 'x-key': 'k\u00e9y' } });
      expect([response.status, await response.text(), response.headers.get('x-a')]).toEqual([
        418,
        'Wait\n',
        'b',
      ]);
      expect(response.headers.getSetCookie()).toEqual(['a=1', 'b=2']);
      expect(seen).toEqual(['GET', url + QUOTE, 'k\u00e9y']);
    });
  });

  if (parses) return;
  describe(`a body that never ends, in ${name}`, () => {
    it.each<[string, HandlerOptions, string, number]>([
      ['gets 413 if it is too large', {}, TOO_MUCH, 413],
      ['gets 401 if its sender may not call', { authorize: () => false }, '{', 401],
      ['gets 408 when a call takes too long', { timeoutMs: 30 }, '{', 408],
    ])('%s', async (_, options, body, status) => {
      const { transport } = fakeTransport();
      const mounted = await start(createHandler(transport, { basePath: '/pay', ...options }));
      open.push(mounted);
      const request = { method: 'POST', headers: CHUNKED, body, unfinished: true };
      expect(await rawRequest(`${mounted.url}/api/x402/parse-payment`, request)).toMatchObject({
        status,
      });
    });
  });
}
