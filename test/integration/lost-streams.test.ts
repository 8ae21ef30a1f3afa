import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import {
  ReadableStream,
  TextDecoderStream,
  WritableStream,
  type ReadableStreamBYOBReader,
  type ReadableStreamDefaultReader,
} from 'node:stream/web';
import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { memoryJournal, type Along, type Attempt, type Journal } from 'exact-change';
import { describe, expect, it } from 'vitest';
import { envelopeV2 } from '../fixtures/malformed-402.js';
import { storedOf } from '../helpers/attempts.js';
import { until } from '../helpers/chain.js';
import { journalOf, type JournalKind } from '../helpers/journals.js';
import { failureOf, payerOn, type Payer } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';
import { answerTerms, isPaid, type Seller, sellerOfTest } from '../helpers/seller.js';
import { offerOf, settle, settlementHeader } from '../helpers/settling.js';
import { signedOf, timesSpent } from '../helpers/spends.js';

const sandbox = await useSandbox({ confirmationMs: 20 });

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void; // V8's own function, which has no type.

const post = { method: 'POST', body: 'x' };

interface Bought {
  readonly response: Response;
  readonly payer: Payer;
  readonly journal: Journal;
  /** Attempts in the order in which they were put on record. */
  readonly written: readonly Attempt[];
  readonly seller: Seller;
  /** Sends the rest of the answer. */
  end(): void;
  /** Breaks the connection. */
  cut(): void;
  /** Number of answers that broke off, on either side. */
  broken(): number;
}

/** Buys an answer, and returns it when its first event has come. */
async function bought(kind: JournalKind = 'memory'): Promise<Bought> {
  const ends: { end(): void; cut(): void }[] = [];
  let broken = 0;
  const seller = await sellerOfTest((request, response) => {
    if (!isPaid(request)) return answerTerms(response, envelopeV2([offerOf(sandbox)]));
    void settle(sandbox, request).then((settled) => {
      response.writeHead(200, {
        'content-type': 'text/event-stream',
        ...settlementHeader({ ...settled }),
      });
      response.on('close', () => (broken += response.writableFinished ? 0 : 1));
      response.write('data: 1\n\n');
      ends.push({ end: () => response.end('data: 2\n\n'), cut: () => request.socket.destroy() });
    });
  });
  const inner = await journalOf(kind);
  const written: Attempt[] = [];
  const journal = {
    ...inner,
    put: (attempt: Attempt, along?: Along) => (written.push(attempt), inner.put(attempt, along)),
  };
  const payer = await payerOn(sandbox, { USDC: '1' }, { journal });
  const response = await payer.client.fetch(seller.url, post);
  const { end, cut } = await until('the first event was sent', () => ends.shift());
  return { response, payer, journal, written, seller, end, cut, broken: () => broken };
}

function bodyOf({ body }: Response): ReadableStream<Uint8Array> {
  if (!(body instanceof ReadableStream)) throw new Error('There is no body.');
  return body;
}

async function readAll(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<string> {
  let text = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text;
    text += Buffer.from(value).toString();
  }
}

async function readOwnBuffers(reader: ReadableStreamBYOBReader): Promise<string> {
  let text = '';
  for (;;) {
    const { done, value } = await reader.read(new Uint8Array(4));
    if (done) return text;
    text += Buffer.from(value).toString();
  }
}

async function iterate(stream: AsyncIterable<Uint8Array | string>): Promise<string> {
  let text = '';
  for await (const chunk of stream) text += Buffer.from(chunk).toString();
  return text;
}

/** Pairs each way with a journal: one with Postgres, the rest with memory and a file in turn. */
function overJournals<T>(
  ways: Readonly<Record<string, T>>,
): [name: string, kind: JournalKind, way: T][] {
  return Object.entries(ways).map(([name, way], index) => [
    name,
    index === 2 ? 'Postgres' : index % 2 === 0 ? 'memory' : 'file',
    way,
  ]);
}

/** Ways to read a body to its end. */
const readings: Readonly<Record<string, (response: Response) => Promise<unknown>>> = {
  'text()': (response) => response.text(),
  'text() of a clone': (response) => response.clone().text(),
  'text() once the body was looked at': (response) =>
    response.body === null ? Promise.resolve() : response.text(),
  'getReader()': (response) => readAll(bodyOf(response).getReader()),
  "getReader({ mode: 'byob' })": (response) =>
    readOwnBuffers(bodyOf(response).getReader({ mode: 'byob' })),
  'for await': (response) => iterate(bodyOf(response)),
  'for await over a clone': (response) => iterate(bodyOf(response.clone())),
  'tee()': (response) => Promise.all(bodyOf(response).tee().map(iterate)),
  'pipeThrough()': (response) => iterate(bodyOf(response).pipeThrough(new TextDecoderStream())),
  'pipeTo()': (response) => bodyOf(response).pipeTo(new WritableStream()),
  'Readable.fromWeb()': (response) => iterate(Readable.fromWeb(bodyOf(response))),
  'new Response(body).text()': (response) => new Response(response.body).text(),
};

/** Ways to stop half way. */
const stops: Readonly<Record<string, (response: Response) => Promise<unknown>>> = {
  'body.cancel()': (response) => bodyOf(response).cancel(),
  'getReader().cancel()': (response) => bodyOf(response).getReader().cancel(),
  'break in for await': async (response) => {
    for await (const _ of bodyOf(response)) break;
  },
  'both branches of tee() are cancelled': (response) =>
    Promise.all(
      bodyOf(response)
        .tee()
        .map((branch) => branch.cancel()),
    ),
  'a response and its clone are cancelled': async (response) => {
    const copy = response.clone();
    await Promise.all([bodyOf(response).cancel(), bodyOf(copy).cancel()]);
  },
  'Readable.fromWeb() is destroyed': async (response) => {
    const readable = Readable.fromWeb(bodyOf(response));
    await readable[Symbol.asyncIterator]().next();
    readable.destroy();
    await finished(readable).catch(() => undefined);
  },
  'pipeTo() is aborted': async (response) => {
    await bodyOf(response)
      .pipeTo(new WritableStream(), { signal: AbortSignal.abort() })
      .catch(() => undefined);
  },
  'the other end of pipeThrough() is cancelled': (response) =>
    bodyOf(response).pipeThrough(new TextDecoderStream()).cancel(),
};

/** Expects the same call to pay nothing, and to fail with already_spent. */
async function isPaidOnce({ payer, seller }: Bought): Promise<void> {
  await failureOf(payer.client.fetch(seller.url, post), 'already_spent');
  expect([
    signedOf(payer, 'payment'),
    seller.paid.length,
    await timesSpent(sandbox, payer, 'USDC'),
  ]).toEqual([1, 1, 1]);
}

async function isDelivered({ payer, journal }: Bought): Promise<readonly boolean[]> {
  const all = await until('it is settled on record', async () => {
    const found = await storedOf(journal, payer);
    return found.every(({ state }) => state === 'settled') ? found : undefined;
  });
  return all.map(({ delivered }) => delivered);
}

describe('a paid answer that breaks off', () => {
  it.each(overJournals(readings))(
    'is not paid again when read by %s, over a journal in %s',
    async (_name, kind, read) => {
      const purchase = await bought(kind);
      const reading = expect(read(purchase.response)).rejects.toThrow();
      purchase.cut();
      await reading;
      await isPaidOnce(purchase);
    },
  );
});

describe('a paid answer with a reader that stops half way', () => {
  it.each(overJournals(stops))(
    'is not paid again: %s, over a journal in %s',
    async (_name, kind, stop) => {
      const purchase = await bought(kind);
      await stop(purchase.response);
      await isPaidOnce(purchase);
    },
  );

  it('is not paid again if it is garbage-collected half read', async () => {
    const { payer, seller, broken, written } = await bought();
    const before = broken();
    // The journal has the settlement, and then the loss of the answer.
    const settled = () =>
      written.filter(({ url, state }) => state === 'settled' && url.endsWith('/forgotten')).length;
    await bodyOf(await payer.client.fetch(`${seller.url}/forgotten`, post))
      .getReader()
      .read();
    await until('it is settled', () => settled() === 1 || undefined);
    await until('its connection is closed, and that is on record', async () => {
      collectGarbage();
      await setImmediate();
      return (broken() > before && settled() === 2) || undefined;
    });
    await failureOf(payer.client.fetch(`${seller.url}/forgotten`, post), 'already_spent');
  });
});

describe('a paid answer that is read to its end', () => {
  it.each(overJournals(readings))(
    'is delivered when read by %s, over a journal in %s',
    async (_name, kind, read) => {
      const purchase = await bought(kind);
      const reading = read(purchase.response);
      purchase.end();
      await reading;
      expect(await isDelivered(purchase)).toEqual([true]);
    },
  );

  it('is delivered if it was read by one clone and cancelled in the other', async () => {
    const purchase = await bought();
    const copy = purchase.response.clone();
    const cancelled = bodyOf(copy).cancel();
    purchase.end();
    expect(await purchase.response.text()).toBe('data: 1\n\ndata: 2\n\n');
    await cancelled;
    expect(await isDelivered(purchase)).toEqual([true]);
  });

  it('is delivered if it is cancelled after its end', async () => {
    const purchase = await bought();
    purchase.end();
    const reader = bodyOf(purchase.response).getReader();
    expect(await readAll(reader)).toBe('data: 1\n\ndata: 2\n\n');
    await reader.cancel();
    expect(await isDelivered(purchase)).toEqual([true]);
  });

  it('is recorded as delivered when it was read, so that the next process knows', async () => {
    const { response, payer, journal, end } = await bought();
    end();
    await response.text();
    expect(await storedOf(journal, payer)).toMatchObject([{ delivered: true }]);
  });

  it.each(['a 204', 'an empty body'])('is delivered with its headers, for %s', async (form) => {
    const seller = await sellerOfTest((request, response) => {
      if (!isPaid(request)) return answerTerms(response, envelopeV2([offerOf(sandbox)]));
      void settle(sandbox, request).then((settled) => {
        response.writeHead(form === 'a 204' ? 204 : 200, {
          'content-length': '0',
          ...settlementHeader({ ...settled }),
        });
        response.end();
      });
    });
    const journal = memoryJournal();
    const payer = await payerOn(sandbox, { USDC: '1' }, { journal });
    await payer.client.fetch(seller.url, post);
    expect(await storedOf(journal, payer)).toMatchObject([{ delivered: true }]);
  });
});

describe('an unread paid answer, in a process that continues', () => {
  it('counts as a purchase of its own: an equal call pays anew, from any client', async () => {
    const { response, payer, seller } = await bought();
    const [again, other] = [payer.client, payer.again()];
    expect((await again.fetch(seller.url, post)).status).toBe(200);
    expect((await other.fetch(seller.url, post)).status).toBe(200);
    expect([response.bodyUsed, signedOf(payer, 'payment')]).toEqual([false, 3]);
  });

  it('is already_spent for a call with the same idempotency key', async () => {
    const { payer, seller } = await bought();
    const keyed = { ...post, idempotencyKey: 'one' };
    const response = await payer.client.fetch(seller.url, keyed);
    await failureOf(payer.client.fetch(seller.url, keyed), 'already_spent');
    expect([response.bodyUsed, signedOf(payer, 'payment')]).toEqual([false, 2]);
  });

  it('is delivered once it is garbage-collected', async () => {
    const { payer, journal, seller } = await bought();
    await payer.client.fetch(`${seller.url}/forgotten`, post);
    await until('it counts as delivered', async () => {
      collectGarbage();
      await setImmediate();
      return (
        (await storedOf(journal, payer)).some(
          ({ url, delivered }) => url.endsWith('/forgotten') && delivered,
        ) || undefined
      );
    });
    expect((await payer.client.fetch(`${seller.url}/forgotten`, post)).status).toBe(200);
  });
});

describe('a paid answer, as a Response', () => {
  it('has a body of one stream, which is used once', async () => {
    const { response, end } = await bought();
    end();
    expect([
      response instanceof Response,
      response.body instanceof ReadableStream,
      response.status,
    ]).toEqual([true, true, 200]);
    expect(response.body).toBe(response.body);
    expect([response.bodyUsed, bodyOf(response).locked]).toEqual([false, false]);
    const reader = bodyOf(response).getReader();
    await expect(response.text()).rejects.toThrow(TypeError);
    expect(() => response.clone()).toThrow(TypeError);
    await reader.read();
    expect([response.bodyUsed, bodyOf(response).locked]).toEqual([true, true]);
    reader.releaseLock();
    await expect(response.text()).rejects.toThrow(TypeError);
    expect(Object.keys(response)).toEqual([]);
  });

  it('has a used stream once a method has read its body', async () => {
    const { response, end } = await bought();
    end();
    const early = bodyOf(response);
    await response.text();
    await expect(early.getReader().read()).rejects.toThrow(TypeError);
    expect(response.bodyUsed).toBe(true);
  });
});
