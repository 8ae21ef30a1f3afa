import { openAsBlob } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { BODY_LIMIT_BYTES } from '../../../src/internal/kept-body.js';
import { captureCall } from '../../../src/internal/request.js';

const URL = 'https://shop.test/';
const HEADER = { name: 'PAYMENT-SIGNATURE', value: 'x' };
const LARGE = 64 * 1024;

/** Steps that a client may take with a call, in any order. */
const step = fc.constantFrom('unpaid', 'turn', 'read', 'paid', 'forget');
const call = fc.record({
  size: fc.constantFrom(3, LARGE, LARGE + 1, BODY_LIMIT_BYTES, BODY_LIMIT_BYTES + 1),
  asView: fc.boolean(),
  steps: fc.array(step, { maxLength: 6 }),
});

it('gives fetch the bytes of its own call, whatever its caller and other calls write later', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(call, { minLength: 2, maxLength: 6 }), async (calls) => {
      const kept: { readonly mark: number; readonly own: boolean; readonly body: Uint8Array }[] =
        [];
      for (const [at, { size, asView, steps }] of calls.entries()) {
        const [mark, bytes] = [at + 1, new Uint8Array(size).fill(at + 1)];
        let isOwn = true;
        // A fetch of the caller that keeps the bodies, so that the test can read them later.
        const fetch: typeof globalThis.fetch = (_, init) => {
          const body = init?.body;
          if (!(body instanceof Uint8Array || body instanceof ArrayBuffer)) throw new Error('none');
          kept.push({
            mark,
            own: isOwn,
            body: new Uint8Array(body instanceof Uint8Array ? body.buffer : body),
          });
          return Promise.resolve(new Response(null));
        };
        const init = { method: 'POST', body: asView ? bytes : bytes.buffer };
        const captured = captureCall(fetch, URL, init, ['payment-signature'])!;
        for (const name of steps) {
          if (name === 'unpaid') await captured.sendUnpaid().catch(() => undefined);
          if (name === 'read') {
            const read = await captured.replayable().catch(() => undefined);
            if (read !== undefined) kept.push({ mark, own: false, body: read });
          }
          if (name !== 'forget') isOwn = false;
          if (name === 'turn') await Promise.resolve();
          const { signal } = new AbortController();
          if (name === 'paid') await captured.sendPaid(URL, HEADER, signal).catch(() => undefined);
          if (name === 'forget') captured.forget();
        }
        captured.forget();
        captured.forget();
        // A body that is too large to keep still belongs to the caller.
        if (size <= BODY_LIMIT_BYTES) bytes.fill(0);
      }
      const wanted = kept.map(({ mark, own, body }) =>
        own && body.length <= BODY_LIMIT_BYTES ? 0 : mark,
      );
      // In C++, because a callback for each byte of a megabyte would take most of the time.
      const isEven = ({ body }: (typeof kept)[number]) =>
        Buffer.compare(body.subarray(1), body.subarray(0, -1)) === 0;
      expect(kept.map(isEven)).toEqual(kept.map(() => true));
      expect(kept.map(({ body }) => body[0])).toEqual(wanted);
    }),
    { numRuns: 50 },
  );
});

it('reads the bytes of a call without another copy', async () => {
  const sent: unknown[] = [];
  const fetch: typeof globalThis.fetch = (_, init) => {
    sent.push(init?.body);
    return Promise.resolve(new Response(null));
  };
  const captured = captureCall(fetch, URL, { method: 'POST', body: Uint8Array.of(1, 2) }, [])!;
  const bytes = await captured.replayable();
  await captured.sendPaid(URL, HEADER, new AbortController().signal);
  const [paid] = sent;
  expect(paid instanceof Uint8Array && paid.buffer === bytes?.buffer).toBe(true);
});

// In Node 20 and 22, an iterable that ends after its stream was cancelled ends the process.
it('does not cancel an iterable that its caller still fills', async () => {
  const uncaught = vi.fn();
  process.on('uncaughtException', uncaught);
  onTestFinished(() => void process.off('uncaughtException', uncaught));
  const nextTurn = () => new Promise((resolve) => setImmediate(resolve));
  let end = (): void => undefined;
  const ended = new Promise<void>((resolve) => (end = resolve));
  async function* body(): AsyncGenerator<Uint8Array> {
    yield Uint8Array.of(1);
    await ended;
  }
  // The seller answers before the body has ended, so fetch gives the body up.
  const fetch: typeof globalThis.fetch = async (_, init) => {
    await nextTurn();
    if (init?.body instanceof ReadableStream) void init.body.cancel();
    return new Response(null);
  };
  const init: object = { method: 'POST', body: body(), duplex: 'half' };
  const captured = captureCall(fetch, URL, init, [])!;
  await captured.sendUnpaid();
  captured.forget();
  end();
  await nextTurn();
  expect(uncaught).not.toHaveBeenCalled();
});

describe('a Blob of a file', () => {
  /** Captures a call with a file, and returns also what it sends. `change` changes the file. */
  async function capturedFile(size = 4) {
    const folder = await mkdtemp(join(tmpdir(), 'kept-body-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const path = join(folder, 'body');
    await writeFile(path, 'a'.repeat(size));
    const body = await openAsBlob(path, { type: 'text/plain' });
    const reads = [vi.spyOn(body, 'arrayBuffer'), vi.spyOn(body, 'stream')];
    const sent: (readonly [text: string, type: string | null])[] = [];
    const fetch: typeof globalThis.fetch = async (input, init) => {
      const request = new Request(input, init);
      sent.push([await request.text(), request.headers.get('content-type')]);
      return new Response(null);
    };
    const captured = captureCall(fetch, URL, { method: 'POST', body }, [])!;
    return { captured, sent, reads, change: () => writeFile(path, 'changed') };
  }

  it('cannot be sent again if the file changed before it was read', async () => {
    const { captured, sent, change } = await capturedFile();
    await captured.sendUnpaid();
    await change();
    const refusal = { code: 'body_not_replayable' };
    await expect(captured.replayable()).rejects.toMatchObject(refusal);
    const { signal } = new AbortController();
    await expect(captured.sendPaid(URL, HEADER, signal)).rejects.toMatchObject(refusal);
    expect(sent).toHaveLength(1);
  });

  it('goes out again as it was read, although the file has changed since', async () => {
    const { captured, sent, change } = await capturedFile();
    await captured.sendUnpaid();
    const bytes = await captured.replayable();
    await change();
    await captured.sendPaid(URL, HEADER, new AbortController().signal);
    expect(await captured.replayable()).toEqual(bytes);
    expect(sent).toEqual([
      ['aaaa', 'text/plain'],
      ['aaaa', 'text/plain'],
    ]);
  });

  it('is not read if it is too large to keep', async () => {
    const { captured, reads } = await capturedFile(BODY_LIMIT_BYTES + 1);
    await expect(captured.replayable()).rejects.toMatchObject({ code: 'body_not_replayable' });
    for (const read of reads) expect(read).not.toHaveBeenCalled();
  });
});
