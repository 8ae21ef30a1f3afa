import { runInNewContext } from 'node:vm';
import { describe, expect, it, vi } from 'vitest';
import { captureCall } from '../../../src/internal/request.js';
import { sendUnpaid } from '../../../src/payments/send-unpaid.js';
import { X402_HEADERS } from '../../../src/protocols/x402/index.js';

const capture = (pass: typeof fetch, input: RequestInfo | URL, init?: RequestInit) =>
  captureCall(pass, input, init, X402_HEADERS);

const URL_ = 'https://seller.test/data';
const NOW = Date.UTC(2026, 0, 1);

const lost = () => Promise.reject(new TypeError('fetch failed'));
const busy = (headers: Record<string, string> = {}) =>
  Promise.resolve(new Response('busy', { status: 503, headers }));
const fine = (status = 200) => Promise.resolve(new Response('fine', { status }));

/** A call with a fetch that answers in turn; it records the waits between the requests. */
function calling(
  answers: readonly (() => Promise<Response>)[],
  init: RequestInit = {},
  retries = 2,
) {
  let sent = 0;
  const waits: number[] = [];
  const call = capture(
    () => answers[sent++]?.() ?? Promise.reject(new Error('asked too often')),
    URL_,
    init,
  );
  if (call === undefined) throw new Error('plain fetch would refuse these arguments');
  const sleep = vi.fn((ms: number, signal?: AbortSignal) => {
    if (signal?.aborted === true) return Promise.reject(signal.reason as Error);
    waits.push(ms);
    return Promise.resolve();
  });
  const runtime = {
    now: () => NOW,
    sleep,
    idle: sleep,
    randomBytes: (length: number) => new Uint8Array(length).fill(128),
  };
  return { outcome: sendUnpaid(call, { retries, runtime }), waits, sent: () => sent };
}

describe('a call without an answer', () => {
  it.each(['GET', 'HEAD'])('is sent again with the method %s', async (method) => {
    const { outcome, waits, sent } = calling([lost, busy, fine], { method });
    expect((await outcome).status).toBe(200);
    expect(sent()).toBe(3);
    // 250 ms and 500 ms plus an eighth, by the random bytes of the test.
    expect(waits).toEqual([281, 563]);
  });

  it.each(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])(
    'is not sent again with the method %s',
    async (method) => {
      const unavailable = calling([busy], { method });
      expect((await unavailable.outcome).status).toBe(503);
      const broken = calling([lost], { method });
      await expect(broken.outcome).rejects.toThrow('fetch failed');
      expect([unavailable.sent(), broken.sent()]).toEqual([1, 1]);
    },
  );

  it.each(['PAYMENT-SIGNATURE', 'X-PAYMENT', 'x-payment'])(
    'is not sent again with the header %s of its caller',
    async (name) => {
      const { outcome, sent } = calling([lost], { headers: { [name]: 'x' } });
      await expect(outcome).rejects.toThrow('fetch failed');
      expect(sent()).toBe(1);
    },
  );

  it.each([
    [1, 'the request can never be made', {}],
    [1, 'no headers came within five minutes', { code: 'UND_ERR_HEADERS_TIMEOUT' }],
    [3, 'the connection was cut', { code: 'UND_ERR_SOCKET' }],
    [3, 'the host does not exist', { code: 'ENOTFOUND' }],
  ])('is sent %i times if %s', async (times, _, more) => {
    const fail = () =>
      Promise.reject(
        new TypeError('fetch failed', { cause: Object.assign(new Error('why'), more) }),
      );
    const { outcome, sent } = calling([fail, fail, fail]);
    await expect(outcome).rejects.toThrow('fetch failed');
    expect(sent()).toBe(times);
  });

  it.each([
    [
      'an AbortError of the connection',
      new DOMException('The operation was aborted.', 'AbortError'),
    ],
    [
      'a TimeoutError of the connection',
      new DOMException('The operation timed out.', 'TimeoutError'),
    ],
    [
      'a failure that an AbortError caused',
      new TypeError('fetch failed', { cause: new DOMException('aborted', 'AbortError') }),
    ],
  ])('is sent again after %s, unless its caller aborted it', async (_, error) => {
    const going = calling([() => Promise.reject(error), fine], {
      signal: new AbortController().signal,
    });
    expect([(await going.outcome).status, going.sent()]).toEqual([200, 2]);
    const caller = new AbortController();
    const abort = () => {
      caller.abort();
      return Promise.reject(error);
    };
    const aborted = calling([abort, fine], { signal: caller.signal });
    await expect(aborted.outcome).rejects.toBe(error);
    expect([aborted.sent(), aborted.waits]).toEqual([1, []]);
  });

  it('is sent once when the request can never be made, also for an error of another realm', async () => {
    const error: unknown = runInNewContext(
      "Object.assign(new TypeError('fetch failed'), { cause: new Error('why') })",
    );
    const { outcome, sent } = calling([() => Promise.reject(error), fine]);
    await expect(outcome).rejects.toBe(error);
    expect(sent()).toBe(1);
  });

  it('ends with the answer or error of its last request', async () => {
    await expect(calling([busy, busy, lost]).outcome).rejects.toThrow('fetch failed');
    const last = await calling([lost, lost, busy]).outcome;
    expect([last.status, await last.text()]).toEqual([503, 'busy']);
  });

  it('is sent once with 0 retries, and otherwise up to the given number of retries', async () => {
    const off = calling([busy], {}, 0);
    expect([(await off.outcome).status, off.sent()]).toEqual([503, 1]);
    const many = calling([busy, busy, busy, busy, fine], {}, 4);
    expect([(await many.outcome).status, many.sent()]).toEqual([200, 5]);
  });

  it.each([200, 204, 402, 404, 429, 500, 502, 504])(
    'is not repeated after an answer with status %i',
    async (status) => {
      const { outcome, sent } = calling([() => Promise.resolve(new Response(null, { status }))]);
      expect([(await outcome).status, sent()]).toEqual([status, 1]);
    },
  );

  it.each([
    ['in seconds', '3', 3_375],
    ['of zero seconds', '0', 0],
    ['with a date', new Date(NOW + 8_000).toUTCString(), 9_000],
    ['with a date in the past', new Date(NOW - 8_000).toUTCString(), 0],
    ['without a meaning', 'soon', 281],
  ])('waits as long as a Retry-After header %s asks for', async (_, header, ms) => {
    const { outcome, waits } = calling([() => busy({ 'retry-after': header }), fine]);
    expect((await outcome).status).toBe(200);
    expect(waits).toEqual([ms]);
  });

  it.each(['11', '999999999', new Date(NOW + 60_000).toUTCString()])(
    'returns a 503 that asks to wait %s, which is longer than ten seconds',
    async (header) => {
      const { outcome, waits } = calling([() => busy({ 'retry-after': header })]);
      expect([(await outcome).status, waits]).toEqual([503, []]);
    },
  );

  it('cancels the body of an answer that it does not return', async () => {
    const cancel = vi.fn();
    const { outcome } = calling([
      () => Promise.resolve(new Response(new ReadableStream({ cancel }), { status: 503 })),
      fine,
    ]);
    await outcome;
    expect(cancel).toHaveBeenCalledOnce();
  });

  it('ends when its caller aborts', async () => {
    const caller = new AbortController();
    const reason = new Error('changed my mind');
    const abort = () => {
      caller.abort(reason);
      return lost();
    };
    const sending = calling([abort], { signal: caller.signal });
    await expect(sending.outcome).rejects.toThrow('fetch failed');
    const late = new AbortController();
    const waiting = calling(
      [
        () => {
          late.abort(reason);
          return busy();
        },
      ],
      { signal: late.signal },
    );
    await expect(waiting.outcome).rejects.toBe(reason);
    expect([sending.sent(), waiting.sent()]).toEqual([1, 1]);
  });
});
