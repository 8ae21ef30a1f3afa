import {
  memoryJournal,
  SOLANA_MAINNET,
  type AutoPayRequest,
  type Journal,
  type LocalOptions,
} from 'exact-change';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createOperations } from '../../adapters/local/operations.js';
import { parseLocalOptions } from '../../src/config/parse-options.js';
import { systemRuntime } from '../../src/internal/runtime.js';
import { newWallet } from '../../src/journal/registry.js';
import { listOf } from '../helpers/attempts.js';
import { buyerOf, startService } from '../helpers/auto-pay.js';
import { until } from '../helpers/chain.js';
import { moveClock } from '../helpers/move-clock.js';
import { useSandbox } from '../helpers/sandbox.js';
import { served } from '../helpers/served.js';

const sandbox = await useSandbox({ confirmationMs: 20 });

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
  await second.transport.resume();
  expect(await listOf(journal.attempts(owner))).toEqual([]);
});

/** Leaves an open swap on record, which never lands, of a service that has ended. */
async function leftSwap(kind: 'dropBefore' | 'neverLands') {
  const journal = memoryJournal();
  const wallet = await sandbox.createWallet({ SOL: '0.5' });
  const owner = { wallet: wallet.address, network: SOLANA_MAINNET };
  const service = await startService(sandbox, journal);
  const buyer = await buyerOf(wallet, `${sandbox.apiUrl}/usdc`);
  const signedSwap = await buyer.sign((await buyer.post(service)).body.swap?.transaction);
  onTestFinished(sandbox.controls.node.fault('sendTransaction', { kind }));
  const posted = buyer.post(service, { signedSwap }).catch(() => undefined);
  await until('the swap is on record', async () => (await listOf(journal.attempts(owner)))[0]);
  await service.close();
  await posted;
  return { journal, owner };
}

it('takes up a swap although the journal lost the answer to its claim', async () => {
  const { journal, owner } = await leftSwap('dropBefore');
  sandbox.controls.node.warp();

  const { coordination } = newWallet();
  let lost = 1;
  const take = async (ids: readonly string[]) => {
    await coordination.claims.take(ids);
    if (lost-- > 0) throw new Error('The answer is lost.');
  };
  const lossy = { ...coordination, claims: { ...coordination.claims, take } };
  const second = await startService(sandbox, { ...journal, coordination: () => lossy });
  await expect(second.transport.resume()).rejects.toMatchObject({ code: 'journal_unavailable' });
  await second.transport.resume();
  await until(
    'it has ended',
    async () => (await listOf(journal.attempts(owner))).length === 0 || undefined,
  );
});

/** Starts a service with a journal that records its first reservation only after its time limit. */
async function lateService(funds: Parameters<typeof sandbox.createWallet>[0]) {
  const waits: (() => void)[] = [];
  // The test ends the waits of a minute.
  const idle = (ms: number, signal?: AbortSignal) =>
    ms < 60_000
      ? systemRuntime.idle(ms, signal)
      : new Promise<void>((resolve, reject) => {
          waits.push(resolve);
          signal?.addEventListener('abort', () => reject(new Error('closed')));
        });
  const inner = memoryJournal();
  let recorded: ReturnType<Journal['reserve']> | undefined;
  const journal: Journal = {
    ...inner,
    reserve: (...args) =>
      recorded === undefined
        ? (recorded = systemRuntime.sleep(300).then(() => inner.reserve(...args)))
        : inner.reserve(...args),
  };
  const options = {
    ...{ rpcUrl: sandbox.rpcUrl, jupiterUrl: sandbox.jupiterUrl, journal },
    ...{ timeouts: { journal: 100 }, policy: { maxPerDay: '0.015' } },
  };
  const service = await createOperations(parseLocalOptions(options, { ...systemRuntime, idle }));
  onTestFinished(() => service.close());
  const wallet = await sandbox.createWallet(funds);
  const { paymentRequired, sign } = await buyerOf(wallet, `${sandbox.apiUrl}/usdc`);
  const owner = { wallet: wallet.address, network: SOLANA_MAINNET };
  return {
    ...{ wallet, sign },
    attempts: () => listOf(journal.attempts(owner)),
    step: (more: Partial<AutoPayRequest>) =>
      service.autoPay({ paymentRequired, wallet: wallet.address, autoSwap: true, ...more }),
    /** Lets a minute pass once the reservation is on record. */
    async aMinuteLater() {
      await recorded;
      for (const end of waits.splice(0)) end();
    },
  };
}

it('frees the budget of a payment that its journal records too late', async () => {
  const { sign, step, attempts, aMinuteLater } = await lateService({ USDC: '1' });
  const signedPayment = await sign((await step({})).payment?.transaction);
  await expect(step({ signedPayment })).rejects.toMatchObject({
    ...{ code: 'journal_unavailable', funds: 'uncertain', retry: 'same' },
  });
  await aMinuteLater();
  await until('its budget is free', async () => (await attempts()).length === 0 || undefined);
});

it('reports a swap as uncertain that its journal may record too late, and then sends it', async () => {
  const { wallet, sign, step, aMinuteLater } = await lateService({ SOL: '0.5', USDC: '0' });
  const signedSwap = await sign((await step({})).swap?.transaction);
  await expect(step({ signedSwap })).rejects.toMatchObject({
    ...{ code: 'journal_unavailable', funds: 'uncertain', retry: 'same' },
  });
  await aMinuteLater();
  await until(
    'it has landed',
    async () => (await sandbox.balance(wallet.address, 'USDC')) > 0n || undefined,
  );
});

/** Starts the next service after a day, when the node has pruned all earlier blocks. */
async function serviceAfterPruning(journal: Journal, options: Partial<LocalOptions> = {}) {
  const { node } = sandbox.controls;
  node.warp(220_000);
  onTestFinished(node.fault('getFirstAvailableBlock', { kind: 'offBy', at: '', by: 1e12 }));
  moveClock(25 * 3_600_000);
  return startService(sandbox, journal, options);
}

describe('what no node remembers when the next service starts', () => {
  it('ends a swap as uncertain, and counts its full bound', async () => {
    const { journal, owner } = await leftSwap('neverLands');
    const next = await serviceAfterPruning(journal);
    await next.transport.resume();
    const ended = await until('it has ended', async () =>
      (await listOf(journal.attempts(owner, { state: 'unpaid' }))).at(0),
    );
    expect(ended.swapped?.swaps).toBe(1);
  });

  it('holds no tokens for a payment', async () => {
    const journal = memoryJournal();
    const wallet = await sandbox.createWallet({ USDC: '0.015' });
    const first = await startService(sandbox, journal);
    const buyer = await buyerOf(wallet, `${sandbox.apiUrl}/usdc`);
    const signedPayment = await buyer.sign((await buyer.post(first)).body.payment?.transaction);
    expect((await buyer.post(first, { signedPayment })).body.state).toBe('ready_to_present');
    await first.close();
    const next = await serviceAfterPruning(journal);
    expect((await buyer.post(next, { autoSwap: false })).body.state).toBe('ready_to_sign');
  });

  it('leaves room for as many open payments as before', async () => {
    const journal = memoryJournal();
    const wallet = await sandbox.createWallet({ USDC: '1' });
    const owner = { wallet: wallet.address, network: SOLANA_MAINNET };
    const first = await startService(sandbox, journal);
    const buyer = await buyerOf(wallet, `${sandbox.apiUrl}/usdc`);
    const signedPayment = await buyer.sign((await buyer.post(first)).body.payment?.transaction);
    await buyer.post(first, { signedPayment });
    await first.close();
    for (const signed of await listOf(journal.attempts(owner)))
      for (let made = 1; made < 32; made += 1) {
        const { payment: _payment, receipt: _receipt, ...attempt } = signed;
        await journal.reserve({ ...attempt, id: `${made}`, state: 'reserved' }, []);
        await journal.put({ ...signed, id: `${made}` });
      }
    const next = await serviceAfterPruning(journal);
    const nextPayment = await buyer.sign((await buyer.post(next)).body.payment?.transaction);
    expect((await buyer.post(next, { signedPayment: nextPayment })).status).toBe(200);
  });

  it('delays neither its wallet nor another wallet while a node hangs', async () => {
    const journal = memoryJournal();
    const wallet = await sandbox.createWallet({ USDC: '1' });
    const first = await startService(sandbox, journal);
    const buyer = await buyerOf(wallet, `${sandbox.apiUrl}/usdc`);
    const signedPayment = await buyer.sign((await buyer.post(first)).body.payment?.transaction);
    expect((await buyer.post(first, { signedPayment })).status).toBe(200);
    await first.close();
    const hanging = await served(() => new Promise(() => undefined));
    onTestFinished(() => hanging.close());
    const next = await serviceAfterPruning(journal, {
      rpcUrl: [sandbox.rpcUrl, hanging.url],
      timeouts: { rpc: 60_000, payment: 200 },
    });
    const other = await sandbox.createWallet({ USDC: '1' });
    for (const { address } of [other, wallet])
      expect((await buyer.post(next, { wallet: address })).body.state).toBe('ready_to_sign');
  });
});
