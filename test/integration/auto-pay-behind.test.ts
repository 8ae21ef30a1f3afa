import { memoryJournal, SOLANA_MAINNET } from 'exact-change';
import type { Json } from 'exact-change-sandbox';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createOperations } from '../../adapters/local/operations.js';
import { parseLocalOptions } from '../../src/config/parse-options.js';
import { untilAborted } from '../../src/internal/abort.js';
import { systemRuntime } from '../../src/internal/runtime.js';
import { createCoordination } from '../../src/journal/registry.js';
import * as monitor from '../../src/payments/reconcile/payment-monitor.js';
import { listOf } from '../helpers/attempts.js';
import { buyerOf, startService, untilState } from '../helpers/auto-pay.js';
import { landed, rpc, signaturesOf, tokenAccount, until } from '../helpers/chain.js';
import { useSandbox } from '../helpers/sandbox.js';
import { startVirtualTime } from '../helpers/virtual-time.js';

const sandbox = await useSandbox({ confirmationMs: 20 });

describe.each([
  ['with a journal', memoryJournal],
  ['without a journal', () => undefined],
] as const)('a service %s', (_, journalOf) => {
  it.each([
    ['it sends', false],
    ['was confirmed before the service saw it', true],
  ] as const)('lets no second swap land after one that %s', async (_name, isSentBefore) => {
    const service = await startService(sandbox, journalOf());
    const wallet = await sandbox.createWallet({ SOL: '1', USDT: '5' });
    const buyer = await buyerOf(wallet, `${sandbox.apiUrl}/usdc`);
    const plan = await buyer.post(service);
    const signedSwap = await buyer.sign(plan.body.swap?.transaction);
    if (isSentBefore) {
      const params = [signedSwap, { encoding: 'base64', skipPreflight: true }];
      await landed(sandbox.rpcUrl, await rpc(sandbox.rpcUrl, 'sendTransaction', params));
    }
    const account = await tokenAccount(wallet.address, sandbox.mints.USDC);
    // The node that answers for accounts has not seen the swap.
    sandbox.controls.node.intercept = (method, params, next) => {
      const [addresses] = params as [string[]];
      if (method !== 'getMultipleAccounts' || !addresses.includes(account)) return next();
      const { value } = next() as { readonly value: readonly Json[] };
      return {
        context: { slot: 1 },
        value: value.map((info, index) => (addresses[index] === account ? null : info)),
      };
    };
    const behind = await buyer.post(service, { signedSwap });
    sandbox.controls.node.intercept = undefined;
    // The buyer signs whatever it is asked to sign.
    const { swap } = behind.body;
    const next = swap === undefined ? signedSwap : await buyer.sign(swap.transaction);
    await untilState('ready_to_sign', () => buyer.post(service, { signedSwap: next }));
    expect(await signaturesOf(sandbox.rpcUrl, account)).toHaveLength(1);
    expect([behind.status, behind.body.code]).toEqual([503, 'rpc_unavailable']);
  });
});

it('plans no swap while the balance left after an unconfirmed payment suffices', async () => {
  const { rpcUrl, jupiterUrl } = sandbox;
  // The transport looks once and hears of no payment, because the socket is silent.
  sandbox.controls.node.webSocket = 'silent';
  const idle = (_: number, signal?: AbortSignal) => systemRuntime.idle(3_600_000, signal);
  const transport = await createOperations(
    parseLocalOptions({ rpcUrl, jupiterUrl, journal: memoryJournal() }, { ...systemRuntime, idle }),
  );
  const wallet = await sandbox.createWallet({ SOL: '1', USDC: '0.02' });
  const url = `${sandbox.apiUrl}/usdc`;
  const { paymentRequired, sign } = await buyerOf(wallet, url);
  const request = { paymentRequired, wallet: wallet.address, autoSwap: true };
  for (let left = 2; left > 0; left -= 1) {
    const planned = await transport.autoPay(request);
    expect(planned.state).toBe('ready_to_sign');
    const { header } = await transport.autoPay({
      ...request,
      signedPayment: await sign(planned.payment?.transaction),
    });
    expect(
      (await fetch(url, { headers: { [header?.name ?? '']: header?.value ?? '' } })).status,
    ).toBe(200);
  }
  expect((await transport.autoPay(request)).state).toBe('swap_required');
  await transport.close();
  sandbox.controls.node.webSocket = 'on';
});

it('accepts no payment with tokens that a payment in flight takes', async () => {
  const service = await startService(sandbox, memoryJournal());
  const wallet = await sandbox.createWallet({ USDC: '0.015' });
  const buyer = await buyerOf(wallet, `${sandbox.apiUrl}/usdc`);
  // Both payments are planned before one of them is in flight.
  const [first, second] = [await buyer.post(service), await buyer.post(service)];
  const steps = [];
  for (const { body } of [first, second])
    steps.push(
      await buyer.post(service, { signedPayment: await buyer.sign(body.payment?.transaction) }),
    );
  expect(steps).toMatchObject([
    { body: { state: 'ready_to_present' } },
    { body: { code: 'insufficient_funds', details: { available: '5000' } } },
  ]);
});

it('follows a payment that the journal recorded although its write failed', async () => {
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
  expect(failed).toMatchObject({
    status: 503,
    body: { code: 'journal_unavailable', funds: 'uncertain', retry: 'same' },
  });
  isBroken = false;
  const known = await buyer.post(service, { signedPayment });
  expect(known.body.state).toBe('submitted');
  expect((await buyer.present(known)).status).toBe(200);
  const settled = await untilState('settled', () => buyer.post(service, { signedPayment }));
  expect(settled.body.signature).toBeDefined();
});

it('says of no landed payment that nothing was paid while its journal cannot be read', async () => {
  const inner = memoryJournal();
  let isBroken = false;
  const similar: typeof inner.similar = (...args) =>
    isBroken ? Promise.reject(new Error('The connection was lost.')) : inner.similar(...args);
  const service = await startService(sandbox, { ...inner, similar });
  const wallet = await sandbox.createWallet({ USDC: '1' });
  const buyer = await buyerOf(wallet, `${sandbox.apiUrl}/usdc`);
  const signedPayment = await buyer.sign((await buyer.post(service)).body.payment?.transaction);
  const post = () => buyer.post(service, { signedPayment });
  expect((await buyer.present(await post())).status).toBe(200);
  isBroken = true;
  expect(await post()).toMatchObject({
    status: 503,
    body: { code: 'journal_unavailable', funds: 'uncertain', retry: 'same' },
  });
  isBroken = false;
  await untilState('settled', post);
});

it('says of no signed payment that nothing was paid while it closes', async () => {
  const { rpcUrl, jupiterUrl } = sandbox;
  const service = await createOperations(
    parseLocalOptions({ rpcUrl, jupiterUrl, journal: memoryJournal() }),
  );
  const wallet = await sandbox.createWallet({ USDC: '1' });
  const { paymentRequired, sign } = await buyerOf(wallet, `${sandbox.apiUrl}/usdc`);
  const request = { paymentRequired, wallet: wallet.address };
  const signedPayment = await sign((await service.autoPay(request)).payment?.transaction);
  await service.close();
  await expect(service.autoPay({ ...request, signedPayment })).rejects.toMatchObject({
    ...{ code: 'client_closed', funds: 'uncertain', retry: 'same' },
  });
});

it('follows a payment although its tokens could not be held', async () => {
  const journal = memoryJournal();
  const { ledger, ...shared } = createCoordination();
  const hold = () => Promise.reject(new Error('The connection was lost.'));
  const coordination = () => ({ ...shared, ledger: { ...ledger, hold } });
  const service = await startService(sandbox, { ...journal, coordination });
  const wallet = await sandbox.createWallet({ USDC: '1' });
  const buyer = await buyerOf(wallet, `${sandbox.apiUrl}/usdc`);
  const signedPayment = await buyer.sign((await buyer.post(service)).body.payment?.transaction);
  expect((await buyer.present(await buyer.post(service, { signedPayment }))).status).toBe(200);
  const owner = { wallet: wallet.address, network: SOLANA_MAINNET };
  await until(
    'it is settled',
    async () => (await listOf(journal.attempts(owner, { state: 'settled' })))[0],
  );
});

it('holds the tokens of a payment as soon as its journal can again', async () => {
  const { ledger, ...shared } = createCoordination();
  let isBroken = true;
  const hold: typeof ledger.hold = (...args) =>
    isBroken ? Promise.reject(new Error('The connection was lost.')) : ledger.hold(...args);
  const coordination = () => ({ ...shared, ledger: { ...ledger, hold } });
  const service = await startService(sandbox, { ...memoryJournal(), coordination });
  const wallet = await sandbox.createWallet({ USDC: '1' });
  const buyer = await buyerOf(wallet, `${sandbox.apiUrl}/usdc`);
  const signedPayment = await buyer.sign((await buyer.post(service)).body.payment?.transaction);
  expect((await buyer.post(service, { signedPayment })).body.state).toBe('ready_to_present');
  isBroken = false;
  const account = await tokenAccount(wallet.address, sandbox.mints.USDC);
  await until('its tokens are held', async () => (await ledger.held(account)) > 0n || undefined);
});

it('follows an undecided payment once, however many rounds look for payments', async () => {
  const monitoring = vi.spyOn(monitor, 'monitorPayment');
  onTestFinished(() => monitoring.mockRestore());
  let [rounds, endRound] = [0, (): void => undefined];
  // The test ends the minute between two rounds; other waits run as usual.
  const idle = (ms: number, signal?: AbortSignal) => {
    if (ms !== 60_000) return systemRuntime.idle(ms, signal);
    rounds += 1;
    return untilAborted(new Promise<void>((resolve) => (endRound = resolve)), signal);
  };
  const { rpcUrl, jupiterUrl } = sandbox;
  const transport = await createOperations(
    parseLocalOptions({ rpcUrl, jupiterUrl, journal: memoryJournal() }, { ...systemRuntime, idle }),
  );
  onTestFinished(() => transport.close());
  const wallet = await sandbox.createWallet({ USDC: '1' });
  const { paymentRequired, sign } = await buyerOf(wallet, `${sandbox.apiUrl}/usdc`);
  const request = { paymentRequired, wallet: wallet.address };
  const planned = await transport.autoPay(request);
  const signedPayment = await sign(planned.payment?.transaction);
  await transport.autoPay({ ...request, signedPayment });
  for (let round = 1; round <= 4; round += 1) {
    await until('the round has ended', () => (rounds === round ? true : undefined));
    endRound();
  }
  await until('the last round has ended', () => (rounds === 5 ? true : undefined));
  expect(monitoring).toHaveBeenCalledTimes(1);
});

it('waits for a swap for 20 s in all, also if another service records it meanwhile', async () => {
  const time = startVirtualTime();
  const journal = memoryJournal();
  const { rpcUrl, jupiterUrl } = sandbox;
  const { node } = sandbox.controls;
  onTestFinished(node.fault('sendTransaction', { kind: 'neverLands' }));
  const serviceOver = async (request: typeof fetch) => {
    const options = parseLocalOptions({ rpcUrl, jupiterUrl, journal, fetch: request });
    const service = await createOperations(options);
    onTestFinished(() => service.close());
    return service;
  };
  const first = await serviceOver(time.fetch);
  // The node of the second service has the swap in a block that is not confirmed.
  let asked = 0;
  const second = await serviceOver(async (input, init) => {
    const answer = await time.fetch(input, init);
    if (!String(init?.body).includes('"getSignatureStatuses"')) return answer;
    asked += 1;
    const { result, ...rest } = (await answer.json()) as { result: { context: { slot: number } } };
    const { slot } = result.context;
    const status = { slot, confirmations: 0, err: null, confirmationStatus: 'processed' };
    return Response.json({ ...rest, result: { ...result, value: [status] } });
  });
  const wallet = await sandbox.createWallet({ SOL: '1' });
  const { paymentRequired, sign } = await buyerOf(wallet, `${sandbox.apiUrl}/usdc`);
  const request = { paymentRequired, wallet: wallet.address, autoSwap: true };
  const signedSwap = await sign((await first.autoPay(request)).swap?.transaction);
  const since = time.now();
  const late = second.autoPay({ ...request, signedSwap });
  await until('the second service waits', () => (asked > 0 ? true : undefined));
  const early = first.autoPay({ ...request, signedSwap });
  expect(await late).toMatchObject({ state: 'swap_submitted', id: (await early).id });
  expect(time.now() - since).toBeLessThan(25_000);
});

it('sends a swap though the journal takes 20 s to say what the wallet has open', async () => {
  const time = startVirtualTime();
  const inner = memoryJournal();
  let isSlow = false;
  const journal: typeof inner = {
    ...inner,
    async *attempts(...args) {
      if (isSlow) await systemRuntime.sleep(7_000);
      yield* inner.attempts(...args);
    },
  };
  const { rpcUrl, jupiterUrl } = sandbox;
  const service = await createOperations(
    parseLocalOptions({ rpcUrl, jupiterUrl, journal, fetch: time.fetch }),
  );
  onTestFinished(() => service.close());
  const wallet = await sandbox.createWallet({ SOL: '1' });
  const { paymentRequired, sign } = await buyerOf(wallet, `${sandbox.apiUrl}/usdc`);
  const request = { paymentRequired, wallet: wallet.address, autoSwap: true };
  const signedSwap = await sign((await service.autoPay(request)).swap?.transaction);
  isSlow = true;
  const { id } = await service.autoPay({ ...request, signedSwap });
  expect(id).toBeDefined();
});
