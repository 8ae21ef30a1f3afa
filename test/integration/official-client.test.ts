import { createKeyPairSignerFromBytes, getBase58Encoder } from '@solana/kit';
import {
  decodePaymentRequiredHeader,
  decodePaymentResponseHeader,
  encodePaymentSignatureHeader,
} from '@x402/core/http';
import { PaymentRequiredV2Schema } from '@x402/core/schemas';
import { wrapFetchWithPayment, x402Client, x402HTTPClient } from '@x402/fetch';
import {
  appendPaymentIdentifierToExtensions,
  isPaymentIdentifierExtension,
} from '@x402/extensions/payment-identifier';
import { ExactSvmScheme } from '@x402/svm/exact/client';
import type { MintSymbol, Sandbox, SandboxWallet } from 'exact-change-sandbox';
import { beforeAll, describe, expect, it } from 'vitest';
import { useSandbox } from '../helpers/sandbox.js';

const MAINNET = 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp';

const sandbox = await useSandbox({ confirmationMs: 0 });
let buyer: SandboxWallet;
let pay: (input: RequestInfo | URL, init?: RequestInit) => Promise<Response>;

beforeAll(async () => {
  buyer = await sandbox.createWallet({ USDC: '50', USDT: '50', PYUSD: '50', BONK: '100000' });
  pay = wrapFetchWithPayment(fetch, await officialClient(sandbox, buyer));
});

async function officialClient(on: Sandbox, wallet: SandboxWallet): Promise<x402Client> {
  const signer = await createKeyPairSignerFromBytes(getBase58Encoder().encode(wallet.secretKey));
  return new x402Client()
    .register(MAINNET, new ExactSvmScheme(signer, { rpcUrl: on.rpcUrl }))
    .setSpendControls(false);
}

async function moved<T>(
  symbol: MintSymbol,
  action: () => Promise<T>,
): Promise<{ result: T; received: bigint; spent: bigint }> {
  const before = await Promise.all([
    sandbox.balance(sandbox.merchant, symbol),
    sandbox.balance(buyer.address, symbol),
  ]);
  const result = await action();
  const after = await Promise.all([
    sandbox.balance(sandbox.merchant, symbol),
    sandbox.balance(buyer.address, symbol),
  ]);
  return { result, received: after[0] - before[0], spent: before[1] - after[1] };
}

describe('the official client on the sandbox', () => {
  it.each([
    ['GET', '/usdc', 'USDC', 10_000n],
    ['POST', '/usdc', 'USDC', 10_000n],
    ['GET', '/usdt', 'USDT', 20_000n],
    ['GET', '/pyusd', 'PYUSD', 30_000n],
    ['POST', '/pyusd', 'PYUSD', 30_000n],
    ['GET', '/bonk', 'BONK', 123_456_789n],
    ['GET', '/any', 'PYUSD', 10_000n],
    ['GET', '/memo', 'USDC', 10_000n],
    ['GET', '/blockhash', 'USDC', 10_000n],
    ['GET', '/identified', 'USDC', 10_000n],
    ['GET', '/expensive', 'USDC', 2_500_000n],
    ['GET', '/slow', 'USDC', 10_000n],
  ] as const)('pays for %s %s exactly its price in %s', async (method, path, symbol, price) => {
    const {
      result: response,
      received,
      spent,
    } = await moved(symbol, () => pay(sandbox.apiUrl + path, { method }));
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ ok: true, path });
    expect([received, spent]).toEqual([price, price]);
    const settlement = decodePaymentResponseHeader(response.headers.get('payment-response') ?? '');
    expect(settlement).toMatchObject({ success: true, payer: buyer.address, network: MAINNET });
    expect(settlement.transaction).toMatch(/^[1-9A-HJ-NP-Za-km-z]{80,90}$/);
  });

  it('gets its JSON body back, and the sandbox records the call as settled', async () => {
    const body = { question: 'what is the time?', n: [1, 2] };
    const response = await pay(`${sandbox.apiUrl}/echo`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    expect(await response.json()).toMatchObject({ ok: true, method: 'POST', body });
    const last = sandbox.controls.api.served.at(-1);
    expect(last).toMatchObject({ url: '/echo', method: 'POST', body, status: 200, settled: true });
    expect(last?.paymentHeader).not.toBe('');
  });

  it('pays nothing for the free route', async () => {
    const { result, spent } = await moved('USDC', () => pay(`${sandbox.apiUrl}/free`));
    expect([result.status, spent]).toEqual([200, 0n]);
  });

  it('puts the memo of the seller on chain', async () => {
    const response = await pay(`${sandbox.apiUrl}/memo`);
    const { transaction } = decodePaymentResponseHeader(
      response.headers.get('payment-response') ?? '',
    );
    const call = {
      jsonrpc: '2.0',
      id: 1,
      method: 'getTransaction',
      params: [
        transaction,
        { maxSupportedTransactionVersion: 0, encoding: 'json', commitment: 'confirmed' },
      ],
    };
    const answer = await fetch(sandbox.rpcUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(call),
    });
    expect(await answer.text()).toContain('invoice 2041');
  });

  it('gets terms that the official schemas accept', async () => {
    for (const route of sandbox.routes) {
      const response = await fetch(sandbox.apiUrl + route.path, {
        method: route.methods[0] ?? 'GET',
      });
      expect(response.status).toBe(402);
      const terms = PaymentRequiredV2Schema.parse(
        decodePaymentRequiredHeader(response.headers.get('payment-required') ?? ''),
      );
      expect(terms.accepts.map((entry) => entry.amount)).toEqual(
        route.prices.map((price) => price.amount),
      );
      for (const entry of terms.accepts)
        expect(entry.extra).toMatchObject({ feePayer: sandbox.feePayer });
      expect(terms.accepts[0]?.extra?.['memo']).toBe(route.memo);
      expect(typeof terms.accepts[0]?.extra?.['recentBlockhash']).toBe(
        route.blockhash === true ? 'string' : 'undefined',
      );
      expect(isPaymentIdentifierExtension(terms.extensions?.['payment-identifier'])).toBe(
        route.identified === true,
      );
    }
  });

  it('is not charged if the handler answers 500', async () => {
    const { result, spent } = await moved('USDC', () => pay(`${sandbox.apiUrl}/fails`));
    expect([result.status, spent]).toEqual([500, 0n]);
    expect(sandbox.controls.api.served.at(-1)).toMatchObject({
      url: '/fails',
      status: 500,
      settled: false,
    });
  });

  it('is charged if the handler answers 303', async () => {
    const { result, spent } = await moved('USDC', () =>
      pay(`${sandbox.apiUrl}/redirects`, { redirect: 'manual' }),
    );
    expect([result.status, result.headers.get('location'), spent]).toEqual([303, '/free', 10_000n]);
  });

  it('gets 402 and pays nothing if the payee has no token account', async () => {
    const { result, spent } = await moved('USDC', () => pay(`${sandbox.apiUrl}/no-account`));
    expect([result.status, spent]).toEqual([402, 0n]);
    const terms = decodePaymentRequiredHeader(result.headers.get('payment-required') ?? '');
    expect(terms.error).toContain('simulation_failed');
  });

  it('pays nothing while the facilitator is down, and pays once it is back', async () => {
    await sandbox.controls.facilitator.stop();
    const refused = await moved('USDC', () => pay(`${sandbox.apiUrl}/usdc`));
    expect(refused.result.status).toBe(402);
    expect(refused.spent).toBe(0n);
    await sandbox.controls.facilitator.start();
    const paid = await moved('USDC', () => pay(`${sandbox.apiUrl}/usdc`));
    expect([paid.result.status, paid.spent]).toEqual([200, 10_000n]);
  });

  it('pays without an answer if the reply to its settlement is lost', async () => {
    sandbox.controls.facilitator.fault('/settle', { kind: 'dropAfter', times: 1 });
    const { result, received } = await moved('USDC', () => pay(`${sandbox.apiUrl}/usdc`));
    expect([result.ok, received]).toEqual([false, 10_000n]);
    sandbox.controls.facilitator.clearFaults();
  });

  it('gets the same answer for the same header, and 409 for another payment', async () => {
    const url = `${sandbox.apiUrl}/identified`;
    const id = 'order-0001-0001-0001';
    const identified = async (): Promise<string> => {
      const unpaid = await fetch(url);
      const client = new x402HTTPClient(await officialClient(sandbox, buyer));
      const payload = await client.createPaymentPayload(
        client.getPaymentRequiredResponse((name) => unpaid.headers.get(name)),
      );
      const extensions = appendPaymentIdentifierToExtensions({ ...payload.extensions }, id);
      return encodePaymentSignatureHeader({ ...payload, extensions });
    };
    const header = await identified();
    const call = (value: string): Promise<Response> =>
      fetch(url, { headers: { 'payment-signature': value } });
    const { result, received } = await moved('USDC', async () => {
      const first = await call(header);
      return { first, again: await call(header), other: await call(await identified()) };
    });
    expect([result.first.status, result.again.status, result.other.status]).toEqual([
      200, 200, 409,
    ]);
    expect(await result.again.json()).toEqual(await result.first.json());
    expect(result.again.headers.get('payment-response')).toBe(
      result.first.headers.get('payment-response'),
    );
    expect(received).toBe(10_000n);
  });

  it('can pay from a browser: CORS exposes the terms and allows the payment header', async () => {
    const preflight = await fetch(`${sandbox.apiUrl}/usdc`, {
      method: 'OPTIONS',
      headers: {
        origin: 'https://example.com',
        'access-control-request-method': 'GET',
        'access-control-request-headers': 'payment-signature',
      },
    });
    expect([preflight.status, preflight.headers.get('access-control-allow-headers')]).toEqual([
      204,
      'payment-signature',
    ]);
    const unpaid = await fetch(`${sandbox.apiUrl}/usdc`);
    expect(unpaid.headers.get('access-control-allow-origin')).toBe('*');
    expect(unpaid.headers.get('access-control-expose-headers')).toContain('PAYMENT-REQUIRED');
  });

  it('settles twenty payments at once', async () => {
    const { result, received } = await moved('USDC', () =>
      Promise.all(Array.from({ length: 20 }, () => pay(`${sandbox.apiUrl}/usdc`))),
    );
    expect(result.map((response) => response.status)).toEqual(
      Array.from({ length: 20 }, () => 200),
    );
    expect(received).toBe(200_000n);
  });
});
