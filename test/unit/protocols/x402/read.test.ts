import { createServer } from 'node:http';
import type { Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { peekBody, reasonInBody } from '../../../../src/protocols/x402/peek.js';
import { readPaymentRequired } from '../../../../src/protocols/x402/read.js';
import { base64, entryV1, envelopeV1, envelopeV2 } from '../../../fixtures/malformed-402.js';

const v1 = JSON.stringify(envelopeV1());
const v2 = base64(envelopeV2());
const json = { 'content-type': 'application/json' };
const options = { timeoutMs: 60_000 };
const encode = (text: string) => new TextEncoder().encode(text);

/** Stops the clock. The returned function waits for reads, and then fires all timers. */
function stopClock() {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  return async () => {
    await new Promise((resolve) => setImmediate(resolve));
    vi.runAllTimers();
  };
}

/**
 * A body that gives these chunks, and then ends, breaks or stays open. `pulled` counts the chunks
 * that were read.
 */
function body(
  chunks: readonly (string | Uint8Array)[],
  end: 'close' | 'break' | 'hang' | 'repeat' = 'close',
) {
  const left = [...chunks];
  const state = { pulled: 0, dry: undefined as (() => void) | undefined };
  const isDry = new Promise<void>((resolve) => (state.dry = resolve));
  const stream = new ReadableStream<Uint8Array>({
    pull(controller) {
      const next = end === 'repeat' ? chunks[0] : left.shift();
      if (next !== undefined) {
        state.pulled += 1;
        controller.enqueue(typeof next === 'string' ? encode(next) : next);
        return undefined;
      }
      state.dry?.();
      if (end === 'close') controller.close();
      if (end === 'break') controller.error(new TypeError('terminated'));
      return end === 'hang' ? new Promise<void>(() => undefined) : undefined;
    },
  });
  return { stream, state, isDry };
}

const respond = (
  stream: ReadableStream<Uint8Array>,
  headers: Record<string, string> = json,
  status = 402,
) => new Response(stream, { status, headers });
const caught = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );

it('reads terms of a header and of a body if the decoder of the runtime refuses to be fatal', async () => {
  const inHeader = new Response(null, { status: 402, headers: { 'payment-required': v2 } });
  const inBody = new Response(v1, { status: 402, headers: json });
  const Decoder = TextDecoder;
  vi.stubGlobal(
    'TextDecoder',
    class extends Decoder {
      constructor(label?: string, options?: TextDecoderOptions) {
        if (options?.fatal === true) throw new Error("the 'fatal' option is unsupported.");
        super(label, options);
      }
    },
  );
  onTestFinished(() => void vi.unstubAllGlobals());
  expect((await readPaymentRequired(inHeader, options))?.x402Version).toBe(2);
  expect((await readPaymentRequired(inBody, options))?.x402Version).toBe(1);
});

describe('readPaymentRequired', () => {
  it('reads nothing of an answer with another status than 402', async () => {
    for (const status of [200, 401, 403, 500]) {
      const { stream, state } = body([v1]);
      expect(
        await readPaymentRequired(
          respond(stream, { ...json, 'payment-required': v2 }, status),
          options,
        ),
      ).toBeUndefined();
      expect(state.pulled).toBeLessThanOrEqual(1);
    }
  });

  it('returns the header, without waiting for a body that cannot hold a fallback', async () => {
    stopClock();
    for (const headers of [
      {},
      { 'content-type': 'text/html' },
      { ...json, 'content-length': '2' },
      { ...json, 'content-length': '9999999' },
    ]) {
      const response = respond(body([], 'hang').stream, { ...headers, 'payment-required': v2 });
      const found = await readPaymentRequired(response, options);
      expect(found?.x402Version).toBe(2);
      expect(found?.fallback).toBeUndefined();
    }
  });

  it.each(['', ' {  } ', `${' '.repeat(65_000)}x`, `{${' '.repeat(65_000)}x`])(
    'returns the header beside a body without a fallback: %#',
    async (text) => {
      const headers = { ...json, 'payment-required': v2 };
      const found = await readPaymentRequired(
        new Response(text, { status: 402, headers }),
        options,
      );
      expect(found?.x402Version).toBe(2);
      expect(found?.fallback).toBeUndefined();
    },
  );

  it('returns the v1 body as a fallback beside a v2 header', async () => {
    const found = await readPaymentRequired(
      new Response(v1, { status: 402, headers: { ...json, 'payment-required': v2 } }),
      options,
    );
    expect(found?.x402Version).toBe(2);
    expect(found?.fallback?.x402Version).toBe(1);
    expect(found?.fallback?.accepts).toEqual([entryV1()]);
  });

  it('returns a valid header when the body beside it takes too long', async () => {
    const passTime = stopClock();
    const { stream, isDry } = body(['{"x402Version":1,'], 'hang');
    const reading = readPaymentRequired(
      respond(stream, { ...json, 'payment-required': v2 }),
      options,
    );
    await isDry;
    await passTime();
    expect((await reading)?.x402Version).toBe(2);
  });

  it('reads a body in pieces, also within a character', async () => {
    const bytes = encode(JSON.stringify(envelopeV1([entryV1({ description: '支払い' })])));
    const { stream } = body(Array.from(bytes, (_, index) => bytes.subarray(index, index + 1)));
    const found = await readPaymentRequired(respond(stream), options);
    expect(found?.accepts[0]?.['description']).toBe('支払い');
  });

  it('recognizes HTML by its first chunks', async () => {
    const { stream, state } = body([
      '<html>',
      ...Array.from({ length: 50 }, () => 'x'.repeat(10_000)),
    ]);
    expect(
      await readPaymentRequired(respond(stream, { 'content-type': 'text/html' }), options),
    ).toBeUndefined();
    expect(state.pulled).toBeLessThan(5);
  });

  it.each([
    ['an endless body', ['{"a":"', 'x'.repeat(1_000)]],
    ['endless space', [' '.repeat(1_000)]],
  ])('stops at 64 KiB of %s', async (_, chunks) => {
    const { stream, state } = body(chunks, 'repeat');
    const response = respond(stream);
    expect(await readPaymentRequired(response, options)).toBeUndefined();
    expect(state.pulled * (chunks[0]?.length ?? 0)).toBeLessThan(80_000);
    expect(response.bodyUsed).toBe(false);
    await response.body?.cancel();
  });

  it.each([
    ['', true],
    [' {} ', true],
    ['{"error":"quota"}', false],
    ['Pay at the desk', false],
  ])('reports terms that a page may not read beside the body %j: %s', async (text, isHidden) => {
    const crossOrigin = new Response(text, { status: 402, headers: json });
    Object.defineProperty(crossOrigin, 'type', { value: 'cors' });
    vi.stubGlobal('location', new URL('https://page.example'));
    onTestFinished(() => void vi.unstubAllGlobals());
    const reading = readPaymentRequired(crossOrigin, options);
    if (!isHidden) expect(await reading).toBeUndefined();
    else
      await expect(reading).rejects.toMatchObject({
        code: 'malformed_payment_required',
        response: crossOrigin,
      });
    const sameOrigin = new Response(text, { status: 402, headers: json });
    expect(await readPaymentRequired(sameOrigin, options)).toBeUndefined();
  });

  it('rejects terms without an end as malformed', async () => {
    const { stream } = body(['{"x402Version":1,"accepts":[', '{},'.repeat(40_000)]);
    const response = respond(stream);
    expect(await caught(readPaymentRequired(response, options))).toMatchObject({
      code: 'malformed_payment_required',
      details: { reason: 'its body is too large' },
      response,
    });
  });

  it('leaves the response untouched when its body does not come in time', async () => {
    const passTime = stopClock();
    const { stream, isDry } = body(['{"error":'], 'hang');
    const response = respond(stream);
    const reading = readPaymentRequired(response, options);
    await isDry;
    await passTime();
    expect(await reading).toBeUndefined();
    expect(response.bodyUsed).toBe(false);
    const first = await response.body?.getReader().read();
    expect(new TextDecoder().decode(first?.value)).toBe('{"error":');
  });

  it('rejects with a timeout when terms began and do not end in time', async () => {
    const passTime = stopClock();
    const { stream, isDry } = body(['{"x402Version":1,'], 'hang');
    const response = respond(stream);
    const reading = caught(readPaymentRequired(response, { timeoutMs: 1_234 }));
    await isDry;
    await passTime();
    expect(await reading).toMatchObject({
      code: 'timeout',
      funds: 'untouched',
      retry: 'fresh',
      details: { timeoutMs: 1_234 },
      response,
    });
  });

  it('keeps the deadline on the real clock', async () => {
    expect(
      await readPaymentRequired(respond(body([], 'hang').stream), { timeoutMs: 20 }),
    ).toBeUndefined();
  });

  it('leaves a broken body to the caller, and rejects broken terms', async () => {
    const plain = respond(body(['{"error":'], 'break').stream);
    expect(await readPaymentRequired(plain, options)).toBeUndefined();
    expect(plain.bodyUsed).toBe(false);
    const terms = respond(body(['{"x402Version":1,"accepts":['], 'break').stream);
    expect(await caught(readPaymentRequired(terms, options))).toMatchObject({
      code: 'malformed_payment_required',
      response: terms,
    });
  });

  it('rejects with the reason of the signal, before and during the read', async () => {
    const reason = new Error('enough');
    const early = new AbortController();
    early.abort(reason);
    expect(
      await caught(
        readPaymentRequired(respond(body([v1]).stream), { ...options, signal: early.signal }),
      ),
    ).toBe(reason);
    const late = new AbortController();
    const { stream, isDry } = body(['{"x402Version":1,'], 'hang');
    const reading = caught(
      readPaymentRequired(respond(stream), { ...options, signal: late.signal }),
    );
    await isDry;
    late.abort(reason);
    expect(await reading).toBe(reason);
  });

  it('returns the header alone when the body was read before', async () => {
    const used = new Response(v1, { status: 402, headers: { ...json, 'payment-required': v2 } });
    await used.text();
    expect((await readPaymentRequired(used, options))?.x402Version).toBe(2);
    const locked = new Response(v1, { status: 402, headers: json });
    locked.body?.getReader();
    expect(await readPaymentRequired(locked, options)).toBeUndefined();
  });
});

describe('readPaymentRequired over a socket', () => {
  let server: Server | undefined;
  afterEach(() => {
    server?.closeAllConnections();
    server?.close();
  });
  async function serve(answer: (response: ServerResponse) => void): Promise<string> {
    server = createServer((_, response) => answer(response));
    await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/premium?a=1`;
  }

  it('returns the URL that answered', async () => {
    const url = await serve((response) =>
      response.writeHead(402, { 'payment-required': v2, ...json }).end('{}'),
    );
    expect((await readPaymentRequired(await fetch(url), options))?.url).toBe(url);
  });

  it('stops a gzip bomb early', async () => {
    const bomb = gzipSync(Buffer.alloc(100_000_000, ' '));
    const url = await serve((response) =>
      response.writeHead(402, { ...json, 'content-encoding': 'gzip' }).end(bomb),
    );
    const before = process.memoryUsage().arrayBuffers;
    const response = await fetch(url);
    expect(await readPaymentRequired(response, options)).toBeUndefined();
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(64_000_000);
    await response.body?.cancel();
  });
});

describe('peekBody', () => {
  it('finds the reason in a v1 body, and leaves the body readable', async () => {
    const response = new Response(
      JSON.stringify(envelopeV1(undefined, { error: 'insufficient_funds' })),
      { status: 402, headers: json },
    );
    expect(await reasonInBody(response, options)).toEqual({
      reason: 'insufficient_funds',
      isKnown: true,
    });
    expect(await response.json()).toMatchObject({ x402Version: 1 });
  });

  it('finds no reason if the seller gives none', async () => {
    for (const text of [
      '{}',
      '',
      '<html>',
      '{"error":',
      '{"error":{"a":1}}',
      '{"error":"\u0007"}',
    ]) {
      const response = new Response(text, { status: 402, headers: json });
      expect((await reasonInBody(response, options)).reason).toBeUndefined();
    }
  });

  it('dismisses a body that cannot be a JSON object, and an event stream without reading it', async () => {
    expect((await peekBody(new Response('<html>'), options)).end).toBe('dismissed');
    expect((await peekBody(new Response(null), options)).end).toBe('dismissed');
    const stream = respond(body([], 'hang').stream, { 'content-type': 'text/event-stream' });
    expect((await peekBody(stream, options)).end).toBe('dismissed');
  });
});
