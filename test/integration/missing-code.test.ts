import type { ServerResponse } from 'node:http';
import {
  SOLANA_MAINNET,
  type Client,
  type ClientOptions,
  type PaymentRequired,
} from 'exact-change';
import { afterEach, expect, it, onTestFinished, vi, type Mock } from 'vitest';
import { envelopeV2 } from '../fixtures/malformed-402.js';
import { useSandbox } from '../helpers/sandbox.js';
import { quote } from '../unit/wire/samples.js';
import { answerTerms, isPaid, startSeller, type SellerHandler } from '../helpers/seller.js';
import { answer, offerOf, settle } from '../helpers/settling.js';

// A page may go offline between a payment and its answer, so a file may never load.
const sandbox = await useSandbox({ confirmationMs: 20 });
const RECOVERY = '../../src/payments/recovery.js';
const RARE = '../../src/protocols/x402/rare.js';
const SELDOM = '../../src/solana/rpc/rare-calls.js';
const REASONS = '../../src/payments/reasons.js';
const SWAPS = '../../src/payments/swap-engine.js';
const RESIGN = '../../src/payments/execute/resign.js';
const HEADER = '../../src/payments/pay-header.js';
const LOCAL = '../../adapters/local/operations.js';
const INSPECT = '../../src/inspect-engine.js';
const FILES = [RECOVERY, RARE, SELDOM, REASONS, SWAPS, RESIGN, HEADER, LOCAL, INSPECT];
type Load = () => Promise<object>;
const never: Load = () => new Promise(() => undefined);
const offline: Load = () => Promise.reject(new TypeError('offline'));

afterEach(() => {
  for (const file of FILES) vi.doUnmock(file);
  vi.resetModules();
});

/** Terms without a reason, so that the body may give the reason. */
const terms = () => envelopeV2([offerOf(sandbox)], { error: undefined });

/** The same terms as the caller of `client.pay` gives them. */
const offered = () => ({ x402Version: 2, accepts: [offerOf(sandbox)] }) as PaymentRequired;

const otherDecimals = () => ({ extra: { feePayer: sandbox.feePayer, decimals: 9 } });

/** Answers with the terms in a header, so no body is read of an unpaid 402. */
function answerHeader(response: ServerResponse, said: object): void {
  response.writeHead(402, {
    'content-type': 'application/json',
    'content-length': '2',
    'payment-required': Buffer.from(JSON.stringify(said)).toString('base64'),
  });
  response.end('{}');
}

/** Lets the time for a payment pass as soon as a file is asked for that never loads. */
async function timePassesWithout(load: Mock<Load>): Promise<void> {
  await expect.poll(() => load).toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(120_000);
}

function fakeTimers(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'], shouldAdvanceTime: true });
  onTestFinished(() => void vi.useRealTimers());
}

/** Returns a client with a file that does not load. */
async function without(
  file: string,
  load: Load,
  answer: SellerHandler,
  options: ClientOptions = {},
) {
  vi.resetModules();
  vi.doMock(file, load);
  const { createClient, memoryJournal } = await import('../../src/index.js');
  const seller = await startSeller(answer);
  const { address, secretKey } = await sandbox.createWallet({ USDC: '1' });
  const journal = memoryJournal();
  const client = createClient({
    ...{ walletSecretKey: secretKey, journal },
    ...{ rpcUrl: sandbox.rpcUrl, jupiterUrl: sandbox.jupiterUrl },
    ...options,
  });
  onTestFinished(async () => {
    await client.close();
    await seller.close();
  });
  /** Returns the state and the doubt of each recorded attempt. */
  const kept = async () => {
    const found = [];
    const owner = { wallet: address, network: SOLANA_MAINNET };
    for await (const { state, doubt } of journal.attempts(owner)) found.push([state, doubt]);
    return found;
  };
  return { client, seller, kept };
}

it.each<[string, Load, string]>([
  ['cannot be loaded', offline, 'missing_dependency'],
  ['never loads', never, 'payment_uncertain'],
])(
  'reports the payment as uncertain when the file that handles a paid 402 %s',
  async (_, way, code) => {
    const load = vi.fn(way);
    const { client, seller, kept } = await without(RECOVERY, load, (request, response) =>
      answerTerms(response, terms()),
    );
    fakeTimers();
    const ended = expect(client.fetch(seller.url)).rejects.toMatchObject({
      ...{ code, funds: 'uncertain', retry: 'same' },
    });
    if (way === never) await timePassesWithout(load);
    await ended;
    expect(seller.seen.filter(isPaid)).toHaveLength(1);
    expect(await kept()).toEqual([['signed', 'payment_rejected']]);
  },
);

it.each<[string, Load]>([
  ['cannot be loaded', offline],
  ['never loads', never],
])('takes a paid 402 for no refusal when the file that reads its body %s', async (_, way) => {
  const load = vi.fn(way);
  const { client, seller, kept } = await without(
    RARE,
    load,
    (_request, response) => answerHeader(response, terms()),
    { policy: { resign: 1 } },
  );
  fakeTimers();
  const ended = expect(client.fetch(seller.url)).rejects.toMatchObject({ funds: 'uncertain' });
  if (way === never) await timePassesWithout(load);
  await ended;
  expect(seller.paid).toHaveLength(1);
  expect(await kept()).toEqual([['signed', 'payment_rejected']]);
});

it('ends the call with its caller while the reader of a paid 402 never loads', async () => {
  const { client, seller } = await without(RARE, never, (_, response) =>
    answerHeader(response, terms()),
  );
  const caller = new AbortController();
  const call = client.fetch(seller.url, { signal: caller.signal });
  const ended = expect(call).rejects.toBe('given up');
  await expect.poll(() => seller.paid).toHaveLength(1);
  caller.abort('given up');
  await ended;
});

it('needs no additional file to read a header that says that the payment is pending', async () => {
  const settled: string[] = [];
  const { client, seller } = await without(
    RARE,
    offline,
    (request, response) => {
      if (!isPaid(request)) return answerHeader(response, terms());
      answerHeader(response, { ...terms(), error: 'settlement_pending' });
      void settle(sandbox, request).then(({ transaction }) => settled.push(transaction));
    },
    { policy: { resign: 1 } },
  );
  await client.fetch(seller.url).catch(() => undefined);
  await expect.poll(() => settled).toHaveLength(seller.paid.length);
  const payments = new Set(seller.paid.map(({ headers }) => headers['payment-signature']));
  expect(payments.size).toBe(1);
});

it.each<[string, string, SellerHandler, ClientOptions]>([
  [
    'the file that reads the body of an unpaid 402',
    RARE,
    (_, response) => {
      response.writeHead(402, { 'content-type': 'application/json' });
      response.end(JSON.stringify(terms()));
    },
    {},
  ],
  [
    'the file with the text for a failed node',
    SELDOM,
    (_, response) => answerHeader(response, terms()),
    { rpcUrl: 'http://127.0.0.1:9' },
  ],
  [
    'the file with the text for a denied host',
    REASONS,
    (_, response) => answerHeader(response, terms()),
    { policy: { deny: { hosts: ['127.0.0.1'] } } },
  ],
  [
    'the file with the text for a changed mint',
    REASONS,
    (_, response) => answerHeader(response, envelopeV2([offerOf(sandbox, otherDecimals())])),
    {},
  ],
  [
    'the file that plans for an approval',
    SWAPS,
    (_, response) => answerHeader(response, terms()),
    { policy: { approve: () => true } },
  ],
  [
    'the file that signs again after a refusal',
    RESIGN,
    (_, response) => answerHeader(response, terms()),
    { policy: { resign: 1 } },
  ],
])('ends the call with its caller while %s never loads', async (_, file, answer, options) => {
  const load = vi.fn(never);
  const { client, seller } = await without(file, load, answer, options);
  const caller = new AbortController();
  const call = client.fetch(seller.url, { signal: caller.signal });
  const ended = expect(call).rejects.toBe('given up');
  await expect.poll(() => load).toHaveBeenCalled();
  caller.abort('given up');
  await ended;
  expect(seller.paid).toEqual([]);
});

it('signs nothing for an aborted call, and frees its key, when its file arrives later', async () => {
  let arrive = (_: object): void => undefined;
  const load = vi.fn<Load>(() => new Promise((resolve) => (arrive = resolve)));
  const { client, seller } = await without(
    RESIGN,
    load,
    (request, response) =>
      isPaid(request) ? answer(response, 200, {}) : answerHeader(response, terms()),
    { policy: { resign: 1 } },
  );
  const caller = new AbortController();
  const call = client.fetch(seller.url, { idempotencyKey: 'order', signal: caller.signal });
  const ended = expect(call).rejects.toBe('given up');
  await expect.poll(() => load).toHaveBeenCalled();
  caller.abort('given up');
  await ended;
  arrive(await vi.importActual(RESIGN));
  expect((await client.fetch(seller.url, { idempotencyKey: 'order' })).status).toBe(200);
  expect(seller.paid).toHaveLength(1);
});

const request = { inputMint: 'SOL', outputMint: 'USDC', amount: '1' };

it.each<[string, string, (client: Client, url: string, signal: AbortSignal) => Promise<unknown>]>([
  ['plan', SWAPS, (client, url, signal) => client.plan(url, { signal })],
  ['pay', HEADER, async (client, url, signal) => client.pay(await fetch(url), { signal })],
  [
    'pay, by terms of the caller',
    RARE,
    (client, url, signal) => client.pay(offered(), { url, signal }),
  ],
  ['swap', SWAPS, (client, _, signal) => client.swap(request, { signal })],
  ['quote', SWAPS, (client, _, signal) => client.quote(request, { signal })],
  [
    'quote, by the local transport',
    LOCAL,
    (client, _, signal) => client.quote(request, { signal }),
  ],
  [
    'swapInstruction, by the local transport',
    LOCAL,
    async (_, __, signal) => {
      const { local } = await import('../../src/index.js');
      await local().swapInstruction?.({ wallet: sandbox.merchant, quote }, { signal });
    },
  ],
  ['balance', SWAPS, (client, _, signal) => client.balance('USDC', { signal })],
])('ends %s with its caller while its file never loads', async (_, file, run) => {
  const load = vi.fn(never);
  const { client, seller } = await without(file, load, (__, response) =>
    answerHeader(response, terms()),
  );
  const caller = new AbortController();
  const ended = expect(run(client, seller.url, caller.signal)).rejects.toBe('given up');
  await expect.poll(() => load).toHaveBeenCalled();
  caller.abort('given up');
  await ended;
});

it('ends inspectSwap with its caller while its file never loads', async () => {
  vi.resetModules();
  const load = vi.fn(never);
  vi.doMock(INSPECT, load);
  const { inspectSwap } = await import('../../src/index.js');
  const caller = new AbortController();
  const verdict = inspectSwap('', {
    ...{ wallet: sandbox.merchant, inputMint: 'SOL', outputMint: 'USDC' },
    ...{ maxInAmount: '1', minOutAmount: '1', rpcUrl: sandbox.rpcUrl, signal: caller.signal },
  });
  const ended = expect(verdict).rejects.toBe('given up');
  await expect.poll(() => load).toHaveBeenCalled();
  caller.abort('given up');
  await ended;
});

it.each([
  ['the file with the text of budget_exhausted', REASONS],
  ['the file that frees the budget of ended calls', RECOVERY],
])('ends the second call with its caller while %s never loads', async (_, file) => {
  const load = vi.fn(never);
  const { client, seller } = await without(
    file,
    load,
    (request, response) =>
      isPaid(request) ? answer(response, 200, {}) : answerHeader(response, terms()),
    { policy: { maxPerDay: '0.015' } },
  );
  await client.fetch(seller.url);
  const caller = new AbortController();
  const call = client.fetch(`${seller.url}/second`, { signal: caller.signal });
  const ended = expect(call).rejects.toBe('given up');
  await expect.poll(() => load).toHaveBeenCalled();
  caller.abort('given up');
  await ended;
});

it('ends the call while the file that releases a reserved payment never loads', async () => {
  const { client, seller, kept } = await without(
    RECOVERY,
    never,
    (_, response) => answerHeader(response, terms()),
    { policy: { approve: () => false }, timeouts: { journal: 500 } },
  );
  // Loads the code of the journal, which would count toward its limit.
  expect(await kept()).toEqual([]);
  await expect(client.fetch(seller.url)).rejects.toMatchObject({ code: 'approval_refused' });
  expect(seller.paid).toEqual([]);
});

it('ends resume() while the file that looks up payments never loads', async () => {
  const { client, seller } = await without(
    SELDOM,
    never,
    (request, response) => {
      if (isPaid(request)) request.socket.destroy();
      else answerHeader(response, terms());
    },
    { timeouts: { payment: 4_000 } },
  );
  await expect(client.fetch(seller.url)).rejects.toMatchObject({ code: 'payment_uncertain' });
  await expect(client.resume()).rejects.toMatchObject({ code: 'timeout' });
});

it('ends a transaction lookup with its caller while its reader never loads', async () => {
  vi.resetModules();
  const load = vi.fn(never);
  vi.doMock(SELDOM, load);
  const { connectRpc } = await import('../../src/solana/rpc/connection.js');
  const rpc = connectRpc({ urls: [sandbox.rpcUrl], timeoutMs: 60_000 });
  const caller = new AbortController();
  const lookup = rpc.transaction('1'.repeat(64), { signal: caller.signal });
  const ended = expect(lookup).rejects.toBe('given up');
  await expect.poll(() => load).toHaveBeenCalled();
  caller.abort('given up');
  await ended;
});
