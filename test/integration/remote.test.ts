import {
  createClient,
  HTTPInterceptor,
  local,
  receiptOf,
  type ClientOptions,
  type Transport,
} from 'exact-change';
import { createHandler } from 'exact-change/http';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { findNeedles, keyNeedles, tap, type Tap } from '../helpers/capture.js';
import { landed } from '../helpers/chain.js';
import { decided } from '../helpers/flow.js';
import { MOUNTS, type Mounted } from '../helpers/mounts.js';
import { payerOn, secretBytes } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';
import { refusal } from '../helpers/untouched.js';

const FUNDS = { SOL: '0.5', BONK: '5000000' } as const;
const KEY = 'jupiter-key-of-the-client-alone';

/** A request as the service received it. */
interface Heard {
  readonly method: string;
  readonly path: string;
  readonly headers: readonly string[];
  readonly body: unknown;
}

const sandbox = await useSandbox({ confirmationMs: 20 });
let service: Mounted;
let line: Tap;
let heard: Heard[] = [];

beforeAll(async () => {
  const handler = createHandler(local({ rpcUrl: sandbox.rpcUrl, jupiterUrl: sandbox.jupiterUrl }), {
    basePath: '/pay',
  });
  const express = MOUNTS.find(({ name }) => name === 'express');
  if (express === undefined) throw new Error('There is a mount for Express.');
  service = await express.start(async (request) => {
    const { method, url, headers } = request;
    const text = method === 'GET' ? '' : await request.clone().text();
    const body: unknown = text === '' ? undefined : JSON.parse(text);
    heard.push({ method, path: new URL(url).pathname, headers: [...headers.keys()], body });
    return handler(request);
  });
  line = await tap(Number(new URL(service.url).port));
});
afterEach(async () => {
  heard = [];
});
afterAll(async () => {
  await line.close();
  await service.close();
});

const apiUrl = () => `http://127.0.0.1:${line.port}/pay`;
const options = (): ClientOptions => ({
  apiUrl: apiUrl(),
  autoSwap: true,
  swapFrom: [sandbox.mints.BONK.address],
  jupiterApiKey: KEY,
});

/** Expects that the service got only the data for the swap. */
function expectNoSecret(
  address: string,
  secretKey: string,
  signatures: readonly (string | undefined)[],
): void {
  const needles = [
    ...keyNeedles(secretBytes(secretKey)),
    { name: 'the key for Jupiter', text: KEY },
    ...signatures.map((text = 'missing') => ({ name: 'a signature', text })),
    ...['payment-signature', 'x-payment', 'signedSwap', 'signedPayment'].map((text) => ({
      name: text,
      text,
    })),
  ];
  expect(findNeedles(line.sent, needles)).toEqual([]);
  const calls = heard.map(({ method, path }) => `${method} ${path}`);
  expect(calls).toEqual(['POST /pay/api/x402/auto-pay']);
  for (const { body, headers } of heard) {
    expect(headers.filter((name) => /payment|authorization|cookie|key/.test(name))).toEqual([]);
    expect(body).toEqual({
      paymentRequired: { body: { x402Version: 2, accepts: [expect.anything()] } },
      wallet: address,
      autoSwap: true,
      limits: { [sandbox.mints.USDC.address]: '10000' },
      swapFrom: [sandbox.mints.BONK.address],
      swapAmount: '50000',
      slippageBps: 50,
    });
  }
}

describe('a client with the apiUrl of a service in Express', () => {
  it('pays after a swap that the service built, and sends the service no secret', async () => {
    const payer = await payerOn(sandbox, FUNDS, options());
    const response = await payer.client.fetch(`${sandbox.apiUrl}/usdc`);
    expect(response.status).toBe(200);
    const receipt = await decided(response);
    expect(receipt).toMatchObject({
      state: 'settled',
      payment: { mint: sandbox.mints.USDC.address, amount: '10000' },
    });
    expect(receipt.swap).toMatchObject({ inputMint: sandbox.mints.BONK.address });
    expect((await landed(sandbox.rpcUrl, receipt.swap?.signature ?? '')).error).toBeNull();
    expectNoSecret(payer.address, payer.secretKey, [
      receipt.swap?.signature,
      receipt.payment.payerSignature,
    ]);
  });

  it('swaps only at prices that its own Jupiter confirms', async () => {
    const deaf = 'http://127.0.0.1:9';
    const payer = await payerOn(sandbox, FUNDS, { ...options(), jupiterUrl: deaf });
    await refusal(sandbox, payer, 'jupiter_unavailable', () =>
      payer.client.fetch(`${sandbox.apiUrl}/usdc`),
    );
  });

  it('quotes, swaps and reads balances through the service', async () => {
    const payer = await payerOn(sandbox, FUNDS, options());
    const quote = await payer.client.quote({
      inputMint: 'SOL',
      outputMint: 'USDC',
      amount: '1000000',
    });
    expect(quote).toMatchObject({ inAmount: '1000000' });
    const swapped = await payer.client.swap({
      inputMint: 'SOL',
      outputMint: 'USDC',
      amount: '1000000',
    });
    expect((await landed(sandbox.rpcUrl, swapped.signature)).error).toBeNull();
    expect(await payer.client.balance(['USDC'])).toMatchObject([{ amount: swapped.outAmount }]);
    expect(new Set(heard.map(({ path }) => path))).toEqual(
      new Set(['/pay/api/quote', '/pay/api/swap/build', '/pay/api/balance']),
    );
  });

  it('rejects a quote or a balance of another token than requested', async () => {
    const honest = local({ rpcUrl: sandbox.rpcUrl, jupiterUrl: sandbox.jupiterUrl });
    const [usdc, usdt] = [sandbox.mints.USDC.address, sandbox.mints.USDT.address];
    const transport: Transport = {
      ...honest,
      quote: (request, quoteOptions) =>
        honest.quote({ ...request, outputMint: usdt, amount: '2000000' }, quoteOptions),
      balance: (request, balanceOptions) =>
        honest.balance({ ...request, mint: usdt }, balanceOptions),
    };
    const { client } = await payerOn(sandbox, FUNDS, { transport });
    const asked = { inputMint: 'SOL', amount: '1000000' };
    await expect(client.quote({ ...asked, outputMint: usdc })).rejects.toMatchObject({
      code: 'quote_mismatch',
    });
    await expect(client.quote({ ...asked, outputMint: usdt })).rejects.toMatchObject({
      code: 'quote_mismatch',
    });
    await expect(client.balance(usdc)).rejects.toMatchObject({
      code: 'invalid_response',
      details: { service: 'service' },
    });
    expect(await client.balance(usdt)).toMatchObject([{ mint: usdt }]);
  });

  it('pays without the service if no swap is needed', async () => {
    const payer = await payerOn(
      sandbox,
      { SOL: '0.1', USDC: '1' },
      { ...options(), apiUrl: 'http://127.0.0.1:9' },
    );
    expect((await payer.client.fetch(`${sandbox.apiUrl}/usdc`)).status).toBe(200);
  });

  it('fails with service_unavailable and signs nothing if the service is down', async () => {
    const payer = await payerOn(sandbox, FUNDS, { ...options(), apiUrl: 'http://127.0.0.1:9' });
    const error = await refusal(sandbox, payer, 'service_unavailable', () =>
      payer.client.fetch(`${sandbox.apiUrl}/usdc`),
    );
    expect(error.details).toEqual({ status: 0 });
    expect(error.retry).toBe('fresh');
  });

  it('reports the rate limit that the service got from Jupiter, with the same code', async () => {
    sandbox.controls.aggregator.fault('*', {
      kind: 'status',
      status: 429,
      headers: { 'retry-after': '0' },
    });
    const payer = await payerOn(sandbox, FUNDS, options());
    const call = () =>
      payer.client.swap({ inputMint: 'SOL', outputMint: 'USDC', amount: '1000000' });
    await refusal(sandbox, payer, 'rate_limited', call);
  });
});

describe('HTTPInterceptor with apiUrl', () => {
  it('pays for a global fetch through the service, without a loop through itself', async () => {
    const wallet = await sandbox.createWallet(FUNDS);
    const interceptor = new HTTPInterceptor({
      ...options(),
      walletSecretKey: wallet.secretKey,
      rpcUrl: sandbox.rpcUrl,
      jupiterUrl: sandbox.jupiterUrl,
    });
    try {
      const response = await fetch(`${sandbox.apiUrl}/usdc`);
      expect(response.status).toBe(200);
      const receipt = receiptOf(response);
      expect(receipt?.swap?.inputMint).toBe(sandbox.mints.BONK.address);
      expectNoSecret(wallet.address, wallet.secretKey, [
        receipt?.swap?.signature,
        receipt?.payment.payerSignature,
      ]);
    } finally {
      interceptor.restore();
      await interceptor.client.close();
    }
  });

  it.each([
    ['apiUrl', { apiUrl: 'http://pay.example.com' }],
    ['apiUrl', { apiUrl: 'https://pay.example.com/?key=1' }],
    ['apiUrl', { apiUrl: '' }],
    ['apiUrl', { apiUrl: 'https://pay.example.com', transport: local() }],
    ['timeouts.service', { apiUrl: 'https://pay.example.com', timeouts: { service: -1 } }],
  ])('refuses an invalid %s at once', async (option, wrong) => {
    const { secretKey: walletSecretKey } = await sandbox.createWallet();
    const refused = expect.objectContaining({
      code: 'invalid_option',
      details: { option },
    }) as Error;
    expect(() => createClient({ walletSecretKey, ...wrong })).toThrow(refused);
    expect(() => new HTTPInterceptor({ walletSecretKey, install: false, ...wrong })).toThrow(
      refused,
    );
  });
});
