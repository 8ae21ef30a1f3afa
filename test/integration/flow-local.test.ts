import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { local, type PaymentResponseParts, type Transport } from 'exact-change';
import type { MintSymbol } from 'exact-change-sandbox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startLegacySeller, type LegacySeller } from '../fixtures/legacy/seller.js';
import { landed, tokenAmount } from '../helpers/chain.js';
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
