import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { createKeyPairSignerFromBytes, getBase58Encoder } from '@solana/kit';
import { Keypair } from '@solana/web3.js';
import {
  memoryJournal,
  receiptOf,
  SOLANA_MAINNET,
  type ClientOptions,
  type Journal,
  type Receipt,
} from 'exact-change';
import type { MintSymbol, SandboxWallet } from 'exact-change-sandbox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startLegacySeller, type LegacySeller } from '../fixtures/legacy/seller.js';
import { listOf } from '../helpers/attempts.js';
import { tokenAmount, until } from '../helpers/chain.js';
import { clientOn, decided, kitSigner, recorded } from '../helpers/flow.js';
import { failureOf, payerOn } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';
import { paidOf, UNUSED, usedByCap } from '../helpers/worth.js';

const sandbox = await useSandbox({ confirmationMs: 20 });
let legacy: LegacySeller;

beforeAll(async () => {
  legacy = await startLegacySeller(sandbox, { facilitator: 'current' });
});
afterAll(async () => {
  await legacy.close();
});
const clientFor = (wallet: SandboxWallet, options?: ClientOptions) =>
  clientOn(sandbox, wallet, options);

const merchantHolds = (symbol: MintSymbol) =>
  tokenAmount(sandbox.rpcUrl, sandbox.merchant, sandbox.mints[symbol]);

// RPC methods that change nothing.
const READS = [
  'getMinimumBalanceForRentExemption',
  'getGenesisHash',
  'getMultipleAccounts',
  'getTokenAccountsByOwner',
  'getLatestBlockhash',
];

describe('a signer of another library', () => {
  it.each([
    [
      'a KeyPairSigner of @solana/kit',
      (secretKey: Uint8Array) => createKeyPairSignerFromBytes(secretKey),
    ],
    [
      'a Keypair of @solana/web3.js',
      async (secretKey: Uint8Array) => Keypair.fromSecretKey(secretKey),
    ],
  ])('pays: %s', async (_, signerOf) => {
    const wallet = await sandbox.createWallet({ USDC: '1' });
    const bytes = Uint8Array.from(getBase58Encoder().encode(wallet.secretKey));
    const signer = await signerOf(bytes);
    const client = clientFor(wallet, { walletSecretKey: undefined, signer });
    expect(client.address).toBe(wallet.address);
    const response = await client.fetch(`${sandbox.apiUrl}/usdc`);
    expect(response.status).toBe(200);
    expect((await decided(response)).state).toBe('settled');
  });
});

describe('client.plan', () => {
  it.each<[string, ClientOptions['policy'] & object]>([
    ['amount_over_limit', { maxPerPayment: '0.1' }],
    ['amount_over_limit', { limits: [{ usd: '0.1', per: 'payment' }] }],
    ['budget_exhausted', { maxPerDay: '0.1' }],
    ['budget_exhausted', { maxPerDay: '0.005' }],
    ['budget_exhausted', { maxPerHost: { '127.0.0.1': '0.1' } }],
    ['budget_exhausted', { limits: [{ swaps: 0, per: 'day' }] }],
    ['budget_exhausted', { maxLamportsPerDay: '1000' }],
    ['fees_over_limit', { maxFeeLamports: '1000' }],
  ])('throws %s, as fetch does, for the policy %j', async (code, policy) => {
    const payer = await payerOn(sandbox, { SOL: '1' }, { autoSwap: true, policy });
    const planned = await failureOf(payer.client.plan(`${sandbox.apiUrl}/usdc`));
    const called = await failureOf(payer.client.fetch(`${sandbox.apiUrl}/usdc`));
    expect([planned.code, called.code]).toEqual([code, code]);
    expect([payer.signed, (await payer.client.spent())[0]?.used]).toEqual([[], '0']);
  });

  it('plans a payment that the call makes though Jupiter fails to price SOL', async () => {
    const failing: typeof fetch = async (input, init) => {
      const { searchParams } = new URL(input instanceof Request ? input.url : input);
      return searchParams.get('inputMint') === sandbox.mints.SOL.address
        ? new Response('{}', { status: 500 })
        : fetch(input, init);
    };
    const policy = { maxInAmount: { USDT: '5000000' } };
    const funds = { SOL: '0.1', USDT: '5' };
    const payer = await payerOn(sandbox, funds, { autoSwap: true, policy, fetch: failing });
    const plan = await payer.client.plan(`${sandbox.apiUrl}/usdc`);
    expect(plan.swap?.inputMint).toBe(sandbox.mints.USDT.address);
    expect((await payer.client.fetch(`${sandbox.apiUrl}/usdc`)).status).toBe(200);
  });

  it('plans a payment that the call makes with a smaller swap', async () => {
    const policy = { maxPerPayment: '0.33' };
    const payer = await payerOn(sandbox, { SOL: '1' }, { autoSwap: true, policy });
    const plan = await payer.client.plan(`${sandbox.apiUrl}/usdc`);
    // The plan names the most; the call reserves less.
    expect(Number(plan.cost?.usd)).toBeGreaterThan(0.33);
    expect((await payer.client.fetch(`${sandbox.apiUrl}/usdc`)).status).toBe(200);
  });

  it('returns what fetch then does, and signs, reserves and sends nothing', async () => {
    const wallet = await sandbox.createWallet({ SOL: '0.5', BONK: '1000000' });
    const { signer, signed } = await kitSigner(wallet);
    const journal = memoryJournal();
    const client = clientFor(wallet, { walletSecretKey: undefined, signer, journal });
    const { node, api, facilitator } = sandbox.controls;
    for (const controls of [node, api, facilitator]) controls.resetCalls();
    const events = recorded(client);

    const plan = await client.plan(`${sandbox.apiUrl}/pyusd`);
    expect(plan).toMatchObject({
      url: `${sandbox.apiUrl}/pyusd`,
      method: 'GET',
      status: 402,
      payment: {
        x402Version: 2,
        mint: sandbox.mints.PYUSD.address,
        amount: '30000',
        decimals: 6,
        uiAmount: '0.03',
        usd: '0.03',
        payTo: sandbox.merchant,
        feePayer: sandbox.feePayer,
        available: '0',
      },
      swap: {
        inputMint: sandbox.mints.SOL.address,
        outputMint: sandbox.mints.PYUSD.address,
        platformFeeBps: 0,
      },
      refused: [],
      caps: [
        { cap: 'maxPerDay', used: '0', limit: '10' },
        { cap: 'maxLamportsPerDay', used: '0', limit: '50000000' },
      ],
    });
    expect(JSON.parse(JSON.stringify(plan))).toEqual(plan);
    expect(signed).toEqual([]);
    expect(events).toEqual([]);
    expect(
      Object.keys(node.callsByMethod('client')).filter((method) => !READS.includes(method)),
    ).toEqual([]);
    expect([api.calls(), facilitator.calls()]).toEqual([1, 0]);
    expect(
      await listOf(journal.attempts({ wallet: client.address, network: SOLANA_MAINNET })),
    ).toEqual([]);
    expect(await usedByCap(client)).toEqual(UNUSED);

    const receipt = await decided(await client.fetch(`${sandbox.apiUrl}/pyusd`));
    const { payment, swap } = plan;
    expect(receipt.payment).toMatchObject({
      mint: payment?.mint,
      amount: payment?.amount,
      decimals: payment?.decimals,
      payTo: payment?.payTo,
    });
    expect(receipt.cost.parts?.payments).toBe(payment?.usd);
    expect(receipt.swap).toMatchObject({
      inputMint: swap?.inputMint,
      outputMint: swap?.outputMint,
      inAmount: swap?.inAmount,
      outAmount: swap?.outAmount,
    });
    expect(BigInt(receipt.cost.networkFeeLamports)).toBeLessThanOrEqual(
      BigInt(plan.maxFeeLamports),
    );
    expect(plan.cost).toMatchObject({
      parts: { payments: payment?.usd },
      rentLamports: receipt.cost.rentLamports,
    });
    expect(Number(receipt.cost.usd)).toBeLessThanOrEqual(Number(plan.cost?.usd));
    expect(signed.map(({ kind }) => kind)).toEqual(['swap', 'payment']);
  });

  it('plans a call without a swap, a POST, a version 1 call and a free call', async () => {
    const client = clientFor(await sandbox.createWallet({ USDC: '1' }));
    const held = await client.plan(`${sandbox.apiUrl}/usdc`);
    expect(held).toMatchObject({
      payment: { amount: '10000', available: '1000000' },
      maxFeeLamports: '0',
    });
    expect(held.swap).toBeUndefined();
    const body = {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"a":1}',
    };
    expect(await client.plan(`${sandbox.apiUrl}/echo`, body)).toMatchObject({
      method: 'POST',
      payment: { amount: '10000' },
    });
    expect(await client.plan(`${legacy.url}/usdc`)).toMatchObject({
      payment: { x402Version: 1, amount: '10000' },
    });
    const free = await client.plan(`${sandbox.apiUrl}/free`);
    expect(free).toMatchObject({ status: 200, refused: [] });
    expect([free.payment, free.cost]).toEqual([undefined, undefined]);
  });

  it.each([
    ['/expensive', { SOL: '0.5' }, 'amount_over_limit'],
    ['/usdc', { SOL: '0.001' }, 'insufficient_funds'],
    ['/no-account', { USDC: '1' }, 'payee_account_missing'],
  ] as const)('rejects for %s with the error of fetch', async (path, funds, code) => {
    const client = clientFor(await sandbox.createWallet(funds));
    await expect(client.plan(sandbox.apiUrl + path)).rejects.toMatchObject({
      code,
      funds: 'untouched',
      moved: [],
    });
    await expect(client.fetch(sandbox.apiUrl + path)).rejects.toMatchObject({
      code,
      funds: 'untouched',
      moved: [],
    });
  });
});

describe('client.pay', () => {
  it.each([
    ['version 2', () => `${sandbox.apiUrl}/usdc`, 'PAYMENT-SIGNATURE'],
    ['version 1', () => `${legacy.url}/usdc`, 'X-PAYMENT'],
  ])(
    'makes a header that the official server of %s accepts, after a swap',
    async (_, url, name) => {
      const client = clientFor(await sandbox.createWallet({ SOL: '0.5' }));
      const unpaid = await fetch(url());
      const before = await merchantHolds('USDC');
      const { header, receipt } = await client.pay(unpaid);
      expect(header.name).toBe(name);
      expect(receipt).toMatchObject({
        state: 'pending',
        url: url(),
        payment: { amount: '10000', payTo: sandbox.merchant },
      });
      expect(unpaid.bodyUsed).toBe(false);
      const paid = await fetch(url(), { headers: { [header.name]: header.value } });
      expect(paid.status).toBe(200);
      const settled = await until(
        'its receipt is settled',
        async () => (await listOf(client.receipts({ state: 'settled' })))[0],
      );
      expect(settled.payment.payerSignature).toBe(receipt.payment.payerSignature);
      expect((await merchantHolds('USDC')) - before).toBe(10_000n);
      expect(await paidOf(client)).toBe('0.01');
    },
  );

  it('accepts parsed terms, and needs the url option when the terms have no URL', async () => {
    const client = clientFor(await sandbox.createWallet({ USDC: '1' }));
    const terms = await client.parse(await fetch(`${sandbox.apiUrl}/usdc`));
    if (terms === undefined) throw new Error('No terms were found.');
    const { header } = await client.pay(terms);
    expect(
      (await fetch(`${sandbox.apiUrl}/usdc`, { headers: { [header.name]: header.value } })).status,
    ).toBe(200);
    const { url: _url, ...withoutUrl } = terms;
    await expect(client.pay(withoutUrl)).rejects.toMatchObject({
      code: 'invalid_option',
      details: { option: 'url' },
    });
    const again = await client.pay(withoutUrl, { url: `${sandbox.apiUrl}/usdc` });
    expect(again.header.value).not.toBe(header.value);
  });

  it('refuses a response that is no 402', async () => {
    const client = clientFor(await sandbox.createWallet({ USDC: '1' }));
    await expect(client.pay(await fetch(`${sandbox.apiUrl}/free`))).rejects.toMatchObject({
      code: 'malformed_payment_required',
      funds: 'untouched',
    });
  });
});

describe('client.parse', () => {
  it('returns the terms and leaves the response unread', async () => {
    const client = clientFor(await sandbox.createWallet());
    const unpaid = await fetch(`${sandbox.apiUrl}/any`);
    const terms = await client.parse(unpaid);
    expect(terms).toMatchObject({ x402Version: 2, url: `${sandbox.apiUrl}/any` });
    expect(terms?.accepts.map((offer) => offer['asset'])).toEqual(
      ['PYUSD', 'USDT', 'USDC', 'BONK'].map(
        (symbol) => sandbox.mints[symbol as MintSymbol].address,
      ),
    );
    expect(unpaid.bodyUsed).toBe(false);
    expect(await unpaid.json()).toEqual({});
    expect(await client.parse(await fetch(`${legacy.url}/usdc`))).toMatchObject({ x402Version: 1 });
    expect(await client.parse(await fetch(`${sandbox.apiUrl}/free`))).toBeUndefined();
  });
});

describe('client.receipts and client.spent', () => {
  it('list payments by state, and the use of each cap', async () => {
    const wallet = await sandbox.createWallet({ USDC: '1', USDT: '1' });
    const host = new URL(sandbox.apiUrl).host;
    const client = clientFor(wallet, {
      policy: { maxPerHost: { [host]: '0.50', 'api.example.com': '1' } },
    });
    const settled = await decided(await client.fetch(`${sandbox.apiUrl}/usdc`));
    await decided(await client.fetch(`${sandbox.apiUrl}/usdt`));
    // The handler fails, so the server does not settle the payment, which expires.
    const failed = await client.fetch(`${sandbox.apiUrl}/fails`);
    const parts = (payments: string) => ({ payments, swaps: '0', fees: '0' });
    expect(failed.status).toBe(500);
    expect(await client.spent()).toEqual([
      {
        cap: 'maxPerDay',
        limit: '10',
        used: '0.04',
        parts: parts('0.04'),
        unit: 'USD',
        windowMs: 86_400_000,
      },
      {
        cap: `maxPerHost['${host}']`,
        host,
        limit: '0.5',
        used: '0.04',
        parts: parts('0.04'),
        unit: 'USD',
        windowMs: 86_400_000,
      },
      {
        cap: "maxPerHost['api.example.com']",
        host: 'api.example.com',
        limit: '1',
        used: '0',
        parts: parts('0'),
        unit: 'USD',
        windowMs: 86_400_000,
      },
      {
        cap: 'maxLamportsPerDay',
        limit: '50000000',
        used: '0',
        unit: 'lamports',
        windowMs: 86_400_000,
      },
    ]);
    sandbox.controls.node.warp();
    const unsettled = await decided(failed);
    expect(unsettled.state).toBe('unsettled');
    expect(unsettled.payment.signature).toBeUndefined();

    const receipts = await listOf(client.receipts());
    expect(receipts.map(({ url, state }) => [new URL(url).pathname, state])).toEqual([
      ['/usdc', 'settled'],
      ['/usdt', 'settled'],
      ['/fails', 'unsettled'],
    ]);
    expect(receipts[0]).toEqual(settled);
    expect(await listOf(client.receipts({ state: 'unsettled' }))).toEqual([unsettled]);
    expect(await listOf(client.receipts({ state: 'pending' }))).toEqual([]);
    expect(JSON.parse(JSON.stringify(receipts))).toEqual(receipts);
    // A payment that can never land does not count.
    expect((await client.spent()).map(({ used }) => used)).toEqual(['0.03', '0.03', '0', '0']);
    expect(await sandbox.balance(wallet.address, 'USDC')).toBe(990_000n);
  });
});

describe('the events of a call', () => {
  it('name every step of a call with a swap, in order, under one id', async () => {
    const client = clientFor(await sandbox.createWallet({ SOL: '0.5' }));
    const events = recorded(client);
    const confirmed: string[] = [];
    const stop = client.on('swap.confirmed', ({ signature }) => confirmed.push(signature));
    client.on('payment.sent', () => {
      throw new Error('a listener of the caller that fails');
    });
    const response = await client.fetch(`${sandbox.apiUrl}/usdc`);
    const receipt = await decided(response);
    expect(events.map(({ type }) => type)).toEqual([
      'payment.required',
      'payment.chosen',
      'balance.checked',
      'swap.quoted',
      'swap.signed',
      'swap.confirmed',
      'payment.signed',
      'payment.sent',
      'payment.answered',
      'payment.settled',
    ]);
    expect(new Set(events.map(({ id }) => id))).toEqual(new Set([receipt.id]));
    expect(events.map(({ at }) => at)).toEqual(
      [...events.map(({ at }) => at)].sort((a, b) => a - b),
    );
    expect(JSON.parse(JSON.stringify(events))).toEqual(events);
    expect(events[2]).toMatchObject({
      mint: sandbox.mints.USDC.address,
      available: '0',
      required: '10000',
      missing: '10000',
    });
    expect(events[5]).toMatchObject({
      ...omitProvider(receipt.swap),
      feeLamports: receipt.cost.networkFeeLamports,
    });
    expect(events[9]).toMatchObject({ receipt });
    expect(confirmed).toEqual([receipt.swap?.signature]);

    stop();
    await decided(await client.fetch(`${sandbox.apiUrl}/usdc`));
    expect(events.slice(10).map(({ type }) => type)).toEqual([
      'payment.required',
      'payment.chosen',
      'balance.checked',
      'payment.signed',
      'payment.sent',
      'payment.answered',
      'payment.settled',
    ]);
    expect(new Set(events.map(({ id }) => id)).size).toBe(2);
  });

  it('name the error of a call that was not paid', async () => {
    const client = clientFor(await sandbox.createWallet({ SOL: '0.5' }));
    const events = recorded(client);
    await expect(client.fetch(`${sandbox.apiUrl}/expensive`)).rejects.toMatchObject({
      code: 'amount_over_limit',
    });
    expect(events.map(({ type }) => type)).toEqual(['payment.required', 'payment.failed']);
    expect(events[1]).toMatchObject({ code: 'amount_over_limit', funds: 'untouched' });
  });
});

function omitProvider(swap: Receipt['swap']): object {
  const { provider: _provider, ...rest } = swap ?? { provider: '' };
  return rest;
}

describe('the journal of a call', () => {
  it('records the attempt before each signature and before each request', async () => {
    const wallet = await sandbox.createWallet({ SOL: '0.5' });
    const { signer, signed } = await kitSigner(wallet);
    const inner = memoryJournal();
    const steps: string[] = [];
    const served = () => sandbox.controls.api.served.length;
    const before = served();
    const journal: Journal = {
      ...inner,
      reserve: (attempt, caps) => {
        steps.push(`reserve ${attempt.state}, ${signed.length} signed`);
        return inner.reserve(attempt, caps);
      },
      raise: (attempt, caps) => {
        steps.push(`raise ${attempt.state}, ${signed.length} signed`);
        return inner.raise(attempt, caps);
      },
      put: (attempt) => {
        const parts = [
          attempt.swap === undefined ? '' : 'swap',
          attempt.payment === undefined ? '' : 'payment',
        ].filter((part) => part !== '');
        steps.push(
          `put ${attempt.state} with ${parts.join(' and ')}, ${signed.length} signed, ${served() - before} served, delivered ${String(attempt.delivered)}`,
        );
        return inner.put(attempt);
      },
    };
    const client = clientFor(wallet, { walletSecretKey: undefined, signer, journal });
    const response = await client.fetch(`${sandbox.apiUrl}/usdc`);
    await response.text();
    const receipt = await decided(response);
    expect(steps).toEqual([
      'reserve reserved, 0 signed',
      // The first raise adds the bound of the swap's quote, the second the bound of its guard.
      'raise reserved, 0 signed',
      'raise reserved, 0 signed',
      'put reserved with swap, 1 signed, 0 served, delivered false',
      'put signed with swap and payment, 2 signed, 0 served, delivered false',
      'put signed with swap and payment, 2 signed, 1 served, delivered true',
      'put settled with swap and payment, 2 signed, 1 served, delivered true',
    ]);
    const [attempt, ...others] = await listOf(
      inner.attempts({ wallet: wallet.address, network: SOLANA_MAINNET }),
    );
    expect(others).toEqual([]);
    expect(attempt).toMatchObject({
      id: receipt.id,
      state: 'settled',
      microUsd: '10000',
      receipt,
      swap: { signature: receipt.swap?.signature },
    });
    expect(JSON.parse(JSON.stringify(attempt))).toEqual(attempt);
  });
});

describe('client.close', () => {
  it('lets the process end while a payment is open', async () => {
    const wallet = await sandbox.createWallet({ SOL: '0.5' });
    const child = spawn(
      process.execPath,
      ['--import', 'tsx', fileURLToPath(new URL('./flow-close.child.ts', import.meta.url))],
      {
        env: {
          ...process.env,
          SECRET: wallet.secretKey,
          RPC: sandbox.rpcUrl,
          JUPITER: sandbox.jupiterUrl,
          API: sandbox.apiUrl,
        },
      },
    );
    let out = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (data: Buffer) => (out += data.toString()));
    const code = await new Promise((resolve) => child.on('close', resolve));
    expect([code, out]).toEqual([0, '500 uncertain']);
  });
});

it('ties no receipt to a response of another fetch', async () => {
  expect(receiptOf(await fetch(`${sandbox.apiUrl}/usdc`))).toBeUndefined();
});
