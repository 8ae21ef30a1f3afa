import { address as toAddress } from '@solana/kit';
import { createClient, local } from 'exact-change';
import { createHandler } from 'exact-change/http';
import type { SandboxWallet } from 'exact-change-sandbox';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { withSharedReads } from '../../adapters/http/coalesced.js';
import { rpc, until } from '../helpers/chain.js';
import { useSandbox } from '../helpers/sandbox.js';
import { served, type Served } from '../helpers/served.js';

const sandbox = await useSandbox({ confirmationMs: 20 });
let wallets: SandboxWallet[];
const services: Served[] = [];

beforeAll(async () => {
  wallets = await Promise.all(
    Array.from({ length: 20 }, (_, cents) =>
      sandbox.createWallet({ SOL: '0.1', USDC: `0.${cents + 10}` }),
    ),
  );
});
afterEach(async () => {
  for (const service of services.splice(0)) await service.close();
});

/**
 * Returns a handler with the real clock, or with a clock that stands still. The handler has read a
 * balance, so it knows the network of the node.
 */
async function handlerOver({ timeStands = false, jupiterApiKey = 'shared' } = {}) {
  const transport = local({
    rpcUrl: `${sandbox.rpcUrl}/?caller=service`,
    jupiterUrl: sandbox.jupiterUrl,
    jupiterApiKey,
  });
  const handler = timeStands
    ? createHandler(
        withSharedReads(transport, { quoteMs: 1_000, balanceMs: 400 }, () => 5),
        { quoteCacheMs: 0, balanceCacheMs: 0 },
      )
    : createHandler(transport);
  const get = async (path: string) => {
    const response = await handler(new Request(`https://service.example${path}`));
    const json = (await response.json()) as Record<string, unknown>;
    return { status: response.status, headers: response.headers, json };
  };
  await get(`/api/balance?wallet=${sandbox.merchant}`);
  sandbox.controls.node.resetCalls();
  sandbox.controls.aggregator.resetCalls();
  return { handler, get };
}

const nodeCalls = () => sandbox.controls.node.callsByMethod('service');
const quotesAsked = () => sandbox.controls.aggregator.calls('GET /swap/v1/quote');
const amountOf = ({ json }: { json: Record<string, unknown> }) => json['amount'];

describe('simultaneous requests', () => {
  it('for balances of 20 wallets, cost one request to the node', async () => {
    const { get } = await handlerOver();
    const asked = Array.from({ length: 100 }, (_, index) => wallets[index % 20]!);
    const answers = await Promise.all(
      asked.map(({ address }) => get(`/api/balance?wallet=${address}&mint=USDC`)),
    );
    expect(answers.map(amountOf)).toEqual(asked.map((_, index) => `${(index % 20) + 10}0000`));
    expect(nodeCalls()).toEqual({ getMultipleAccounts: 1 });
  });

  it('for all balances of 20 wallets, share their reads', async () => {
    const { get } = await handlerOver();
    const answers = await Promise.all(
      wallets.map(({ address }) => get(`/api/balance?wallet=${address}`)),
    );
    expect(answers.map(({ json }) => [json[0], json[1]])).toEqual(
      wallets.map((_, cents) => [
        expect.objectContaining({ mint: sandbox.mints.SOL.address, amount: '100000000' }),
        expect.objectContaining({ mint: sandbox.mints.USDC.address, amount: `${cents + 10}0000` }),
      ]),
    );
    const { getTokenAccountsByOwner, getMultipleAccounts = 0 } = nodeCalls();
    expect(getTokenAccountsByOwner).toBe(40);
    // The wallets in one request, then their mints as the lists arrive.
    expect(getMultipleAccounts).toBeLessThanOrEqual(21);
  });

  it('for the same quote, cost one request to Jupiter, also over sockets', async () => {
    const { handler } = await handlerOver({ timeStands: true });
    const service = await served(handler);
    services.push(service);
    sandbox.controls.aggregator.setLatency(50, 'GET /swap/v1/quote');
    const path = `${service.url}/api/quote?inputMint=SOL&outputMint=USDC&amount=1000000`;
    const answers = await Promise.all(
      Array.from({ length: 50 }, async () => (await fetch(path)).json()),
    );
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(answers[0]).toMatchObject({ inAmount: '1000000', platformFeeBps: 0 });
    expect(quotesAsked()).toBe(1);
  });

  /** Requests a swap plan for a wallet without USDC that pays in USDC. */
  async function swapFor({ handler }: Awaited<ReturnType<typeof handlerOver>>) {
    const { url, status, headers } = await fetch(`${sandbox.apiUrl}/usdc`);
    const paymentRequired = { url, status, headers: Object.fromEntries(headers) };
    const { address } = await sandbox.createWallet({ SOL: '0.1' });
    const answer = await handler(
      new Request('https://service.example/api/x402/auto-pay', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ paymentRequired, wallet: address, autoSwap: true }),
      }),
    );
    expect(await answer.json()).toMatchObject({ state: 'swap_required' });
  }

  it('for swaps of several wallets, ask for the price of SOL once', async () => {
    const service = await handlerOver();
    const quotes: number[] = [];
    while (quotes.length < 3) {
      const before = quotesAsked();
      await swapFor(service);
      quotes.push(quotesAsked() - before);
    }
    // The first swap asks for the price of SOL and for its quote, later swaps for a quote alone.
    expect(quotes).toEqual([2, 1, 1]);
  });

  it('for a swap out of a pinned token, read all accounts of the wallet at once', async () => {
    const service = await handlerOver();
    await swapFor(service);
    sandbox.controls.node.resetCalls();
    await swapFor(service);
    const { getMultipleAccounts, getTokenAccountsByOwner } = nodeCalls();
    // For the payment, for whether the wallet can swap, for the swap, and for the accounts that the
    // venue touches.
    expect(getMultipleAccounts).toBe(4);
    expect(getTokenAccountsByOwner).toBe(undefined);
  });

  it('are answered for the remaining callers when a caller disconnects', async () => {
    const { handler } = await handlerOver();
    const path = 'https://service.example/api/quote?inputMint=SOL&outputMint=USDC&amount=1000001';
    const off = sandbox.controls.aggregator.fault('GET /swap/v1/quote', { kind: 'hang', times: 1 });
    const caller = new AbortController();
    const left = handler(new Request(path, { signal: caller.signal }));
    await until('Jupiter is asked', () => (quotesAsked() > 0 ? true : undefined));
    caller.abort();
    expect((await left).status).toBe(499);
    off();
    // No caller waits for the hanging request.
    expect((await handler(new Request(path))).status).toBe(200);
    expect(quotesAsked()).toBe(2);
  });
});

describe('an upstream that limits the service', () => {
  it('gets no request from any caller before its pause is over', async () => {
    // The pause holds for all transports of this process with the same key.
    const { get } = await handlerOver({ jupiterApiKey: 'limited' });
    sandbox.controls.aggregator.fault('*', {
      kind: 'status',
      status: 429,
      headers: { 'retry-after': '0', 'x-ratelimit-reset': '0' },
      times: 2,
    });
    sandbox.controls.aggregator.fault('*', {
      kind: 'status',
      status: 429,
      headers: { 'retry-after': '30' },
    });
    const quote = (amount: number) =>
      get(`/api/quote?inputMint=SOL&outputMint=USDC&amount=${amount}`);
    const first = await quote(1_000_002);
    expect([first.status, first.json['details']]).toEqual([429, { retryAfterMs: 30_000 }]);
    const asked = sandbox.controls.aggregator.calls('*');
    expect(asked).toBe(3);
    sandbox.controls.aggregator.restore();
    for (const amount of [1_000_002, 1_000_003]) {
      const { status, headers, json } = await quote(amount);
      expect([status, json['code']]).toEqual([429, 'rate_limited']);
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    }
    expect(sandbox.controls.aggregator.calls('*')).toBe(asked);
    // The limit of Jupiter does not limit the node.
    expect((await get(`/api/balance?wallet=${sandbox.merchant}&mint=SOL`)).status).toBe(200);
  });
});

describe('a decision on money', () => {
  it('reads the chain anew, whatever was read a moment ago', async () => {
    const { handler, get } = await handlerOver({ timeStands: true });
    const { address } = await sandbox.createWallet({ SOL: '0.1' });
    const seller = await fetch(`${sandbox.apiUrl}/usdc`);
    const paymentRequired = {
      url: seller.url,
      status: 402,
      headers: Object.fromEntries(seller.headers),
      body: await seller.text(),
    };
    const step = async () => {
      const request = {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ paymentRequired, wallet: address }),
      };
      return (await (
        await handler(new Request('https://service.example/api/x402/auto-pay', request))
      ).json()) as Record<string, unknown>;
    };
    const balance = () => get(`/api/balance?wallet=${address}&mint=USDC`);
    expect(amountOf(await balance())).toBe('0');
    expect((await step())['state']).toBe('insufficient_funds');
    await sandbox.chain.fundToken(toAddress(address), sandbox.mints.USDC, 1_000_000n);
    expect((await step())['state']).toBe('ready_to_sign');
    // The list may be a moment old; a caller that needs the newest state asks the chain.
    expect(amountOf(await balance())).toBe('0');
  });

  it('accepts a quote that another caller got a moment ago', async () => {
    const { handler } = await handlerOver({ timeStands: true });
    const service = await served(handler);
    services.push(service);
    const request = {
      inputMint: 'SOL',
      outputMint: 'PYUSD',
      amount: '200000',
      swapMode: 'ExactOut' as const,
    };
    const swapped = await Promise.all(
      wallets.slice(0, 2).map(async ({ secretKey }) => {
        const client = createClient({
          walletSecretKey: secretKey,
          apiUrl: service.url,
          rpcUrl: sandbox.rpcUrl,
          jupiterUrl: sandbox.jupiterUrl,
        });
        try {
          return await client.swap(request);
        } finally {
          await client.close();
        }
      }),
    );
    for (const { signature } of swapped) {
      const params = [
        signature,
        { encoding: 'json', commitment: 'confirmed', maxSupportedTransactionVersion: 0 },
      ];
      expect(
        await rpc<{ meta: { err: unknown } }>(sandbox.rpcUrl, 'getTransaction', params),
      ).toMatchObject({ meta: { err: null } });
    }
    // One request of the service, and one of each client, which checks the price at Jupiter itself.
    expect(quotesAsked()).toBe(3);
  });
});
