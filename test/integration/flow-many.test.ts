import { memoryJournal, receiptOf, type Client, type ClientOptions } from 'exact-change';
import type { MintSymbol, SandboxWallet } from 'exact-change-sandbox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startLegacySeller, type LegacySeller } from '../fixtures/legacy/seller.js';
import { signaturesOf, tokenAccount, tokenAmount, until } from '../helpers/chain.js';
import { arrivingTogether, clientOn, decided, recorded } from '../helpers/flow.js';
import { useSandbox } from '../helpers/sandbox.js';
import { paidOf } from '../helpers/worth.js';

const sandbox = await useSandbox({ confirmationMs: 20 });
let legacy: LegacySeller;

beforeAll(async () => {
  legacy = await startLegacySeller(sandbox, { facilitator: 'legacy' });
});
afterAll(async () => {
  await legacy.close();
});
const clientFor = (wallet: SandboxWallet, options?: ClientOptions) =>
  clientOn(sandbox, wallet, options);

const merchantHolds = (symbol: MintSymbol) =>
  tokenAmount(sandbox.rpcUrl, sandbox.merchant, sandbox.mints[symbol]);

/** Counts the RPC requests of a call until the client presents its payment. */
async function callsBeforePresenting(client: Client, url: string): Promise<Record<string, number>> {
  const { node } = sandbox.controls;
  let calls: Record<string, number> | undefined;
  const stop = client.on('payment.sent', () => (calls = node.callsByMethod('client')));
  node.resetCalls();
  const response = await client.fetch(url);
  stop();
  expect(response.status).toBe(200);
  // Wait for the background work of this payment, so that it does not count for the next call.
  await decided(response);
  if (calls === undefined) throw new Error('Nothing was presented.');
  return calls;
}

const total = (calls: Record<string, number>) =>
  Object.values(calls).reduce((sum, count) => sum + count, 0);

describe('a wallet that holds the token', () => {
  it('pays without a swap, with one balance read when cold and none when warm', async () => {
    const wallet = await sandbox.createWallet({ USDC: '1' });
    const client = clientFor(wallet);
    const events = recorded(client);
    sandbox.controls.aggregator.resetCalls();
    const cold = await callsBeforePresenting(client, `${sandbox.apiUrl}/usdc`);
    const { getLatestBlockhash: coldHashes = 0, ...coldOthers } = cold;
    expect(coldOthers).toEqual({ getGenesisHash: 1, getMultipleAccounts: 1, getEpochInfo: 1 });
    // On a busy machine the first blockhash may be old by the signature.
    expect([1, 2]).toContain(coldHashes);
    for (let call = 0; call < 2; call += 1) {
      const { getLatestBlockhash: hashes = 0, ...others } = await callsBeforePresenting(
        client,
        `${sandbox.apiUrl}/usdc`,
      );
      expect(others).toEqual({});
      expect(hashes).toBeLessThanOrEqual(2);
    }
    expect(sandbox.controls.aggregator.calls()).toBe(0);
    expect(events.filter(({ type }) => type.startsWith('swap'))).toEqual([]);
    expect(await sandbox.balance(wallet.address, 'USDC')).toBe(1_000_000n - 30_000n);
  });

  it.each(['/usdc', '/usdt', '/pyusd'])(
    'pays %s after warm() with the few requests of a later call',
    async (path) => {
      const wallet = await sandbox.createWallet({ USDC: '1', USDT: '1', PYUSD: '1' });
      const client = clientFor(wallet);
      await client.warm();
      const read: unknown[] = [];
      sandbox.controls.node.intercept = (method, params, next) => {
        if (method === 'getMultipleAccounts') read.push(params);
        return next();
      };
      const calls = await callsBeforePresenting(client, sandbox.apiUrl + path);
      sandbox.controls.node.intercept = undefined;
      // The client may read the payee's account, but no account of the wallet.
      for (const symbol of ['USDC', 'USDT', 'PYUSD'] as const)
        expect(JSON.stringify(read)).not.toContain(
          await tokenAccount(wallet.address, sandbox.mints[symbol]),
        );
      // On a busy machine the blockhash may be old by the call, and again by the signature.
      const { getLatestBlockhash: hashes = 0, ...others } = calls;
      expect(others['getGenesisHash']).toBeUndefined();
      expect([hashes <= 2, total(others) <= 1]).toEqual([true, true]);
    },
  );
});

describe('several calls of one wallet', () => {
  it('pay three prices in three tokens in parallel', async () => {
    const wallet = await sandbox.createWallet({ SOL: '0.5', BONK: '1000000' });
    const client = clientFor(wallet);
    const wanted = [
      ['/usdc', 'USDC', 10_000n],
      ['/usdt', 'USDT', 20_000n],
      ['/pyusd', 'PYUSD', 30_000n],
    ] as const;
    const before = await Promise.all(wanted.map(([, symbol]) => merchantHolds(symbol)));
    const responses = await Promise.all(
      wanted.map(([path]) => client.fetch(sandbox.apiUrl + path)),
    );
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200]);
    const receipts = await Promise.all(responses.map(decided));
    expect(receipts.map(({ state }) => state)).toEqual(['settled', 'settled', 'settled']);
    expect(receipts.map(({ swap }) => swap?.outputMint)).toEqual(
      wanted.map(([, symbol]) => sandbox.mints[symbol].address),
    );
    const after = await Promise.all(wanted.map(([, symbol]) => merchantHolds(symbol)));
    expect(after.map((amount, index) => amount - (before[index] ?? 0n))).toEqual(
      wanted.map(([, , price]) => price),
    );
  });

  it('make one swap for four calls in sequence', async () => {
    const wallet = await sandbox.createWallet({ SOL: '0.5', BONK: '1000000' });
    const client = clientFor(wallet, { policy: { minSwap: '0.04' } });
    const events = recorded(client);
    const before = await merchantHolds('USDC');
    for (let call = 0; call < 4; call += 1) {
      const response = await client.fetch(`${sandbox.apiUrl}/usdc`);
      expect(response.status).toBe(200);
      await decided(response);
    }
    expect(events.filter(({ type }) => type === 'swap.signed')).toHaveLength(1);
    expect((await merchantHolds('USDC')) - before).toBe(40_000n);
  });

  it('make one swap for ten parallel calls, and settle in ten transactions', async () => {
    const wallet = await sandbox.createWallet({ SOL: '0.5', BONK: '1000000' });
    const client = clientFor(wallet, { fetch: arrivingTogether(10) });
    const events = recorded(client);
    const before = await merchantHolds('USDC');
    const responses = await Promise.all(
      Array.from({ length: 10 }, () => client.fetch(`${sandbox.apiUrl}/usdc`)),
    );
    expect(responses.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200));
    const receipts = await Promise.all(responses.map(decided));
    expect(new Set(receipts.map(({ payment }) => payment.signature)).size).toBe(10);
    expect((await merchantHolds('USDC')) - before).toBe(100_000n);
    expect(events.filter(({ type }) => type === 'swap.signed')).toHaveLength(1);
    expect(receipts.filter(({ swap }) => swap !== undefined)).toHaveLength(1);
    // The chain has one swap and ten payments.
    expect(
      await signaturesOf(sandbox.rpcUrl, await tokenAccount(wallet.address, sandbox.mints.USDC)),
    ).toHaveLength(11);
  });

  it.each([
    ['a version 1 seller without memos', () => `${legacy.url}/usdc`],
    ['a seller with a fixed memo', () => `${sandbox.apiUrl}/memo`],
    ['a seller that sets the blockhash', () => `${sandbox.apiUrl}/blockhash`],
  ] as const)('settle four equal parallel payments, for %s', async (_, url) => {
    const wallet = await sandbox.createWallet({ USDC: '1' });
    const client = clientFor(wallet);
    const before = await merchantHolds('USDC');
    const responses = await Promise.all(Array.from({ length: 4 }, () => client.fetch(url())));
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    const receipts = await Promise.all(responses.map(decided));
    expect(receipts.every(({ state }) => state === 'settled')).toBe(true);
    expect(new Set(receipts.map(({ payment }) => payment.signature)).size).toBe(4);
    expect((await merchantHolds('USDC')) - before).toBe(40_000n);
  });
});

describe('a call that its caller aborts', () => {
  it.each([
    'payment.required',
    'balance.checked',
    'swap.quoted',
    'swap.signed',
    'swap.confirmed',
    'payment.signed',
  ] as const)('leaves its tokens, swap and payment to the next call at %s', async (step) => {
    const client = clientFor(await sandbox.createWallet({ SOL: '0.5', USDC: '0' }), {
      policy: { minSwap: '0.01', maxPerDay: '0.015' },
    });
    const events = recorded(client);
    const controller = new AbortController();
    const reason = new Error('not wanted any more');
    const stop = client.on(step, () => controller.abort(reason));
    await expect(
      client.fetch(`${sandbox.apiUrl}/usdc`, { signal: controller.signal }),
    ).rejects.toBe(reason);
    stop();
    const seen = (type: string) => events.filter((event) => event.type === type).length;
    // The client follows a signed swap to its end.
    if (seen('swap.signed') > 0)
      await until('the swap is confirmed', () => (seen('swap.confirmed') > 0 ? true : undefined));
    // A signed payment counts until it settles or can no longer land.
    expect(await paidOf(client)).toBe(step === 'payment.signed' ? '0.01' : '0');
    const response = await client.fetch(`${sandbox.apiUrl}/usdc`);
    expect((await decided(response)).state).toBe('settled');
    expect([seen('swap.signed'), seen('payment.signed'), seen('payment.settled')]).toEqual([
      1, 1, 1,
    ]);
    expect(await paidOf(client)).toBe('0.01');
  });
});

describe('two clients of one wallet', () => {
  it('share balances, so neither spends tokens that the other holds', async () => {
    const wallet = await sandbox.createWallet({ USDC: '0.05' });
    const [first, second] = [
      clientFor(wallet, { autoSwap: false }),
      clientFor(wallet, { autoSwap: false }),
    ];
    const calls = Array.from({ length: 8 }, (_, call) =>
      (call % 2 === 0 ? first : second).fetch(`${sandbox.apiUrl}/usdc`),
    );
    const settled = await Promise.allSettled(calls);
    const paid = settled.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    const refused = settled.flatMap((result) =>
      result.status === 'rejected' ? [result.reason as unknown] : [],
    );
    expect(paid.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect(refused).toHaveLength(3);
    for (const error of refused)
      expect(error).toMatchObject({ code: 'insufficient_funds', funds: 'untouched', moved: [] });
    await Promise.all(paid.map(decided));
    expect(await sandbox.balance(wallet.address, 'USDC')).toBe(0n);
  });

  it('have separate budgets when their journals are separate', async () => {
    const wallet = await sandbox.createWallet({ USDC: '1' });
    const policy = { maxPerDay: '0.01' };
    const separate = [memoryJournal(), memoryJournal()].map((journal) =>
      clientFor(wallet, { policy, journal }),
    );
    for (const client of separate) {
      const response = await client.fetch(`${sandbox.apiUrl}/usdc`);
      expect(receiptOf(response)?.payment.amount).toBe('10000');
      await expect(client.fetch(`${sandbox.apiUrl}/usdc`)).rejects.toMatchObject({
        code: 'budget_exhausted',
      });
    }
  });
});

describe('forty parallel calls with a cap below the cost of one swap for all', () => {
  it('share smaller swaps, because each swap costs a fee', async () => {
    const wallet = await sandbox.createWallet({ SOL: '0.5', USDC: '0.000001' });
    const policy = { maxPerDay: '0.41', minSwap: '4.00' };
    const client = clientFor(wallet, { policy, journal: memoryJournal() });
    const events = recorded(client);
    const answers = await Promise.allSettled(
      Array.from({ length: 40 }, (_, call) => client.fetch(`${sandbox.apiUrl}/usdc?call=${call}`)),
    );
    const paid = answers.filter(({ status }) => status === 'fulfilled').length;
    const swaps = events.filter(({ type }) => type === 'swap.confirmed').length;
    expect(paid).toBeGreaterThanOrEqual(30);
    expect(swaps).toBeLessThanOrEqual(paid / 4);
    for (const answer of answers)
      if (answer.status === 'rejected')
        expect(answer.reason).toMatchObject({ code: 'budget_exhausted', funds: 'untouched' });
  });
});
