import { http as route, HttpResponse, delay } from 'msw';
import { setupServer } from 'msw/node';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { askedWait } from '../../../../src/internal/backoff.js';
import { createJupiterHttp } from '../../../../src/swaps/jupiter/http.js';
import { fakeRuntime } from '../support.js';

const URL_ = 'https://jupiter.test/quote';
const DEADLINE = 77_777;
const server = setupServer();

beforeAll(() => server.listen({ onUnhandledRequest: 'error' }));
afterEach(() => server.resetHandlers());
afterAll(() => server.close());

/** Gives these answers in turn, and repeats the last answer. */
function answers(...responses: (() => Response | Promise<Response>)[]): { count: number } {
  const calls = { count: 0 };
  server.use(
    route.all(URL_, () => {
      const answer = responses[Math.min(calls.count++, responses.length - 1)];
      return answer?.() ?? HttpResponse.error();
    }),
  );
  return calls;
}

const ok = () => HttpResponse.json({ fine: true });
const status =
  (code: number, headers: Record<string, string> = {}) =>
  () =>
    new HttpResponse('no', { status: code, headers });
const client = (runtime = fakeRuntime(DEADLINE)) => ({
  runtime,
  http: createJupiterHttp({ timeoutMs: DEADLINE, runtime }),
});

describe('createJupiterHttp', () => {
  it.each([429, 421, 500, 502, 503, 599])('tries a %i again, twice at most', async (code) => {
    const recovers = answers(status(code), status(code), ok);
    expect(await (await client().http(URL_)).json()).toEqual({ fine: true });
    expect(recovers.count).toBe(3);
  });

  it.each([
    [429, 'rate_limited'],
    [421, 'jupiter_unavailable'],
    [500, 'jupiter_unavailable'],
  ])('gives up on a lasting %i with %s', async (code, error) => {
    const calls = answers(status(code));
    await expect(client().http(URL_, { method: 'POST', body: '{}' })).rejects.toMatchObject({
      code: error,
      name: 'TransportError',
      funds: 'untouched',
    });
    expect(calls.count).toBe(3);
  });

  it.each([200, 204, 400, 401, 402, 404, 410])('returns a %i unchanged', async (code) => {
    const calls = answers(
      () =>
        new HttpResponse(code === 204 ? null : 'text', {
          status: code,
          headers: { 'x-mark': 'a' },
        }),
    );
    const response = await client().http(URL_);
    expect([response.status, await response.text(), response.headers.get('x-mark')]).toEqual([
      code,
      code === 204 ? '' : 'text',
      'a',
    ]);
    expect(calls.count).toBe(1);
  });

  it('sends the same request in each attempt', async () => {
    const seen: string[] = [];
    server.use(
      route.post(URL_, async ({ request }) => {
        seen.push(`${request.headers.get('x-api-key')} ${await request.text()}`);
        return seen.length === 1 ? status(500)() : ok();
      }),
    );
    await client().http(new URL(URL_), {
      method: 'POST',
      body: '{"a":1}',
      headers: { 'x-api-key': 'k' },
    });
    expect(seen).toEqual(['k {"a":1}', 'k {"a":1}']);
  });

  it('waits as long as the answer asks for, and never longer than ten seconds', async () => {
    const { runtime, http } = client();
    const reset = String(Math.floor(runtime.now() / 1000) + 4);
    answers(status(429, { 'retry-after': '3' }), status(429, { 'x-ratelimit-reset': reset }), ok);
    await http(URL_);
    expect(runtime.slept).toEqual([3_000, 1_000]);
    answers(status(503, { 'retry-after': '3600' }), status(429), ok);
    await http(URL_);
    expect(runtime.slept.slice(2)).toEqual([10_000, 2_000]);
  });

  it('adds up to a quarter to a wait, at random', async () => {
    const runtime = {
      ...fakeRuntime(DEADLINE),
      randomBytes: (length: number) => new Uint8Array(length).fill(255),
    };
    answers(status(429, { 'retry-after': '4' }), ok);
    await createJupiterHttp({ timeoutMs: DEADLINE, runtime })(URL_);
    expect(runtime.slept).toEqual([4_996]);
  });

  it('reports how long to wait when it gives up on a rate limit', async () => {
    answers(status(429, { 'retry-after': '33' }));
    await expect(client().http(URL_)).rejects.toMatchObject({ details: { retryAfterMs: 33_000 } });
  });

  it('tries again after a lost connection', async () => {
    const calls = answers(() => HttpResponse.error(), ok);
    expect((await client().http(URL_)).status).toBe(200);
    expect(calls.count).toBe(2);
    answers(() => HttpResponse.error());
    await expect(client().http(URL_)).rejects.toMatchObject({
      code: 'jupiter_unavailable',
      details: { status: 0 },
    });
  });

  it('follows no redirect, because it would carry the key to another host', async () => {
    answers(() => HttpResponse.redirect('https://elsewhere.test/'));
    await expect(client().http(URL_, { headers: { 'x-api-key': 'k' } })).rejects.toMatchObject({
      code: 'jupiter_unavailable',
    });
  });

  it('ends an attempt at its deadline, also if fetch ignores the signal', async () => {
    let calls = 0;
    const deaf = () => {
      calls++;
      return new Promise<Response>(() => undefined);
    };
    const http = createJupiterHttp({ timeoutMs: 50, runtime: fakeRuntime(), fetch: deaf });
    await expect(http(URL_)).rejects.toMatchObject({
      code: 'timeout',
      details: { step: 'jupiter', timeoutMs: 50 },
    });
    expect(calls).toBe(3);
  });

  it('includes the body in the deadline', async () => {
    const drip = () =>
      Promise.resolve(
        new Response(
          new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array(1)) }),
        ),
      );
    await expect(
      createJupiterHttp({ timeoutMs: 50, runtime: fakeRuntime(), fetch: drip })(URL_),
    ).rejects.toMatchObject({
      code: 'timeout',
    });
  });

  it('refuses an answer of more than two megabytes', async () => {
    const calls = answers(() => new HttpResponse(new Uint8Array(2 * 1024 * 1024 + 1)));
    await expect(client().http(URL_)).rejects.toMatchObject({
      code: 'invalid_response',
      details: { service: 'jupiter' },
    });
    expect(calls.count).toBe(1);
    answers(() => new HttpResponse(new Uint8Array(2 * 1024 * 1024)));
    expect((await (await client().http(URL_)).arrayBuffer()).byteLength).toBe(2 * 1024 * 1024);
  });

  it.each(['before', 'during', 'while waiting to try again'])(
    'rejects with the reason of a signal that aborts %s',
    async (moment) => {
      const controller = new AbortController();
      const reason = new Error('enough');
      const { runtime, http } = client();
      if (moment === 'before') controller.abort(reason);
      if (moment === 'during') {
        answers(async () => {
          controller.abort(reason);
          await delay('infinite');
          return ok();
        });
      }
      if (moment === 'while waiting to try again') {
        answers(status(500));
        const slow = {
          ...runtime,
          sleep: (ms: number, signal?: AbortSignal) => {
            if (ms !== DEADLINE) controller.abort(reason);
            return runtime.sleep(ms, signal);
          },
        };
        await expect(
          createJupiterHttp({ timeoutMs: DEADLINE, runtime: slow })(URL_, {
            signal: controller.signal,
          }),
        ).rejects.toBe(reason);
        return;
      }
      await expect(http(URL_, { signal: controller.signal })).rejects.toBe(reason);
    },
  );

  it('asks the limiter before each attempt, and reports each answer to it', async () => {
    const events: string[] = [];
    const limiter = {
      take: async () => void events.push('take'),
      observe: (code: number) => void events.push(`saw ${code}`),
    };
    answers(status(429), ok);
    await createJupiterHttp({ timeoutMs: DEADLINE, runtime: fakeRuntime(DEADLINE), limiter })(URL_);
    expect(events).toEqual(['take', 'saw 429', 'take', 'saw 200']);
  });
});

describe('askedWait', () => {
  const now = Date.parse('2026-11-20T12:00:00Z');
  it.each<[string, Record<string, string>, number | undefined]>([
    ['seconds', { 'retry-after': '2' }, 2_000],
    ['a date', { 'retry-after': 'Fri, 20 Nov 2026 12:00:05 GMT' }, 5_000],
    ['a date that has passed', { 'retry-after': 'Fri, 20 Nov 2026 11:00:05 GMT' }, 0],
    ['a negative number', { 'retry-after': '-5' }, undefined],
    ['a fraction', { 'retry-after': '1.5' }, undefined],
    ['a word', { 'retry-after': 'soon' }, undefined],
    ["Jupiter's reset", { 'x-ratelimit-reset': String(now / 1000 + 7) }, 7_000],
    ['a reset that has passed', { 'x-ratelimit-reset': '1' }, 0],
    ['a reset that is not a number', { 'x-ratelimit-reset': 'NaN' }, undefined],
    ['no header', {}, undefined],
  ])('reads the wait from %s', (_, headers, ms) => {
    expect(askedWait(new Headers(headers), now)).toBe(ms);
  });
});
