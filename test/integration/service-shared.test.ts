import { address as toAddress } from '@solana/kit';
import { createClient, local } from 'exact-change';
import { createHandler } from 'exact-change/http';
import type { SandboxWallet } from 'exact-change-sandbox';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { coalesced } from '../../adapters/http/coalesced.js';
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
 * By its own clock, or by one on which nothing grows old. Has asked for a balance, and so has seen
 * which network the node serves.
 */
async function handlerOver({ timeStands = false, jupiterApiKey = 'shared' } = {}) {
  const transport = local({
    rpcUrl: `${sandbox.rpcUrl}/?caller=service`,
    jupiterUrl: sandbox.jupiterUrl,
    jupiterApiKey,
  });
  const handler = timeStands
    ? createHandler(
        coalesced(transport, { quoteMs: 1_000, balanceMs: 400 }, () => 5),
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

describe('many requests at once', () => {
  it('for balances of 20 wallets cost one request of the node', async () => {
    const { get } = await handlerOver();
    const asked = Array.from({ length: 100 }, (_, index) => wallets[index % 20]!);
    const answers = await Promise.all(
      asked.map(({ address }) => get(`/api/balance?wallet=${address}&mint=USDC`)),
    );
    expect(answers.map(amountOf)).toEqual(asked.map((_, index) => `${(index % 20) + 10}0000`));
    expect(nodeCalls()).toEqual({ getMultipleAccounts: 1 });
  });

  it('for all balances of 20 wallets read what they can together', async () => {
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
    // The wallets at once, then their mints as the lists come in.
    expect(getMultipleAccounts).toBeLessThanOrEqual(21);
  });

  it('for one quote cost one of Jupiter, also over sockets', async () => {
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

  /** Has a swap planned for a wallet that pays in USDC and has none. */
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

  it('for swaps of several wallets ask for what SOL is worth once', async () => {
    const service = await handlerOver();
    const quotes: number[] = [];
    while (quotes.length < 3) {
      const before = quotesAsked();
      await swapFor(service);
      quotes.push(quotesAsked() - before);
    }
    // Of its price, and of the swap; then of the swap alone.
    expect(quotes).toEqual([2, 1, 1]);
  });

  it('for a swap out of a pinned token read what a wallet has along with what its payment needs', async () => {
    const service = await handlerOver();
    await swapFor(service);
    sandbox.controls.node.resetCalls();
    await swapFor(service);
    const { getMultipleAccounts, getTokenAccountsByOwner } = nodeCalls();
    // Of the payment, of the swap, and of what its venue touches.
    expect(getMultipleAccounts).toBe(3);
    expect(getTokenAccountsByOwner).toBe(undefined);
  });

  it('are answered to the others when some go away', async () => {
    const { handler } = await handlerOver();
    const path = 'https://service.example/api/quote?inputMint=SOL&outputMint=USDC&amount=1000001';
    const off = sandbox.controls.aggregator.fault('GET /swap/v1/quote', { kind: 'hang', times: 1 });
    const caller = new AbortController();
    const left = handler(new Request(path, { signal: caller.signal }));
    await until('Jupiter is asked', () => (quotesAsked() > 0 ? true : undefined));
    caller.abort();
    expect((await left).status).toBe(499);
    off();
    // No caller waits for what hangs.
    expect((await handler(new Request(path))).status).toBe(200);
    expect(quotesAsked()).toBe(2);
  });
});

describe('an upstream that limits the service', () => {
  it('is not asked again before it is time, by any caller', async () => {
    // Its pause is for all of this process that ask with the same key.
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
    // Jupiter's limit is none of the node's.
    expect((await get(`/api/balance?wallet=${sandbox.merchant}&mint=SOL`)).status).toBe(200);
  });
});

describe('what decides on money', () => {
  it('reads for itself, whatever was read a moment ago', async () => {
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
    // The list may be a moment old; a caller that needs to know better asks the chain.
    expect(amountOf(await balance())).toBe('0');
  });

  it('takes a quote that was given to another a moment ago', async () => {
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
    // One of the service, and one by each client, which asks its own Jupiter what the swap may
    // cost.
    expect(quotesAsked()).toBe(3);
  });
});
