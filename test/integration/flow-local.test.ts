import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  local,
  type AutoPayRequest,
  type PaymentResponseParts,
  type Transport,
} from 'exact-change';
import type { MintSymbol } from 'exact-change-sandbox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startLegacySeller, type LegacySeller } from '../fixtures/legacy/seller.js';
import { landed, rpc, tokenAmount, until } from '../helpers/chain.js';
import { clientOn, decided, recorded, signedByKit } from '../helpers/flow.js';
import { useSandbox } from '../helpers/sandbox.js';

const sandbox = await useSandbox({ confirmationMs: 20 });
let legacy: LegacySeller;
let transport: Transport;

beforeAll(async () => {
  legacy = await startLegacySeller(sandbox, { facilitator: 'legacy' });
  transport = local({ rpcUrl: sandbox.rpcUrl, jupiterUrl: sandbox.jupiterUrl });
});
afterAll(async () => {
  await legacy.close();
});
const merchantHolds = (symbol: MintSymbol) =>
  tokenAmount(sandbox.rpcUrl, sandbox.merchant, sandbox.mints[symbol]);

async function partsOf(response: Response): Promise<PaymentResponseParts> {
  return {
    url: response.url,
    status: response.status,
    headers: Object.fromEntries(response.headers),
    body: await response.text(),
  };
}

describe('the local transport', () => {
  it('builds a swap for a quote, which lands after kit has signed it', async () => {
    const wallet = await sandbox.createWallet({ SOL: '0.5' });
    const quote = await transport.quote({
      inputMint: 'SOL',
      outputMint: 'PYUSD',
      amount: '1000000',
      swapMode: 'ExactOut',
    });
    expect(quote).toMatchObject({
      inputMint: sandbox.mints.SOL.address,
      outputMint: sandbox.mints.PYUSD.address,
      outAmount: '1000000',
      platformFeeBps: 0,
    });
    const built = await transport.buildSwap({ wallet: wallet.address, quote });
    expect(built.quote).toEqual(quote);
    const { wire, signature } = await signedByKit(wallet, built.transaction);
    await rpc(sandbox.rpcUrl, 'sendTransaction', [wire, { encoding: 'base64' }]);
    const transaction = await landed(sandbox.rpcUrl, signature());
    expect(transaction.error).toBeNull();
    expect(await tokenAmount(sandbox.rpcUrl, wallet.address, sandbox.mints.PYUSD)).toBe(1_000_000n);
    expect(transaction.fee).toBe(5_000n + BigInt(built.priorityFeeLamports));
    const height = BigInt(
      await rpc<number>(sandbox.rpcUrl, 'getBlockHeight', [{ commitment: 'confirmed' }]),
    );
    expect(BigInt(built.lastValidBlockHeight)).toBeGreaterThan(height);
  });

  it('reads balances of any wallet and the terms of a 402 without a key', async () => {
    const wallet = await sandbox.createWallet({ SOL: '0.1', USDC: '2' });
    expect(await transport.balance({ wallet: wallet.address, mint: 'USDC' })).toEqual([
      expect.objectContaining({ amount: '2000000', uiAmount: '2' }),
    ]);
    expect(
      (await transport.balance({ wallet: wallet.address })).map(({ uiAmount }) => uiAmount),
    ).toEqual(['0.1', '2']);
    const parsed = await transport.parsePayment(
      await partsOf(await fetch(`${sandbox.apiUrl}/any`)),
    );
    expect(parsed.x402Version).toBe(2);
    expect(
      parsed.offers.map(({ index, payable, amount, mint }) => [index, payable, amount, mint]),
    ).toEqual([
      [0, true, '10000', sandbox.mints.PYUSD.address],
      [1, true, '10000', sandbox.mints.USDT.address],
      [2, true, '10000', sandbox.mints.USDC.address],
      [3, true, '50000000', sandbox.mints.BONK.address],
    ]);
    expect(
      await transport.parsePayment(await partsOf(await fetch(`${legacy.url}/usdc`))),
    ).toMatchObject({
      x402Version: 1,
      offers: [{ payable: true, amount: '10000' }],
    });
    await expect(
      transport.parsePayment(await partsOf(await fetch(`${sandbox.apiUrl}/free`))),
    ).rejects.toMatchObject({
      code: 'malformed_payment_required',
    });
  });

  it.each([
    ['version 2, Token-2022', () => `${sandbox.apiUrl}/pyusd`, 'PYUSD', 30_000n],
    ['version 2, with a memo', () => `${sandbox.apiUrl}/memo`, 'USDC', 10_000n],
    ['version 1', () => `${legacy.url}/usdc`, 'USDC', 10_000n],
  ] as const)(
    'leads a caller with only a signer from a 402 to the paid answer (%s)',
    async (_, url, symbol, price) => {
      const wallet = await sandbox.createWallet({ SOL: '0.5', BONK: '1000000' });
      const before = await merchantHolds(symbol);
      const paymentRequired = await partsOf(await fetch(url()));
      const step = (more: Partial<AutoPayRequest> = {}) =>
        transport.autoPay({ paymentRequired, wallet: wallet.address, autoSwap: true, ...more });

      const first = await step();
      expect(first).toMatchObject({
        state: 'swap_required',
        offer: { payable: true, amount: price.toString(), mint: sandbox.mints[symbol].address },
      });
      if (first.swap === undefined) throw new Error('There is no swap to sign.');
      const swap = await signedByKit(wallet, first.swap.transaction);

      const second = await until('the swap is confirmed', async () => {
        const answer = await step({ signedSwap: swap.wire });
        return answer.state === 'swap_submitted' ? undefined : answer;
      });
      expect(second.state).toBe('ready_to_sign');
      expect((await landed(sandbox.rpcUrl, swap.signature())).error).toBeNull();
      if (second.payment === undefined) throw new Error('There is no payment to sign.');
      const payment = await signedByKit(wallet, second.payment.transaction);

      const third = await step({ signedPayment: payment.wire });
      expect(third.state).toBe('ready_to_present');
      if (third.header === undefined) throw new Error('There is no header to present.');
      const answer = await fetch(url(), { headers: { [third.header.name]: third.header.value } });
      expect(answer.status).toBe(200);
      expect((await merchantHolds(symbol)) - before).toBe(price);
    },
  );

  it('returns the missing amount when a swap is off or impossible', async () => {
    const paymentRequired = await partsOf(await fetch(`${sandbox.apiUrl}/usdc`));
    const [rich, poor] = await Promise.all([
      sandbox.createWallet({ SOL: '0.5' }),
      sandbox.createWallet({ SOL: '0.001' }),
    ]);
    const funds = { mint: sandbox.mints.USDC.address, required: '10000', available: '0' };
    expect(await transport.autoPay({ paymentRequired, wallet: rich.address })).toMatchObject({
      state: 'insufficient_funds',
      funds,
    });
    expect(
      await transport.autoPay({ paymentRequired, wallet: poor.address, autoSwap: true }),
    ).toMatchObject({
      state: 'insufficient_funds',
      funds,
    });
    await expect(
      transport.autoPay({
        paymentRequired,
        wallet: rich.address,
        autoSwap: true,
        limits: { [sandbox.mints.USDC.address]: '9999' },
      }),
    ).rejects.toMatchObject({
      code: 'amount_over_limit',
    });
  });

  it('refuses a payment of another wallet, without a signature or for other terms', async () => {
    const [wallet, other] = await Promise.all([
      sandbox.createWallet({ USDC: '1' }),
      sandbox.createWallet({ USDC: '1' }),
    ]);
    const paymentRequired = await partsOf(await fetch(`${sandbox.apiUrl}/usdc`));
    const { payment } = await transport.autoPay({ paymentRequired, wallet: wallet.address });
    const { wire } = await signedByKit(wallet, payment?.transaction ?? '');
    await expect(
      transport.autoPay({ paymentRequired, wallet: other.address, signedPayment: wire }),
    ).rejects.toMatchObject({
      code: 'invalid_option',
    });
    await expect(
      transport.autoPay({
        paymentRequired,
        wallet: wallet.address,
        signedPayment: payment?.transaction ?? '',
      }),
    ).rejects.toMatchObject({ code: 'invalid_option' });
    const nowhere = { ...paymentRequired, url: 'nowhere' };
    await expect(
      transport.autoPay({ paymentRequired: nowhere, wallet: wallet.address }),
    ).rejects.toMatchObject({
      code: 'invalid_option',
      details: { option: 'paymentRequired.url' },
    });
    const dearer = await partsOf(await fetch(`${sandbox.apiUrl}/expensive`));
    await expect(
      transport.autoPay({ paymentRequired: dearer, wallet: wallet.address, signedPayment: wire }),
    ).rejects.toMatchObject({
      code: 'invalid_option',
    });
  });
});

describe('a client with a transport without swapInstruction', () => {
  it('takes the swap instruction from the transaction of buildSwap', async () => {
    const wallet = await sandbox.createWallet({ SOL: '0.5', BONK: '1000000' });
    const asked: string[] = [];
    const built: Transport = {
      quote: (...args) => (asked.push('quote'), transport.quote(...args)),
      buildSwap: (...args) => (asked.push('buildSwap'), transport.buildSwap(...args)),
      balance: (...args) => (asked.push('balance'), transport.balance(...args)),
      parsePayment: (...args) => (asked.push('parsePayment'), transport.parsePayment(...args)),
      autoPay: (...args) => (asked.push('autoPay'), transport.autoPay(...args)),
    };
    const client = clientOn(sandbox, wallet, { transport: built });
    for (const [path, symbol, price] of [
      ['/usdc', 'USDC', 10_000n],
      ['/pyusd', 'PYUSD', 30_000n],
    ] as const) {
      const before = await merchantHolds(symbol);
      const receipt = await decided(await client.fetch(sandbox.apiUrl + path));
      expect(receipt).toMatchObject({
        state: 'settled',
        swap: { outputMint: sandbox.mints[symbol].address },
      });
      expect((await merchantHolds(symbol)) - before).toBe(price);
    }
    expect(new Set(asked)).toEqual(new Set(['quote', 'buildSwap']));
    const swapped = await client.swap({
      inputMint: sandbox.mints.BONK.address,
      outputMint: 'SOL',
      amount: 10_000_000_000n,
    });
    expect((await landed(sandbox.rpcUrl, swapped.signature)).error).toBeNull();
  });
});

describe('a client with several nodes', () => {
  /** An address at which no server listens. */
  async function deadUrl(): Promise<string> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    // The server listens on TCP, so its address is neither the name of a pipe nor null.
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    return `http://127.0.0.1:${port}`;
  }

  it('swaps, pays and settles by the second node when the first is dead', async () => {
    const wallet = await sandbox.createWallet({ SOL: '0.5', BONK: '1000000' });
    const client = clientOn(sandbox, wallet, { rpcUrl: [await deadUrl(), sandbox.rpcUrl] });
    const events = recorded(client);
    const before = await merchantHolds('USDT');
    const response = await client.fetch(`${sandbox.apiUrl}/usdt`);
    expect(response.status).toBe(200);
    expect(await decided(response)).toMatchObject({
      state: 'settled',
      swap: { inputMint: sandbox.mints.SOL.address },
    });
    expect((await merchantHolds('USDT')) - before).toBe(20_000n);
    expect(
      events.filter(({ type }) => type === 'swap.signed' || type === 'payment.signed'),
    ).toHaveLength(2);
    expect((await client.balance('USDT'))[0]?.amount).toBe('30000');
  });
});
