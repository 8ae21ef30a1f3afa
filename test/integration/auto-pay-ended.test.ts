import { memoryJournal, SOLANA_MAINNET, type Journal } from 'exact-change';
import { createSandbox, type Sandbox } from 'exact-change-sandbox';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { createOperations } from '../../adapters/local/operations.js';
import { parseLocalOptions } from '../../src/config/parse-options.js';
import { systemRuntime } from '../../src/internal/runtime.js';
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

it('frees the budget of a payment that its journal records too late', async () => {
  const waits: (() => void)[] = [];
  // The test ends the waits of a minute.
  const idle = (ms: number, signal?: AbortSignal) =>
    ms < 60_000
      ? systemRuntime.idle(ms, signal)
      : new Promise<void>((resolve, reject) => {
          waits.push(resolve);
          signal?.addEventListener('abort', () => reject(new Error('closed')));
        });
  let isLate = true;
  let recorded: Promise<unknown> | undefined;
  const inner = memoryJournal();
  const journal: Journal = {
    ...inner,
    async reserve(...attempt) {
      if (!isLate) return inner.reserve(...attempt);
      isLate = false;
      recorded = systemRuntime.sleep(300).then(() => inner.reserve(...attempt));
      return recorded as ReturnType<Journal['reserve']>;
    },
  };
  const options = {
    ...{ rpcUrl: sandbox.rpcUrl, jupiterUrl: sandbox.jupiterUrl, journal },
    ...{ timeouts: { journal: 100 }, policy: { maxPerDay: '0.015' } },
  };
  const service = await createOperations(parseLocalOptions(options, { ...systemRuntime, idle }));
  onTestFinished(() => service.close());
  const wallet = await sandbox.createWallet({ USDC: '1' });
  const owner = { wallet: wallet.address, network: SOLANA_MAINNET };
  const { paymentRequired, sign } = await buyerOf(wallet, `${sandbox.apiUrl}/usdc`);
  const common = { paymentRequired, wallet: wallet.address };
  const planned = await service.autoPay(common);
  const signedPayment = await sign(planned.payment?.transaction);
  await expect(service.autoPay({ ...common, signedPayment })).rejects.toMatchObject({
    code: 'journal_unavailable',
  });
  await recorded;
  expect(await listOf(journal.attempts(owner))).toMatchObject([{ state: 'reserved' }]);
  for (const end of waits.splice(0)) end();
  await until('its budget is free', async () =>
    (await listOf(journal.attempts(owner))).length === 0 ? true : undefined,
  );
});
