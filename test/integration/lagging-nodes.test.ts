import { address } from '@solana/kit';
import { describe, expect, it } from 'vitest';
import { until } from '../helpers/chain.js';
import { JOURNALS, journalOf } from '../helpers/journals.js';
import { failureOf, payerOn, type Payer } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';
import { signedOf, timesSpent } from '../helpers/spends.js';

// Each node is honest but behind in one method, or wrong in one number.
// In each case the chain shows that a purchase is paid once.

const sandbox = await useSandbox({ confirmationMs: 20 });

const url = () => `${sandbox.apiUrl}/usdc`;

/** Returns a payer with a payment that settled and an answer that was lost. */
async function paidInVain(options: Parameters<typeof payerOn>[2]): Promise<Payer> {
  const payer = await payerOn(sandbox, { USDC: '1' }, options);
  payer.client.on('payment.sent', () =>
    sandbox.controls.api.fault('/usdc', { kind: 'dropAfter', times: 1 }),
  );
  await failureOf(payer.client.fetch(url(), { method: 'POST' }), 'payment_uncertain');
  return payer;
}

describe('a client at a node with an address index 250 slots behind its tip', () => {
  it.each(JOURNALS)('calls no landed payment unsettled, with a journal in %s', async (kind) => {
    sandbox.controls.node.lag({ getSignaturesForAddress: 250 });
    const journal = await journalOf(kind);
    const payer = await paidInVain({ journal });
    const paid = async () => 1_000_000n - (await sandbox.balance(payer.address, 'USDC'));
    await until('it has landed', async () => ((await paid()) === 10_000n ? true : undefined));
    sandbox.controls.node.warp();
    const again = payer.again({ journal });
    for (let call = 0; call < 3; call += 1)
      await failureOf(again.fetch(url(), { method: 'POST' }), 'payment_uncertain');
    expect((await again.spent())[0]?.used).toBe('0.01');
    sandbox.controls.node.clearFaults();
    expect(await paid()).toBe(10_000n);
    const told = await failureOf(again.fetch(url(), { method: 'POST' }), 'already_spent');
    expect(told.funds).toBe('spent');
    expect([signedOf(payer, 'payment'), await timesSpent(sandbox, payer, 'USDC')]).toEqual([1, 1]);
  });

  it('calls no payment unsettled when an equal amount came in unseen and hides its cost', async () => {
    sandbox.controls.node.lag({ getSignaturesForAddress: 250 });
    const payer = await paidInVain({});
    const held = () => sandbox.balance(payer.address, 'USDC');
    await until('it has landed', async () => ((await held()) === 990_000n ? true : undefined));
    await sandbox.chain.fundToken(address(payer.address), sandbox.mints.USDC, 10_000n);
    expect(await held()).toBe(1_000_000n);
    sandbox.controls.node.warp();
    const again = payer.again({});
    for (let call = 0; call < 3; call += 1)
      await failureOf(again.fetch(url(), { method: 'POST' }), 'payment_uncertain');
    sandbox.controls.node.clearFaults();
    await failureOf(again.fetch(url(), { method: 'POST' }), 'already_spent');
    expect([signedOf(payer, 'payment'), await timesSpent(sandbox, payer, 'USDC')]).toEqual([1, 1]);
  });

  it('calls a payment that never landed unsettled once the index has caught up', async () => {
    const payer = await payerOn(sandbox, { USDC: '1' });
    payer.client.on('payment.sent', () =>
      sandbox.controls.api.fault('/usdc', { kind: 'dropBefore', times: 1 }),
    );
    await failureOf(payer.client.fetch(url(), { method: 'POST' }), 'payment_uncertain');
    sandbox.controls.node.lag({ getSignaturesForAddress: 250 });
    sandbox.controls.node.warp();
    sandbox.controls.node.clearFaults();
    const again = payer.again({});
    await until('it is called unsettled', async () =>
      (await again.resume()).some(({ state }) => state === 'unsettled') ? true : undefined,
    );
    expect((await again.spent())[0]?.used).toBe('0');
    expect((await again.fetch(url(), { method: 'POST' })).status).toBe(200);
    expect([signedOf(payer, 'payment'), await timesSpent(sandbox, payer, 'USDC')]).toEqual([2, 1]);
  });
});

describe('a client at a node with a wrong number', () => {
  const nodes = () => ['first', 'second'].map((caller) => `${sandbox.rpcUrl}/?caller=${caller}`);
  const paths = [
    ['getLatestBlockhash', 'value.lastValidBlockHeight', -400],
    ['getLatestBlockhash', 'value.lastValidBlockHeight', 400],
    ['getEpochInfo', 'blockHeight', 400],
    ['getEpochInfo', 'blockHeight', 10_000_000],
    ['getEpochInfo', 'absoluteSlot', 400],
    ['getLatestBlockhash', 'context.slot', 250],
    ['getLatestBlockhash', 'context.slot', 10_000],
    ['isBlockhashValid', 'context.slot', 400],
    ['getMultipleAccounts', 'context.slot', 400],
    ['getFirstAvailableBlock', '', 400],
  ] as const;

  const rows = paths.flatMap((path) => [
    [...path, 'two nodes'] as const,
    [...path, 'one node'] as const,
  ]);

  it.each(rows)(
    'pays a purchase at most once if %s %s is off by %d, with %s',
    async (method, at, by, count) => {
      const rpcUrl = count === 'two nodes' ? nodes() : nodes().slice(0, 1);
      sandbox.controls.node.fault(method, { kind: 'offBy', at, by }, 'first');
      const payer = await payerOn(sandbox, { USDC: '1' }, { rpcUrl });
      payer.client.on('payment.sent', () =>
        sandbox.controls.api.fault('/usdc', { kind: 'dropAfter', times: 1 }),
      );
      const buy = () =>
        payer.client.fetch(url(), { method: 'POST' }).then(({ status }) => String(status), String);
      await buy();
      sandbox.controls.node.warp();
      for (let call = 0; call < 3; call += 1) await buy();
      expect(await timesSpent(sandbox, payer, 'USDC')).toBeLessThanOrEqual(1);
      expect(signedOf(payer, 'payment')).toBeLessThanOrEqual(1);
    },
  );
});
