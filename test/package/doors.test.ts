import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Client, createClient, isExactChangeError, receiptOf } from 'exact-change';
import { wrapAxios } from 'exact-change/axios';
import { undiciRequest } from 'exact-change/undici';
import { createSandbox, type Sandbox } from 'exact-change-sandbox';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { envelopeV2 } from '../fixtures/malformed-402.js';
import { MAINNET_SLOT_MS } from '../helpers/sandbox.js';
import { answerTerms, isPaid, startSeller, type Seller } from '../helpers/seller.js';
import { answer, offerOf, paymentHeader, settle, settlementHeader } from '../helpers/settling.js';

interface Answered {
  readonly status: number;
  readonly data: unknown;
  readonly receipt?: { readonly payment: { readonly amount: string } };
}
interface Door {
  get(url: string): Promise<Answered>;
  post(url: string, data: object): Promise<Answered>;
  upload(url: string, bytes: Uint8Array): Promise<Answered>;
  /** Calls that an interceptor of the application saw. */
  readonly seen?: readonly unknown[];
  twins?(url: string, options: object): Promise<unknown[]>;
}
const { doors, models } = (await import(
  pathToFileURL(join(inject('packed').doors, 'doors.mjs')).href
)) as {
  readonly doors: Readonly<Record<string, (client: Client, library: object) => Promise<Door>>>;
  readonly models: Readonly<Record<string, (client: Client, baseUrl: string) => Promise<string>>>;
};

let sandbox: Sandbox;
let seller: Seller;
const settledOnce = new Set<string>();

beforeAll(async () => {
  sandbox = await createSandbox({ slotMs: MAINNET_SLOT_MS, confirmationMs: 20 });
  seller = await startSeller((request, response) => void sell(request, response));
});
afterAll(async () => {
  await seller.close();
  await sandbox.close();
});

const clients: Client[] = [];
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
});

/** Settles each payment once; the path selects the answer. */
async function sell(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(Buffer.from(part as Uint8Array));
  const body = Buffer.concat(parts);
  const path = request.url ?? '';
  if (!isPaid(request)) {
    const amount = path === '/dear' ? '5000000' : '10000';
    return answerTerms(response, envelopeV2([offerOf(sandbox, { amount })]));
  }
  const isFirst = !settledOnce.has(paymentHeader(request));
  settledOnce.add(paymentHeader(request));
  if (isFirst) await settle(sandbox, request);
  if (path === '/flaky' && isFirst) return answer(response, 503, { error: 'once' });
  const headers = settlementHeader({ success: true, transaction: '' });
  answer(response, 200, answerTo(path, request, body), headers);
}

function answerTo(path: string, { method, headers }: IncomingMessage, body: Buffer): unknown {
  if (path.endsWith('/chat/completions'))
    return {
      ...{ id: 'c', object: 'chat.completion', created: 1, model: 'm' },
      choices: [
        { index: 0, message: { role: 'assistant', content: 'noon' }, finish_reason: 'stop' },
      ],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    };
  if (path.endsWith('/messages'))
    return {
      ...{ id: 'm', type: 'message', role: 'assistant', model: 'm', stop_reason: 'end_turn' },
      content: [{ type: 'text', text: 'noon' }],
      usage: { input_tokens: 1, output_tokens: 1 },
    };
  const isJson = headers['content-type']?.includes('json') === true;
  return { method, body: isJson ? (JSON.parse(body.toString()) as unknown) : body.length };
}

/** Makes a client for a wallet with 1 USDC; `spent` returns the USDC that left it. */
async function buyer() {
  const { secretKey, address } = await sandbox.createWallet({ USDC: '1' });
  const { rpcUrl, wsUrl, jupiterUrl } = sandbox;
  const client = createClient({ walletSecretKey: secretKey, rpcUrl, wsUrl, jupiterUrl });
  clients.push(client);
  return { client, spent: async () => 1_000_000n - (await sandbox.balance(address, 'USDC')) };
}

const opened = async (name: string) => {
  const { client, spent } = await buyer();
  const door = await doors[name]?.(client, { wrapAxios, undiciRequest, receiptOf });
  if (door === undefined) throw new Error(`no door ${name}`);
  return { door, spent };
};

/** Returns the library's error within the causes of an error that a package throws. */
function libraryError(error: unknown): unknown {
  for (
    let next = error;
    typeof next === 'object' && next !== null;
    next = Reflect.get(next, 'cause')
  )
    if (isExactChangeError(next)) return next;
  return error;
}

const caught = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    (value) => ({ value }),
    (error: unknown) => libraryError(error),
  );

/** Returns the code of the library's error, or the status of the answer or of a package's error. */
function endOf(outcome: unknown): unknown {
  if (isExactChangeError(outcome)) return outcome.code;
  const { value, response } = outcome as { value?: Answered; response?: { status: number } };
  return value?.status ?? response?.status;
}

describe.each(Object.keys(doors))('%s', (name) => {
  it('pays for a GET and a POST, and sends the body again with the payment', async () => {
    const { door, spent } = await opened(name);
    const got = await door.get(`${seller.url}/ok`);
    expect(got).toMatchObject({ status: 200, data: { method: 'GET' } });
    const posted = await door.post(`${seller.url}/ok`, { question: 'what is the time?' });
    expect(posted).toMatchObject({
      status: 200,
      data: { method: 'POST', body: { question: 'what is the time?' } },
    });
    expect(await spent()).toBe(20_000n);
    if (name === 'axios' || name.startsWith('undici'))
      expect([got, posted].map(({ receipt }) => receipt?.payment.amount)).toEqual([
        '10000',
        '10000',
      ]);
    if (name === 'axios') expect(door.seen).toEqual(['get', 200, 'post', 200]);
  });

  it('pays once when the package or its user retries', async () => {
    const { door, spent } = await opened(name);
    const call = () => caught(door.get(`${seller.url}/flaky`));
    const first = await call();
    const second = await call();
    // A retry presents the same payment, or reports it once the chain shows it.
    expect([200, 503, 'already_spent']).toContain(endOf(first));
    expect([200, 'already_spent']).toContain(endOf(second));
    expect(await spent()).toBe(10_000n);
  });

  it('throws the library error for a refused offer, and pays nothing', async () => {
    const { door, spent } = await opened(name);
    expect(await caught(door.post(`${seller.url}/dear`, {}))).toMatchObject({
      code: 'amount_over_limit',
      funds: 'untouched',
    });
    expect(await spent()).toBe(0n);
  });

  it('pays for a stream that fits the buffer, and refuses a longer stream unpaid', async () => {
    const { door, spent } = await opened(name);
    const answered = await door.upload(`${seller.url}/ok`, new Uint8Array(100_000));
    expect(answered).toMatchObject({ status: 200, data: { method: 'POST', body: 100_000 } });
    const { length } = seller.paid;
    expect(await caught(door.upload(`${seller.url}/ok`, new Uint8Array(2_000_000)))).toMatchObject({
      code: 'body_not_replayable',
      funds: 'untouched',
    });
    expect(seller.paid).toHaveLength(length);
    expect(await spent()).toBe(10_000n);
  });
});

describe.each(Object.keys(doors).filter((name) => name.startsWith('undici')))(
  'a free call with undiciRequest in place of %s request',
  (name) => {
    it.each([
      ['GET', undefined],
      ['GET', { query: { a: ['1', '2'], b: 'c' } }],
      ['POST', { method: 'POST', headers: { 'content-type': 'text/plain' }, body: 'text' }],
      ['PUT', { body: Buffer.from('bytes') }],
      ['POST', { method: 'POST', headers: ['x-a', 'b'], body: Buffer.from('bytes'), opaque: 7 }],
    ])('returns the same result for %s %o', async (_, options) => {
      const { door } = await opened(name);
      const [fromUndici, fromLibrary] =
        (await door.twins?.(`${sandbox.apiUrl}/free`, { ...options })) ?? [];
      expect(fromLibrary).toEqual(fromUndici);
    });
  },
);

describe.each(Object.keys(models))('a model call through %s', (name) => {
  it('answers for one payment', async () => {
    const { client, spent } = await buyer();
    expect(await models[name]?.(client, `${seller.url}/v1`)).toBe('noon');
    expect(await spent()).toBe(10_000n);
  });

  it('throws the library error for a refused offer after a single request', async () => {
    const { client, spent } = await buyer();
    const broke = {
      ...client,
      fetch: () => client.fetch(`${seller.url}/dear`, { method: 'POST' }),
    };
    const { length } = seller.seen;
    const asked = models[name]?.(broke, `${seller.url}/v1`) ?? Promise.resolve();
    expect(await caught(asked)).toMatchObject({ code: 'amount_over_limit', funds: 'untouched' });
    expect(seller.seen).toHaveLength(length + 1);
    expect(await spent()).toBe(0n);
  });
});
