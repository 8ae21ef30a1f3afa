import { join } from 'node:path';
import { build } from 'esbuild';
import { remote } from 'exact-change';
import { createSandbox, type Sandbox } from 'exact-change/sandbox';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { startWorker, type Worker } from './workerd.js';

const { consumer } = inject('packed');
const API_KEY = 'a-key-of-this-worker-alone';

let sandbox: Sandbox;
let worker: Worker;

beforeAll(async () => {
  sandbox = await createSandbox({ confirmationMs: 20 });
  const { outputFiles, metafile } = await build({
    entryPoints: [join(consumer, 'worker.mjs')],
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
  const [script] = outputFiles;
  // Nothing is left for the runtime to have: a module of Node would be here.
  expect(Object.values(metafile.outputs).flatMap(({ imports }) => imports)).toEqual([]);
  worker = await startWorker(script?.text ?? '', { RPC_URL: sandbox.rpcUrl, JUPITER_URL: sandbox.jupiterUrl, API_KEY });
}, 120_000);

afterAll(async () => {
  await worker?.close();
  await sandbox?.close();
});

describe('the service in a runtime of the Workers kind', () => {
  const service = () => remote(worker.url, { headers: { authorization: `Bearer ${API_KEY}` } });

  it('is there, and lets in who has its key', async () => {
    expect(await (await fetch(`${worker.url}/api/health`)).json()).toEqual({ status: 'ok' });
    expect((await fetch(`${worker.url}/api/quote`)).status).toBe(401);
  });

  it('does each operation', async () => {
    const { address } = await sandbox.createWallet({ SOL: '0.5' });
    const { SOL, USDC } = sandbox.mints;
    const quote = await service().quote({ inputMint: SOL.address, outputMint: USDC.address, amount: '10000', swapMode: 'ExactOut' });
    expect(quote).toMatchObject({ minOutAmount: '10000', platformFeeBps: 0 });
    expect(await service().buildSwap({ wallet: address, quote })).toMatchObject({ quote: { outputMint: USDC.address } });
    expect(await service().balance({ wallet: address, mint: 'SOL' })).toMatchObject([{ amount: '500000000', decimals: 9 }]);

    const seller = await fetch(`${sandbox.apiUrl}/usdc`);
    const paymentRequired = { url: seller.url, status: 402, headers: Object.fromEntries(seller.headers), body: await seller.text() };
    expect(await service().parsePayment(paymentRequired)).toMatchObject({ offers: [{ payable: true, amount: '10000' }] });
    const step = await service().autoPay({ paymentRequired, wallet: address, autoSwap: true });
    expect(step).toMatchObject({ state: 'swap_required', swap: { quote: { outputMint: USDC.address } } });
  });

  it('serves many at once, each with what is its own', async () => {
    const { USDC } = sandbox.mints;
    const wallets = await Promise.all(
      Array.from({ length: 12 }, (_, cents) => sandbox.createWallet({ SOL: '0.01', USDC: `0.${cents + 10}` })),
    );
    const balances = await Promise.all(wallets.map(({ address }) => service().balance({ wallet: address, mint: USDC.address })));
    expect(balances.map(([one]) => one?.amount)).toEqual(wallets.map((_, cents) => `${cents + 10}0000`));
  });

  it('says what is wrong as anywhere, and prints nothing', async () => {
    await expect(service().balance({ wallet: sandbox.merchant, mint: sandbox.merchant })).rejects.toMatchObject({ code: 'unknown_mint' });
    expect(worker.printed()).toBe('');
  });
});
