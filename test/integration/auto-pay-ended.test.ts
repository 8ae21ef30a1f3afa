import { memoryJournal, SOLANA_MAINNET, type Journal } from 'exact-change';
import { createSandbox, type Sandbox } from 'exact-change-sandbox';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { listOf } from '../helpers/attempts.js';
import { buyerOf, startService } from '../helpers/auto-pay.js';
import { until } from '../helpers/chain.js';

let sandbox: Sandbox;

beforeAll(async () => void (sandbox = await createSandbox({ confirmationMs: 20 })));
afterAll(() => sandbox.close());

it('ends a purchase whose process ended after its swap, before it was forgotten', async () => {
  const journal = memoryJournal();
  const wallet = await sandbox.createWallet({ SOL: '0.5' });
  const owner = { wallet: wallet.address, network: SOLANA_MAINNET };
  // The process ends when it has recorded the outcome of the swap.
  const ending: Journal = { ...journal, release: () => Promise.reject(new Error('killed')) };
  const first = await startService(sandbox, ending);
  const buyer = await buyerOf(wallet, `${sandbox.apiUrl}/usdc`);
  const signedSwap = await buyer.sign((await buyer.post(first)).body.swap?.transaction);
  sandbox.controls.node.fault('sendTransaction', { kind: 'dropBefore' });
  const posted = buyer.post(first, { signedSwap });
  await until('the swap is on record', async () => (await listOf(journal.attempts(owner)))[0]);
  sandbox.controls.node.warp();
  expect((await posted).body.code).toBe('swap_expired');
  await until(
    'its outcome is on record',
    async () => (await listOf(journal.attempts(owner, { state: 'abandoned' })))[0],
  );
  await first.close();
  sandbox.controls.node.clearFaults();

  const second = await startService(sandbox, journal);
  try {
    await second.transport.resume();
    expect(await listOf(journal.attempts(owner))).toEqual([]);
  } finally {
    await second.close();
  }
});
