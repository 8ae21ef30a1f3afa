import { local } from 'exact-change';
import { apiKeys, createHandler } from 'exact-change/http';
import type { MintSymbol } from 'exact-change-sandbox';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { base64, envelopeV2 } from '../fixtures/malformed-402.js';
import { startLegacySeller, type LegacySeller } from '../fixtures/legacy/seller.js';
import { landed, tokenAmount, until } from '../helpers/chain.js';
import { signedByKit } from '../helpers/flow.js';
import { useSandbox } from '../helpers/sandbox.js';
import { sellerOfTest } from '../helpers/seller.js';
import { served, type Served } from '../helpers/served.js';
import { offerOf } from '../helpers/settling.js';

/** Fields of an answer that a caller reads; each may be missing. */
interface Answer {
  readonly state?: string;
  readonly quote?: object;
  readonly transaction?: string;
  readonly swap?: { readonly transaction: string };
  readonly payment?: { readonly transaction: string };
  readonly header?: { readonly name: string; readonly value: string };
}

const API_KEY = 'a-key-of-this-service-alone';

const sandbox = await useSandbox({ confirmationMs: 20 });
let legacy: LegacySeller;
let service: Served;

beforeAll(async () => {
  legacy = await startLegacySeller(sandbox, { facilitator: 'legacy' });
  const transport = local({ rpcUrl: sandbox.rpcUrl, jupiterUrl: sandbox.jupiterUrl });
  service = await served(createHandler(transport, { authorize: apiKeys([API_KEY]) }));
});
afterAll(async () => {
  await service.close();
  await legacy.close();
});

const headers = { 'x-api-key': API_KEY };

async function get(path: string): Promise<Answer> {
  return answerOf(await fetch(service.url + path, { headers }));
}

async function post(
  path: string,
  body: object,
  more: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const init = {
    method: 'POST',
    headers: { ...headers, ...more, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  };
  return answerOf(await fetch(service.url + path, init));
}

async function answerOf(response: Response): Promise<Answer> {
  const json = (await response.json()) as Answer; // The assertions check its shape.
  return response.ok ? json : { ...json, ...{ status: response.status } };
}

/** Returns a 402 in the form that a caller in any language has. */
async function termsOf(url: string): Promise<object> {
  const response = await fetch(url);
  expect(response.status).toBe(402);
  return {
    url,
    status: 402,
    headers: Object.fromEntries(response.headers),
    body: await response.text(),
  };
}

const merchantHolds = (symbol: MintSymbol) =>
  tokenAmount(sandbox.rpcUrl, sandbox.merchant, sandbox.mints[symbol]);

describe('the service over a socket', () => {
  it.each([
    ['version 2, Token-2022', () => `${sandbox.apiUrl}/pyusd`, 'PYUSD', 30_000n],
    ['version 1', () => `${legacy.url}/usdc`, 'USDC', 10_000n],
  ] as const)(
    'leads from a 402 to the paid answer with only fetch and a signer (%s)',
    async (_, url, symbol, price) => {
      const wallet = await sandbox.createWallet({ SOL: '0.5', BONK: '1000000' });
      const before = await merchantHolds(symbol);
      const request = {
        paymentRequired: await termsOf(url()),
        wallet: wallet.address,
        autoSwap: true,
      };

      const first = await post('/api/x402/auto-pay', request);
      expect(first).toMatchObject({
        state: 'swap_required',
        offer: { amount: price.toString(), mint: sandbox.mints[symbol].address },
      });
      const swap = await signedByKit(wallet, first.swap?.transaction);

      const second = await until('the swap is confirmed', async () => {
        const answer = await post('/api/x402/auto-pay', { ...request, signedSwap: swap.wire });
        return answer.state === 'swap_submitted' ? undefined : answer;
      });
      expect(second.state).toBe('ready_to_sign');
      expect((await landed(sandbox.rpcUrl, swap.signature())).error).toBeNull();
      const payment = await signedByKit(wallet, second.payment?.transaction);

      const third = await post('/api/x402/auto-pay', { ...request, signedPayment: payment.wire });
      expect(third.state).toBe('ready_to_present');
      const paid = await fetch(url(), {
        headers: { [third.header?.name ?? '']: third.header?.value ?? '' },
      });
      expect(paid.status).toBe(200);
      expect((await merchantHolds(symbol)) - before).toBe(price);
    },
  );

  it('reports a landed swap also if the payment after it fails', async () => {
    const wallet = await sandbox.createWallet({ SOL: '0.5' });
    const request = {
      paymentRequired: await termsOf(`${sandbox.apiUrl}/usdc`),
      wallet: wallet.address,
      autoSwap: true,
    };
    const swap = await signedByKit(
      wallet,
      (await post('/api/x402/auto-pay', request)).swap?.transaction,
    );
    const refused = await until('the swap is confirmed', async () => {
      const limits = { [sandbox.mints.USDC.address]: '1' };
      const answer = await post('/api/x402/auto-pay', {
        ...request,
        limits,
        signedSwap: swap.wire,
      });
      return answer.state === 'swap_submitted' ? undefined : answer;
    });
    expect(refused).toMatchObject({
      code: 'amount_over_limit',
      funds: 'swapped',
      moved: [{ kind: 'swap', signature: swap.signature() }],
    });
  });

  it('reports funds as uncertain if no node says what became of a swap that it has sent', async () => {
    const wallet = await sandbox.createWallet({ SOL: '0.5' });
    const request = {
      paymentRequired: await termsOf(`${sandbox.apiUrl}/usdc`),
      wallet: wallet.address,
      autoSwap: true,
    };
    const planned = await post('/api/x402/auto-pay', request);
    const signedSwap = (await signedByKit(wallet, planned.swap?.transaction)).wire;
    const send = () => post('/api/x402/auto-pay', { ...request, signedSwap });
    await until('the swap has landed', async () =>
      (await send()).state === 'ready_to_sign' ? true : undefined,
    );
    onTestFinished(
      sandbox.controls.node.fault('isBlockhashValid', { kind: 'status', status: 503 }),
    );
    expect(await send()).toMatchObject({
      code: 'rpc_unavailable',
      ...{ funds: 'uncertain', retry: 'same', moved: [] },
    });
  });

  it('reports the fate of a swap each time that it is submitted again', async () => {
    const paymentRequired = await termsOf(`${sandbox.apiUrl}/usdc`);
    const swapper = async () => {
      const wallet = await sandbox.createWallet({ SOL: '0.5' });
      const request = { paymentRequired, wallet: wallet.address, autoSwap: true };
      const { wire, signature } = await signedByKit(
        wallet,
        (await post('/api/x402/auto-pay', request)).swap?.transaction,
      );
      return {
        signature: signature(),
        send: () => post('/api/x402/auto-pay', { ...request, signedSwap: wire }),
      };
    };
    const isDecided = ({ send }: Awaited<ReturnType<typeof swapper>>) =>
      until('the swap is decided', async () => {
        const answer = await send();
        return answer.state === 'swap_submitted' ? undefined : answer;
      });
    const [swapped, failed, unsent] = [await swapper(), await swapper(), await swapper()];
    await isDecided(swapped);
    sandbox.controls.aggregator.setVenue({ deviationBps: 80 });
    await isDecided(failed);
    // No block, finalized or not, takes their blockhash any more. Nodes know the swaps from their
    // history alone.
    sandbox.controls.node.warp();
    for (let times = 0; times < 2; times += 1) {
      expect(await swapped.send()).toMatchObject({ state: 'ready_to_sign' });
      expect(await failed.send()).toMatchObject({
        code: 'swap_failed',
        funds: 'untouched',
        details: { signature: failed.signature },
      });
      expect(await unsent.send()).toMatchObject({
        code: 'swap_expired',
        funds: 'untouched',
        details: { signature: unsent.signature },
      });
    }
  });

  it.each<[string, object, string]>([
    ['an unknown provider', { provider: 'nobody' }, 'quote_mismatch'],
    ['an empty original', { raw: {} }, 'quote_mismatch'],
    ['null in place of the original', { raw: null }, 'quote_mismatch'],
    ['an original without a route', { raw: { routePlan: [] } }, 'quote_mismatch'],
    ['bounds that differ from the original', { inAmount: '0', maxInAmount: '0' }, 'unsafe_swap'],
    [
      'an output that Jupiter did not promise',
      { minOutAmount: '18446744073709551615' },
      'unsafe_swap',
    ],
    [
      'an address that is no mint',
      { inputMint: '11111111111111111111111111111111' },
      'unknown_mint',
    ],
  ])('refuses a quote with %s as an error of the caller', async (_, lie, code) => {
    const wallet = await sandbox.createWallet({ SOL: '0.5' });
    const quote = await get('/api/quote?inputMint=SOL&outputMint=USDC&amount=5000000');
    expect(
      await post('/api/swap/build', { wallet: wallet.address, quote: { ...quote, ...lie } }),
    ).toMatchObject({ status: 422, code });
  });

  it('refuses the key of a wallet, and neither returns nor forwards it', async () => {
    const wallet = await sandbox.createWallet({ SOL: '0.1' });
    const calls = sandbox.controls.node.calls();
    const answers = [
      await post('/api/x402/auto-pay', {
        paymentRequired: {},
        wallet: wallet.address,
        walletSecretKey: wallet.secretKey,
      }),
      await post('/api/swap/build', {
        wallet: wallet.secretKey,
        inputMint: 'SOL',
        outputMint: 'USDC',
        amount: '1',
      }),
      await get(`/api/balance?wallet=${wallet.secretKey}`),
    ];
    for (const answer of answers)
      expect(answer).toMatchObject({ status: 400, code: 'secret_refused' });
    expect(JSON.stringify(answers)).not.toContain(wallet.secretKey);
    expect(sandbox.controls.node.calls()).toBe(calls);
  });

  it('sends no request to an address that a request names', async () => {
    const named = await sellerOfTest((_, response) => response.writeHead(402).end());
    const wallet = await sandbox.createWallet({ USDC: '1' });
    const places = {
      url: named.url,
      resource: named.url,
      facilitator: named.url,
      rpcUrl: named.url,
      jupiterUrl: named.url,
      apiUrl: named.url,
    };
    const terms = envelopeV2(
      [offerOf(sandbox, { ...places, extra: { feePayer: sandbox.feePayer, ...places } })],
      {
        ...places,
        resource: places,
      },
    );
    const header = {
      'payment-required': base64(terms),
      location: named.url,
      link: `<${named.url}>; rel="payment"`,
    };
    const paymentRequired = {
      url: `${named.url}/paid`,
      status: 402,
      headers: header,
      body: JSON.stringify(terms),
    };
    const asked = {
      'x-forwarded-host': new URL(named.url).host,
      referer: named.url,
      origin: named.url,
    };
    expect(await post('/api/x402/parse-payment', paymentRequired, asked)).toMatchObject({
      offers: [{ payable: true }],
    });
    const planned = await post(
      '/api/x402/auto-pay',
      { paymentRequired, wallet: wallet.address, autoSwap: true },
      asked,
    );
    expect(planned).toMatchObject({ state: 'ready_to_sign' });
    const { signature: _, wire } = await signedByKit(wallet, planned.payment?.transaction);
    const request = { paymentRequired, wallet: wallet.address, signedPayment: wire };
    expect(await post('/api/x402/auto-pay', request, asked)).toMatchObject({
      state: 'ready_to_present',
    });
    expect(named.seen).toEqual([]);
  });

  it('requires its key for operations, but not for health and openapi.json', async () => {
    expect(
      (await fetch(`${service.url}/api/quote?inputMint=SOL&outputMint=USDC&amount=1`)).status,
    ).toBe(401);
    expect(await (await fetch(`${service.url}/api/health`)).json()).toEqual({ status: 'ok' });
    expect(await (await fetch(`${service.url}/openapi.json`)).json()).toMatchObject({
      openapi: '3.1.0',
    });
    expect(await (await fetch(`${service.url}/api/swaps`)).json()).toMatchObject({
      status: 404,
      code: 'not_found',
      retry: 'never',
    });
  });

  it('does not repeat texts of its upstreams', async () => {
    const canary = 'canary-4f7a-api-key';
    sandbox.controls.aggregator.fault('*', {
      kind: 'status',
      status: 401,
      body: JSON.stringify({ error: `Bad key ${canary}` }),
    });
    const answer = await get('/api/quote?inputMint=SOL&outputMint=USDC&amount=1000000');
    expect(answer).toMatchObject({
      status: 503,
      code: 'jupiter_unavailable',
      details: { status: 401 },
      retry: 'never',
    });
    expect(JSON.stringify(answer)).not.toContain(canary);
  });
});
