import { join } from 'node:path';
import { build } from 'esbuild';
import { remote } from 'exact-change';
import { createSandbox, type Sandbox } from 'exact-change-sandbox';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { startWorker, type Worker } from './workerd.js';

const { consumer } = inject('packed');
const API_KEY = 'a-key-of-this-worker-alone';

let sandbox: Sandbox;
let worker: Worker;

/** Bundles a module of the consumer with all its imports. */
async function scriptOf(entry: string): Promise<string> {
  const { outputFiles, metafile } = await build({
    entryPoints: [join(consumer, entry)],
    absWorkingDir: consumer,
    bundle: true,
    format: 'esm',
    platform: 'browser',
    conditions: ['workerd', 'worker', 'browser'],
    target: 'es2022',
    metafile: true,
    write: false,
    logLevel: 'silent',
  });
  // A Node module would remain as an import.
  expect(Object.values(metafile.outputs).flatMap(({ imports }) => imports)).toEqual([]);
  return outputFiles[0]?.text ?? '';
}

beforeAll(async () => {
  sandbox = await createSandbox({ confirmationMs: 20 });
  worker = await startWorker(await scriptOf('worker.mjs'), {
    RPC_URL: sandbox.rpcUrl,
    JUPITER_URL: sandbox.jupiterUrl,
    API_KEY,
  });
});

afterAll(async () => {
  await worker?.close();
  await sandbox?.close();
});

describe('the service in workerd', () => {
  const service = () => remote(worker.url, { headers: { authorization: `Bearer ${API_KEY}` } });

  it('answers health, and refuses a caller without its key', async () => {
    expect(await (await fetch(`${worker.url}/api/health`)).json()).toEqual({ status: 'ok' });
    expect((await fetch(`${worker.url}/api/quote`)).status).toBe(401);
  });

  it('serves each operation', async () => {
    const { address } = await sandbox.createWallet({ SOL: '0.5' });
    const { SOL, USDC } = sandbox.mints;
    const quote = await service().quote({
      inputMint: SOL.address,
      outputMint: USDC.address,
      amount: '10000',
      swapMode: 'ExactOut',
    });
    expect(quote).toMatchObject({ minOutAmount: '10000', platformFeeBps: 0 });
    expect(await service().buildSwap({ wallet: address, quote })).toMatchObject({
      quote: { outputMint: USDC.address },
    });
    expect(await service().balance({ wallet: address, mint: 'SOL' })).toMatchObject([
      { amount: '500000000', decimals: 9 },
    ]);

    const seller = await fetch(`${sandbox.apiUrl}/usdc`);
    const paymentRequired = {
      url: seller.url,
      status: 402,
      headers: Object.fromEntries(seller.headers),
      body: await seller.text(),
    };
    expect(await service().parsePayment(paymentRequired)).toMatchObject({
      offers: [{ payable: true, amount: '10000' }],
    });
    const step = await service().autoPay({ paymentRequired, wallet: address, autoSwap: true });
    expect(step).toMatchObject({
      state: 'swap_required',
      swap: { quote: { outputMint: USDC.address } },
    });
  });

  it('serves parallel requests, each with its own balance', async () => {
    const { USDC } = sandbox.mints;
    const wallets = await Promise.all(
      Array.from({ length: 12 }, (_, cents) =>
        sandbox.createWallet({ SOL: '0.01', USDC: `0.${cents + 10}` }),
      ),
    );
    const balances = await Promise.all(
      wallets.map(({ address }) => service().balance({ wallet: address, mint: USDC.address })),
    );
    expect(balances.map(([balance]) => balance?.amount)).toEqual(
      wallets.map((_, cents) => `${cents + 10}0000`),
    );
  });

  it('returns typed errors, and prints nothing', async () => {
    await expect(
      service().balance({ wallet: sandbox.merchant, mint: sandbox.merchant }),
    ).rejects.toMatchObject({ code: 'unknown_mint' });
    expect(worker.printed()).toBe('');
  });
});

describe('a webhook receiver in workerd', () => {
  const key = new Uint8Array(32).fill(7);
  const SECRET = `whsec_${Buffer.from(key).toString('base64')}`;
  let receiver: Worker;
  beforeAll(async () => {
    receiver = await startWorker(await scriptOf('receiver.mjs'), { SECRET });
  });
  afterAll(() => receiver?.close());

  const tell = (secret: string, body: string) => {
    const [id, now] = ['one_payment_failed', new Date()];
    const signature = new Webhook(secret).sign(id, now, body);
    const timestamp = String(Math.floor(now.getTime() / 1000));
    const headers = {
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      'webhook-signature': signature,
    };
    return fetch(receiver.url, { method: 'POST', headers, body });
  };
  const about = {
    id: 'one',
    wallet: 'a',
    network: 'b',
    url: 'https://api.example.com/ü',
    method: 'GET',
    mint: 'c',
    amount: '1',
    payTo: 'd',
  };
  const event = { type: 'payment.failed', timestamp: '2026-01-01T00:00:00.000Z', data: about };

  it('accepts an event that is signed with its secret', async () => {
    const answer = await tell(SECRET, JSON.stringify(event));
    expect([answer.status, await answer.json()]).toEqual([
      200,
      { id: 'one_payment_failed', ...event },
    ]);
  });

  it('refuses an event with another signature, and a signed body that is no event', async () => {
    const other = `whsec_${Buffer.from(key.map((byte) => byte + 1)).toString('base64')}`;
    for (const [secret, body] of [
      [other, JSON.stringify(event)],
      [SECRET, '{}'],
    ] as const) {
      const answer = await tell(secret, body);
      expect([answer.status, await answer.json()]).toMatchObject([
        400,
        { code: 'invalid_response', details: { service: 'webhook' } },
      ]);
    }
    expect(receiver.printed()).toBe('');
  });
});
