import {
  HTTPInterceptor,
  receiptOf,
  type ClientEvent,
  type InterceptorOptions,
} from 'exact-change';
import type { SandboxWallet } from 'exact-change-sandbox';
import ky, { HTTPError } from 'ky';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { tokenAmount } from '../helpers/chain.js';
import { startSeller, type Seller } from '../helpers/flow-seller.js';
import { decided, onSandbox } from '../helpers/flow.js';
import { useSandbox } from '../helpers/sandbox.js';

type Fetch = typeof globalThis.fetch;

const plain: Fetch = globalThis.fetch;
const sandbox = await useSandbox({ confirmationMs: 20 });
let seller: Seller;
let interceptors: HTTPInterceptor[] = [];
let events: ClientEvent[] = [];

beforeAll(async () => {
  seller = await startSeller(sandbox, { '/broken/usdc': [{ symbol: 'USDC', amount: '10000' }] });
});
afterAll(async () => {
  await seller.close();
});
afterEach(async () => {
  for (const interceptor of interceptors) interceptor.restore();
  await Promise.all(interceptors.map(({ client }) => client.close()));
  const left = globalThis.fetch;
  globalThis.fetch = plain;
  [interceptors, events] = [[], []];
  // After each test the global fetch must be the original again.
  expect(left).toBe(plain);
});

function intercept(wallet: SandboxWallet, more: InterceptorOptions = {}): HTTPInterceptor {
  const interceptor = new HTTPInterceptor(onSandbox(sandbox, wallet, more));
  interceptors.push(interceptor);
  interceptor.client.on('*', (event) => events.push(event));
  return interceptor;
}

const usdc = () => `${sandbox.apiUrl}/usdc`;
const merchantHolds = () => tokenAmount(sandbox.rpcUrl, sandbox.merchant, sandbox.mints.USDC);
const signedPayments = () => events.filter(({ type }) => type === 'payment.signed').length;
/** The headers of all payments that reached a seller. */
const presented = () =>
  [...sandbox.controls.api.served, ...seller.sales].map(({ paymentHeader }) => paymentHeader);

/** Returns the amount that the merchant receives during `work`. */
async function received(work: () => Promise<unknown>): Promise<bigint> {
  const before = await merchantHolds();
  await work();
  return (await merchantHolds()) - before;
}

/** Expects that a call of the global fetch makes one payment. */
async function expectPaid(): Promise<void> {
  const amount = await received(async () => {
    const response = await fetch(usdc());
    expect(response.status).toBe(200);
    await decided(response);
  });
  expect(amount).toBe(10_000n);
}

async function expectUnpaid(): Promise<void> {
  const response = await fetch(usdc());
  expect(response.status).toBe(402);
  expect(receiptOf(response)).toBeUndefined();
}

describe('HTTPInterceptor', () => {
  it('makes the global fetch pay, as in the first example of the README', async () => {
    const { secretKey } = await sandbox.createWallet({ SOL: '0.5', BONK: '1000000' });
    process.env['WALLET_SECRET_KEY'] = secretKey;
    interceptors.push(
      new HTTPInterceptor({
        walletSecretKey: process.env['WALLET_SECRET_KEY'],
        autoSwap: true,
        rpcUrl: sandbox.rpcUrl,
        jupiterUrl: sandbox.jupiterUrl,
      }),
    );
    delete process.env['WALLET_SECRET_KEY'];
    const res = await fetch(`${sandbox.apiUrl}/pyusd`);
    expect(res.status).toBe(200);
    expect(await res.json()).toMatchObject({ ok: true, path: '/pyusd' });
    expect((await decided(res)).state).toBe('settled');
  });

  it('changes the global fetch only between install() and restore()', async () => {
    const wallet = await sandbox.createWallet({ USDC: '1' });
    const interceptor = intercept(wallet, { install: false });
    expect(globalThis.fetch).toBe(plain);
    await expectUnpaid();
    expect(await received(async () => decided(await interceptor.fetch(usdc())))).toBe(10_000n);
    interceptor.install();
    expect(globalThis.fetch).not.toBe(plain);
    await expectPaid();
    interceptor.restore();
    expect(globalThis.fetch).toBe(plain);
    await expectUnpaid();
    interceptor.install();
    await expectPaid();
    interceptor[Symbol.dispose]();
    expect(globalThis.fetch).toBe(plain);
  });

  it('pays once when several interceptors of two wallets are installed', async () => {
    const [first, second] = await Promise.all([
      sandbox.createWallet({ USDC: '1' }),
      sandbox.createWallet({ USDC: '1' }),
    ]);
    intercept(first);
    intercept(first);
    intercept(second);
    await expectPaid();
    expect(signedPayments()).toBe(1);
    expect(
      (await sandbox.balance(first.address, 'USDC')) +
        (await sandbox.balance(second.address, 'USDC')),
    ).toBe(1_990_000n);
  });

  it('asks policy.approve once when another interceptor wraps it', async () => {
    const [first, second] = await Promise.all([
      sandbox.createWallet({ USDC: '1' }),
      sandbox.createWallet({ USDC: '1' }),
    ]);
    let asked = 0;
    intercept(first, { policy: { approve: () => (asked += 1) < 0 } });
    intercept(second);
    await expect(fetch(usdc())).rejects.toMatchObject({ code: 'approval_refused' });
    expect(asked).toBe(1);
  });

  it('pays for no plan of another client', async () => {
    const [first, second] = await Promise.all([
      sandbox.createWallet({ USDC: '1' }),
      sandbox.createWallet({ USDC: '1' }),
    ]);
    intercept(first);
    const { client } = intercept(second);
    const body = new FormData();
    body.set('form', 'one');
    const plans = await Promise.all([
      client.plan(usdc()),
      client.plan(new Request(usdc()), { headers: { accept: '*/*' } }),
      client.plan(usdc(), { method: 'POST', body }),
    ]);
    expect(plans.map(({ payment }) => payment?.amount)).toEqual(['10000', '10000', '10000']);
    expect(signedPayments()).toBe(0);
  });
});

describe('another library that wraps fetch after the interceptor', () => {
  /** A wrapper as tracing libraries make them. */
  function wrap(): { readonly calls: string[]; readonly own: Fetch; unwrap(): void } {
    const below = globalThis.fetch;
    const calls: string[] = [];
    const own: Fetch = (input, init) => {
      calls.push(input instanceof Request ? input.url : String(input));
      return below(input, init);
    };
    globalThis.fetch = own;
    return { calls, own, unwrap: () => (globalThis.fetch = below) };
  }

  it('stays after restore(), and then gets the answers of plain fetch', async () => {
    const interceptor = intercept(await sandbox.createWallet({ USDC: '1' }));
    const other = wrap();
    await expectPaid();
    // The other library sees the call, but not the payment and the RPC requests, which use the
    // fetch below it. (The services of the sandbox use the global fetch too.)
    expect(other.calls.filter((url) => url === usdc() || url.includes('caller=client'))).toEqual([
      usdc(),
    ]);
    interceptor.restore();
    expect(globalThis.fetch).toBe(other.own);
    await expectUnpaid();
    expect(other.calls.filter((url) => url === usdc())).toHaveLength(2);
    other.unwrap();
    await expectUnpaid();
    interceptor.restore();
    expect(globalThis.fetch).toBe(plain);
  });
});

describe('a library that repeats failed calls', () => {
  const retrying = () => ky.create({ retry: { limit: 3, delay: () => 0 } });

  it('pays once for a call that succeeds', async () => {
    intercept(await sandbox.createWallet({ USDC: '1' }));
    const amount = await received(async () => decided(await retrying().get(usdc())));
    expect([amount, signedPayments()]).toEqual([10_000n, 1]);
  });

  it('presents one payment again when the seller answers 500 and settles nothing', async () => {
    intercept(await sandbox.createWallet({ USDC: '1' }));
    const before = presented().length;
    const amount = await received(() =>
      expect(retrying().get(`${sandbox.apiUrl}/fails`)).rejects.toBeInstanceOf(HTTPError),
    );
    const seen = presented().slice(before);
    expect(seen).toHaveLength(4);
    expect(new Set(seen).size).toBe(1);
    expect([amount, signedPayments()]).toEqual([0n, 1]);
  });

  it.each([{}, { 'idempotency-key': 'order-1' }])(
    'pays once when the seller settles and answers 500 (headers %j)',
    async (headers) => {
      intercept(await sandbox.createWallet({ USDC: '1' }));
      const before = presented().length;
      const amount = await received(() =>
        expect(retrying().get(`${seller.url}/broken/usdc`, { headers })).rejects.toMatchObject({
          code: 'already_spent',
          funds: 'spent',
          moved: [{ kind: 'payment' }],
        }),
      );
      expect([amount, signedPayments(), presented().length - before]).toEqual([10_000n, 1, 1]);
    },
  );

  it('does not send a failed POST again unless its idempotency key is new', async () => {
    intercept(await sandbox.createWallet({ USDC: '1' }));
    const call = (key?: string) =>
      fetch(`${sandbox.apiUrl}/fails`, {
        method: 'POST',
        body: '{}',
        ...(key === undefined ? {} : { headers: { 'idempotency-key': key } }),
      });
    expect((await call()).status).toBe(500);
    await expect(call()).rejects.toMatchObject({ code: 'payment_uncertain', funds: 'uncertain' });
    expect(signedPayments()).toBe(1);
    expect((await call('another')).status).toBe(500);
    expect(signedPayments()).toBe(2);
  });
});
