import { memoryJournal } from 'exact-change';
import type { Json } from 'exact-change-sandbox';
import { expect, it } from 'vitest';
import { createOperations } from '../../adapters/local/operations.js';
import { parseLocalOptions } from '../../src/config/parse-options.js';
import { systemRuntime } from '../../src/internal/runtime.js';
import { buyerOf, startService, untilState } from '../helpers/auto-pay.js';
import { tokenAccount } from '../helpers/chain.js';
import { useSandbox } from '../helpers/sandbox.js';

const sandbox = await useSandbox({ confirmationMs: 20 });

it('a service asks for no second swap if its node is behind the first', async () => {
  const service = await startService(sandbox, memoryJournal());
  const wallet = await sandbox.createWallet({ SOL: '1', USDT: '5' });
  const buyer = await buyerOf(wallet, `${sandbox.apiUrl}/usdc`);
  const plan = await buyer.post(service);
  expect(plan.body.state).toBe('swap_required');
  const signedSwap = await buyer.sign(plan.body.swap?.transaction);
  const account = await tokenAccount(wallet.address, sandbox.mints.USDC);
  sandbox.controls.node.intercept = (method, params, next) => {
    const [asked] = params as [string[]];
    if (method !== 'getMultipleAccounts' || !asked.includes(account)) return next();
    const { value } = next() as { readonly value: readonly Json[] };
    return {
      context: { slot: 1 },
      value: value.map((one, index) => (asked[index] === account ? null : one)),
    };
  };
  const behind = await buyer.post(service, { signedSwap });
  expect([behind.status, behind.body.swap, behind.body.code]).toEqual([
    503,
    undefined,
    'rpc_unavailable',
  ]);
  sandbox.controls.node.intercept = undefined;
  const caughtUp = await buyer.post(service, { signedSwap });
  expect(caughtUp.body.state).toBe('ready_to_sign');
  await service.close();
});

it('a service asks for no swap if a payment that it has not heard of again has landed, and the rest suffices', async () => {
  const { rpcUrl, jupiterUrl } = sandbox;
  // After its first look it does not look again by itself, and it is told of nothing.
  sandbox.controls.node.webSocket = 'silent';
  const idle = (_: number, signal?: AbortSignal) => systemRuntime.idle(3_600_000, signal);
  const transport = await createOperations(
    parseLocalOptions({ rpcUrl, jupiterUrl, journal: memoryJournal() }, { ...systemRuntime, idle }),
  );
  const wallet = await sandbox.createWallet({ SOL: '1', USDC: '0.02' });
  const url = `${sandbox.apiUrl}/usdc`;
  const { paymentRequired, sign } = await buyerOf(wallet, url);
  const asked = { paymentRequired, wallet: wallet.address, autoSwap: true };
  for (let left = 2; left > 0; left -= 1) {
    const planned = await transport.autoPay(asked);
    expect(planned.state).toBe('ready_to_sign');
    const { header } = await transport.autoPay({
      ...asked,
      signedPayment: await sign(planned.payment?.transaction),
    });
    expect(
      (await fetch(url, { headers: { [header?.name ?? '']: header?.value ?? '' } })).status,
    ).toBe(200);
  }
  expect((await transport.autoPay(asked)).state).toBe('swap_required');
  await transport.close();
  sandbox.controls.node.webSocket = 'on';
});

it('a service follows a payment that is on record though the journal failed', async () => {
  const inner = memoryJournal();
  let isBroken = true;
  const put: typeof inner.put = async (attempt, along) => {
    await inner.put(attempt, along);
    if (isBroken && attempt.state === 'signed') throw new Error('The connection was lost.');
  };
  const service = await startService(sandbox, { ...inner, put });
  const wallet = await sandbox.createWallet({ SOL: '0.5' });
  const buyer = await buyerOf(wallet, `${sandbox.apiUrl}/usdc`);
  const plan = await buyer.post(service);
  const signedSwap = await buyer.sign(plan.body.swap?.transaction);
  const swapped = await untilState('ready_to_sign', () => buyer.post(service, { signedSwap }));
  const signedPayment = await buyer.sign(swapped.body.payment?.transaction);
  const failed = await buyer.post(service, { signedPayment });
  expect([failed.status, failed.body.code]).toEqual([503, 'journal_unavailable']);
  isBroken = false;
  const known = await buyer.post(service, { signedPayment });
  expect(known.body.state).toBe('submitted');
  expect((await buyer.present(known)).status).toBe(200);
  const settled = await untilState('settled', () => buyer.post(service, { signedPayment }));
  expect(settled.body.signature).toBeDefined();
  await service.close();
});
