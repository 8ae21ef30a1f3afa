import {
  memoryJournal,
  SOLANA_MAINNET,
  type ClientOptions,
  type Plan,
  type Receipt,
  type SigningIntent,
} from 'exact-change';
import type { Sandbox } from 'exact-change-sandbox';
import { describe, expect, it, onTestFinished } from 'vitest';
import { listOf } from '../helpers/attempts.js';
import { startTaker } from '../helpers/bounds.js';
import { landed, until } from '../helpers/chain.js';
import { failureOf, payerOn, recordingSigner, type Payer } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';
import { refusal } from '../helpers/untouched.js';
import { microUsd, paidOf } from '../helpers/worth.js';

const sandbox = await useSandbox({ confirmationMs: 20 });

type Approve = NonNullable<NonNullable<ClientOptions['policy']>['approve']>;
const url = (path: string) => sandbox.apiUrl + path;
const usedOf = async ({ client }: Payer) => (await client.spent())[0]?.used;

/** A hook that approves every plan, and the plans that it was shown. */
function yes(): { readonly approve: Approve; readonly shown: readonly Plan[] } {
  const shown: Plan[] = [];
  const approve = (plan: Plan) => {
    shown.push(structuredClone(plan));
    return true;
  };
  return { approve, shown };
}

const rich = { SOL: '0.5', USDC: '1', USDT: '5' } as const;
const short = { SOL: '0.5', USDT: '5' } as const;
const holder = (approve: Approve, options: ClientOptions = {}) =>
  payerOn(sandbox, rich, { policy: { approve }, ...options });
/** A payer that must swap USDT for a price in USDC. */
const swapper = (approve: Approve, options: ClientOptions = {}) =>
  payerOn(sandbox, short, { autoSwap: true, swapFrom: ['USDT'], policy: { approve }, ...options });

/** Logs the calls of the signer and of the hook in one list. */
async function ordered(funds: Parameters<Sandbox['createWallet']>[0], options: ClientOptions = {}) {
  const { address, secretKey } = await sandbox.createWallet(funds);
  const log: string[] = [];
  const { signer } = recordingSigner(address, secretKey);
  const signMessage = (message: Uint8Array, intent: SigningIntent) => {
    log.push(intent.kind);
    return signer.signMessage(message, intent);
  };
  const approve = async () => {
    log.push('asked');
    await new Promise((resolve) => setImmediate(resolve));
    log.push('answered');
    return true;
  };
  const payer = await payerOn(
    sandbox,
    {},
    { ...options, signer: { address, signMessage }, policy: { approve } },
  );
  return { payer, log };
}

/** Expects each part of the cost to be at most the plan's; the rent must be equal. */
function expectWithin(cost: Receipt['cost'] | undefined, most: Plan['cost']): void {
  const numbers = (amounts: Plan['cost']) => {
    const { usd = '', parts, networkFeeLamports = '', rentLamports = '' } = amounts ?? {};
    const dollars = [usd, parts?.payments ?? '', parts?.swaps ?? '', parts?.fees ?? ''].map(
      microUsd,
    );
    return [...dollars, BigInt(networkFeeLamports), BigInt(rentLamports)];
  };
  const shown = numbers(most);
  numbers(cost).forEach((value, index) =>
    expect([index, value <= (shown[index] ?? 0n)]).toEqual([index, true]),
  );
  expect(cost?.rentLamports).toBe(most?.rentLamports);
  expect(microUsd(cost?.usd ?? '')).toBeGreaterThan(0n);
}

describe('a call with policy.approve', () => {
  it('asks once for a payment, and the payment that lands is the approved plan', async () => {
    const { approve, shown } = yes();
    const payer = await holder(approve);
    const response = await payer.client.fetch(url('/usdc'));
    expect(response.status).toBe(200);
    const [plan, ...more] = shown;
    expect([plan?.swap, plan?.wrap, more]).toEqual([undefined, undefined, []]);
    const parts = { payments: '0.01', swaps: '0', fees: '0' };
    expect(plan?.cost).toEqual({ usd: '0.01', parts, networkFeeLamports: '0', rentLamports: '0' });
    const { USDC } = sandbox.mints;
    expect(plan).toMatchObject({
      url: url('/usdc'),
      method: 'GET',
      status: 402,
      maxFeeLamports: '0',
    });
    expect(plan?.payment).toEqual({
      ...{
        x402Version: 2,
        network: SOLANA_MAINNET,
        mint: USDC.address,
        amount: '10000',
        decimals: 6,
        symbol: 'USDC',
        uiAmount: '0.01',
        usd: '0.01',
      },
      ...{ payTo: sandbox.merchant, feePayer: sandbox.feePayer, available: '1000000' },
    });
    const [receipt] = await until('it is settled', async () => {
      const receipts = await listOf(payer.client.receipts({ state: 'settled' }));
      return receipts.length === 1 ? receipts : undefined;
    });
    const transaction = await landed(sandbox.rpcUrl, receipt?.payment.signature ?? '');
    expect(transaction.tokens.map(({ owner, mint, change }) => ({ owner, mint, change }))).toEqual(
      expect.arrayContaining([
        {
          owner: payer.address,
          mint: plan?.payment?.mint,
          change: -BigInt(plan?.payment?.amount ?? 0),
        },
        {
          owner: plan?.payment?.payTo,
          mint: plan?.payment?.mint,
          change: BigInt(plan?.payment?.amount ?? 0),
        },
      ]),
    );
    // The fee payer signs first and pays the network fee, so no other balance changes.
    expect([...transaction.lamports.keys()]).toEqual([plan?.payment?.feePayer]);
  });

  it('asks once for a swap and its payment, and both land within the approved plan', async () => {
    const { approve, shown } = yes();
    const payer = await swapper(approve);
    const swapped: Promise<string> = new Promise((resolve) =>
      payer.client.on('swap.signed', ({ signature }) => resolve(signature)),
    );
    expect((await payer.client.fetch(url('/usdc'))).status).toBe(200);
    expect(shown.length).toBe(1);
    const { swap, payment } = shown[0] ?? {};
    const intent = payer.signed.find(({ kind }) => kind === 'swap');
    expect(intent).toEqual({
      ...{
        kind: 'swap',
        network: SOLANA_MAINNET,
        inputMint: sandbox.mints.USDT.address,
        outputMint: sandbox.mints.USDC.address,
      },
      ...{ maxInAmount: swap?.maxInAmount, minOutAmount: swap?.minOutAmount },
    });
    expect(swap).toMatchObject({
      inputMint: sandbox.mints.USDT.address,
      outputMint: sandbox.mints.USDC.address,
      platformFeeBps: 0,
    });
    expect(swap).not.toHaveProperty('raw');
    const { tokens, fee } = await landed(sandbox.rpcUrl, await swapped);
    const change = (mint: string | undefined) =>
      tokens.find((token) => token.owner === payer.address && token.mint === mint)?.change ?? 0n;
    expect(-change(swap?.inputMint)).toBeLessThanOrEqual(BigInt(swap?.maxInAmount ?? 0));
    expect(change(swap?.outputMint)).toBeGreaterThanOrEqual(BigInt(swap?.minOutAmount ?? 0));
    expect(fee).toBeLessThanOrEqual(BigInt(shown[0]?.maxFeeLamports ?? 0));
    const [receipt] = await listOf(payer.client.receipts());
    expectWithin(receipt?.cost, shown[0]?.cost);
    const confirmed = payer.events.find((event) => event.type === 'swap.confirmed');
    const parts = { ...receipt?.cost.parts, payments: '0' };
    expect(confirmed).toMatchObject({ cost: { ...receipt?.cost, parts, usd: expect.any(String) } });
    const swapUsd = microUsd(parts.swaps ?? '') + microUsd(parts.fees ?? '');
    expect(microUsd(confirmed?.type === 'swap.confirmed' ? (confirmed.cost?.usd ?? '') : '')).toBe(
      swapUsd,
    );
    expect(payer.signed.find(({ kind }) => kind === 'payment')).toMatchObject({
      amount: payment?.amount,
      payTo: payment?.payTo,
    });
  });

  it('shows the lamports to wrap, and no swap, for a price in wrapped SOL', async () => {
    const { approve, shown } = yes();
    const seller = await startTaker(sandbox, [['SOL', '50000']]);
    onTestFinished(() => seller.close());
    const payer = await payerOn(sandbox, { SOL: '0.5' }, { autoSwap: true, policy: { approve } });
    expect((await payer.client.fetch(seller.url)).status).toBe(200);
    expect(shown.map(({ payment, swap }) => [payment?.amount, swap])).toEqual([
      ['50000', undefined],
    ]);
    const [receipt] = await listOf(payer.client.receipts());
    expectWithin(receipt?.cost, shown[0]?.cost);
    const signedWrap = payer.signed.find(({ kind }) => kind === 'swap');
    expect(signedWrap).toMatchObject({
      inputMint: sandbox.mints.SOL.address,
      maxInAmount: shown[0]?.wrap,
    });
  });

  it.each([
    ['without a swap', rich, ['asked', 'answered', 'payment']],
    ['with a swap', short, ['asked', 'answered', 'swap', 'payment']],
  ] as const)('signs nothing before the hook has answered: %s', async (_, funds, order) => {
    const { payer, log } = await ordered(funds, { autoSwap: true, swapFrom: ['USDT'] });
    expect((await payer.client.fetch(url('/usdc'))).status).toBe(200);
    expect(log).toEqual(order);
  });

  it('asks once for each of four parallel calls when they share one swap', async () => {
    const { approve, shown } = yes();
    const payer = await swapper(approve);
    const answers = await Promise.all(
      [1, 2, 3, 4].map((n) => payer.client.fetch(url(`/usdc?n=${n}`))),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(shown.map((plan) => plan.url).sort()).toEqual(
      [1, 2, 3, 4].map((n) => url(`/usdc?n=${n}`)),
    );
    expect(shown.filter(({ swap }) => swap !== undefined).length).toBe(
      payer.signed.filter(({ kind }) => kind === 'swap').length,
    );
    expect(payer.signed.filter(({ kind }) => kind === 'swap').length).toBe(1);
  });

  it('shows the caps as they are before the payment counts', async () => {
    const { approve, shown } = yes();
    const payer = await holder(approve);
    for (const path of ['/usdc', '/memo'])
      expect((await payer.client.fetch(url(path))).status).toBe(200);
    expect(shown.map(({ caps }) => caps.map(({ cap, used }) => [cap, used]))).toEqual([
      [
        ['maxPerDay', '0'],
        ['maxLamportsPerDay', '0'],
      ],
      [
        ['maxPerDay', '0.01'],
        ['maxLamportsPerDay', '0'],
      ],
    ]);
  });

  it('signs the original swap and payment when the hook overwrites its plan', async () => {
    const shown: Plan[] = [];
    const approve = (plan: Plan) => {
      shown.push(structuredClone(plan));
      deface(plan);
      return true;
    };
    const payer = await swapper(approve);
    expect((await payer.client.fetch(url('/usdc'))).status).toBe(200);
    const swap = payer.signed.find(({ kind }) => kind === 'swap');
    expect(swap).toMatchObject({
      maxInAmount: shown[0]?.swap?.maxInAmount,
      minOutAmount: shown[0]?.swap?.minOutAmount,
    });
    expect(payer.signed.find(({ kind }) => kind === 'payment')).toMatchObject({
      amount: '10000',
      payTo: sandbox.merchant,
    });
    expect(await paidOf(payer.client)).toBe('0.01');
  });

  it('pays the cheapest offer and later calls when the hook overwrites each plan', async () => {
    const payer = await payerOn(sandbox, rich, {
      policy: { approve: (plan) => (deface(plan), true) },
    });
    for (const path of ['/any', '/any', '/usdc'])
      expect((await payer.client.fetch(url(path))).status).toBe(200);
    const paid = payer.signed.map((intent) => ('amount' in intent ? intent.amount : intent.kind));
    expect(paid).toEqual(['10000', '10000', '10000']);
  });
});

/** Overwrites every property of a value, and of the values inside it, unless it is frozen. */
function deface(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  for (const key of Reflect.ownKeys(value)) {
    deface(Reflect.get(value, key));
    Reflect.set(value, key, '1');
  }
  if (Array.isArray(value) && !Object.isFrozen(value)) value.push(null);
}

const never = () => new Promise<boolean>(() => undefined);
const NOES: readonly (readonly [name: string, approve: () => unknown])[] = [
  ['false', () => false],
  ['a promise of false', () => Promise.resolve(false)],
  [
    'a throw',
    () => {
      throw new Error('no');
    },
  ],
  ['a rejection', () => Promise.reject(new Error('no'))],
  ['no answer in time', never],
  ['undefined', () => undefined],
  ['1', () => 1],
  ['"true"', () => 'true'],
  ['{}', () => ({})],
  ['new Boolean(true)', () => Object(true) as unknown],
  ['a promise of "yes"', () => Promise.resolve('yes')],
];
/** Passes a hook that the types forbid, as a caller in plain JavaScript can. */
const hook = (approve: () => unknown) => approve as Approve;

describe('a call that policy.approve does not answer with true', () => {
  it.each(NOES)('is refused before it signs a payment: %s', async (_, approve) => {
    const payer = await holder(hook(approve), { timeouts: { signer: 60 } });
    const error = await refusal(sandbox, payer, 'approval_refused', () =>
      payer.client.fetch(url('/usdc')),
    );
    expect(error).toMatchObject({
      name: 'PolicyError',
      retry: 'never',
      details: { reason: 'refused' },
      message: expect.stringContaining('did not return true'),
    });
    expect(payer.signed).toEqual([]);
  });

  // The same check reads the answer, so three kinds of no are enough here.
  it.each(NOES.slice(2, 5))('is refused before it signs a swap: %s', async (_, approve) => {
    const payer = await swapper(hook(approve), { timeouts: { signer: 60 } });
    await refusal(sandbox, payer, 'approval_refused', () => payer.client.fetch(url('/usdc')));
    expect(payer.signed).toEqual([]);
  });

  it('rejects with the error of the hook as its cause', async () => {
    const cause = new Error('the boss says no');
    const payer = await holder(() => Promise.reject(cause));
    expect((await failureOf(payer.client.fetch(url('/usdc')), 'approval_refused')).cause).toBe(
      cause,
    );
  });

  it('refuses, and is not closed, if the hook throws that another client is closed', async () => {
    const other = await holder(() => true);
    await other.client.close();
    const payer = await holder(async () => (await other.client.fetch(url('/usdc'))).ok);
    await failureOf(payer.client.fetch(url('/usdc')), 'approval_refused');
  });

  it('frees the tokens, the budget and the idempotency key', async () => {
    let answer = false;
    const approve = () => answer;
    const payer = await payerOn(
      sandbox,
      { USDC: '0.01' },
      { policy: { approve, maxPerDay: '0.01' } },
    );
    const buy = () => payer.client.fetch(url('/usdc'), { idempotencyKey: 'order' });
    for (const _ of [1, 2]) await failureOf(buy(), 'approval_refused');
    expect(await usedOf(payer)).toBe('0');
    answer = true;
    expect((await buy()).status).toBe(200);
    expect(await usedOf(payer)).toBe('0.01');
  });

  it('asks for no other token after a refusal', async () => {
    let asked = 0;
    const payer = await payerOn(
      sandbox,
      { SOL: '0.5', USDT: '5' },
      { autoSwap: true, policy: { approve: () => ((asked += 1), false) } },
    );
    await failureOf(payer.client.fetch(url('/usdc')), 'approval_refused');
    expect(asked).toBe(1);
  });
});

describe('a call that waits for policy.approve', () => {
  /** A hook that waits until the test calls `answer`. */
  function waiting() {
    let ask = (): void => undefined;
    const asked = new Promise<void>((resolve) => (ask = resolve));
    let answer = (_: boolean): void => undefined;
    const answered = new Promise<boolean>((resolve) => (answer = resolve));
    return { approve: () => (ask(), answered), asked, answer: (value: boolean) => answer(value) };
  }

  it.each(['payment', 'swap'] as const)(
    'signs nothing when its caller aborts: %s',
    async (kind) => {
      const { approve, asked, answer } = waiting();
      const payer = await (kind === 'swap' ? swapper(approve) : holder(approve));
      const controller = new AbortController();
      const call = payer.client.fetch(url('/usdc'), { signal: controller.signal });
      await asked;
      controller.abort('enough');
      await expect(call).rejects.toBe('enough');
      answer(true);
      await until('the budget is free', async () =>
        (await usedOf(payer)) === '0' ? true : undefined,
      );
      expect(payer.signed).toEqual([]);
      const next = payer.again({ autoSwap: true, swapFrom: ['USDT'] });
      expect((await next.fetch(url('/usdc'))).status).toBe(200);
    },
  );

  it.each(['payment', 'swap'] as const)(
    'rejects with client_closed and signs nothing when the client closes: %s',
    async (kind) => {
      const { approve, asked, answer } = waiting();
      const payer = await (kind === 'swap' ? swapper(approve) : holder(approve));
      const call = failureOf(payer.client.fetch(url('/usdc')), 'client_closed');
      await asked;
      await payer.client.close();
      expect(await call).toMatchObject({ funds: 'untouched', moved: [] });
      answer(true);
      expect(payer.signed).toEqual([]);
    },
  );

  it('reserves its cost, so another call cannot use that budget', async () => {
    const { approve, asked, answer } = waiting();
    const payer = await payerOn(sandbox, rich, { policy: { approve, maxPerDay: '0.01' } });
    const first = payer.client.fetch(url('/usdc'));
    await asked;
    await failureOf(payer.client.fetch(url('/memo')), 'budget_exhausted');
    answer(true);
    expect((await first).status).toBe(200);
  });

  it('does not delay a call of another client of the wallet', async () => {
    const { approve, asked, answer } = waiting();
    const journal = memoryJournal();
    const payer = await payerOn(
      sandbox,
      { SOL: '0.5', USDC: '1', USDT: '5' },
      { policy: { approve }, journal },
    );
    const first = payer.client.fetch(url('/usdc'));
    await asked;
    expect((await payer.again({ journal }).fetch(url('/memo'))).status).toBe(200);
    answer(true);
    expect((await first).status).toBe(200);
  });

  /**
   * Makes the approved swap fail by its price. A call that quotes again gets SOL at `picoUsd` and a
   * swap that works.
   */
  function moveTo(picoUsd: bigint): void {
    const { aggregator } = sandbox.controls;
    aggregator.setVenue({ deviationBps: 80 });
    aggregator.setPrice('SOL', picoUsd);
    for (const endpoint of ['/swap/v1/quote', '/swap/v2/build']) {
      aggregator.lie(endpoint, (answer) => {
        aggregator.setVenue({});
        return answer;
      });
    }
  }
  const fromSol = (approve: Approve) =>
    payerOn(sandbox, { SOL: '0.5' }, { autoSwap: true, policy: { approve } });

  it('is refused as changed and signs nothing when the price rises past the plan', async () => {
    const { approve, asked, answer } = waiting();
    const payer = await fromSol(approve);
    const call = failureOf(payer.client.fetch(url('/usdc')), 'approval_refused');
    await asked;
    moveTo((sandbox.mints.SOL.picoUsd * 992n) / 1_000n);
    answer(true);
    const error = await call;
    expect(error).toMatchObject({
      funds: 'untouched',
      moved: [],
      retry: 'fresh',
      details: { reason: 'changed' },
    });
    expect(payer.signed).toEqual([]);
    expect(await usedOf(payer)).toBe('0');
  });

  it('quotes again without a second question when the price falls', async () => {
    const { approve, asked, answer } = waiting();
    const shown: Plan[] = [];
    const payer = await fromSol((plan) => {
      shown.push(structuredClone(plan));
      return approve();
    });
    const call = payer.client.fetch(url('/usdc'));
    await asked;
    moveTo((sandbox.mints.SOL.picoUsd * 1_010n) / 1_000n);
    answer(true);
    expect((await call).status).toBe(200);
    expect(shown.length).toBe(1);
    const [swap, ...more] = payer.signed.filter(({ kind }) => kind === 'swap');
    expect(more).toEqual([]);
    const max = (text: string | undefined) => BigInt(text ?? 0);
    expect(
      max(swap !== undefined && 'maxInAmount' in swap ? swap.maxInAmount : undefined),
    ).toBeLessThan(max(shown[0]?.swap?.maxInAmount));
  });
});

describe('policy.approve', () => {
  it('is asked by client.pay, which signs nothing when it is refused', async () => {
    const { approve, shown } = yes();
    const payer = await holder(approve);
    const unpaid = await fetch(url('/usdc'));
    const { header, receipt } = await payer.client.pay(unpaid);
    expect(header.value).not.toBe('');
    expect(shown.map(({ payment }) => payment?.amount)).toEqual([receipt.payment.amount]);
    const strict = await holder(() => false);
    const again = await fetch(url('/usdc'));
    await refusal(sandbox, strict, 'approval_refused', () => strict.client.pay(again));
  });

  it('is not asked by client.plan', async () => {
    const { approve, shown } = yes();
    const payer = await swapper(approve);
    expect((await payer.client.plan(url('/usdc'))).swap).toBeDefined();
    expect(shown).toEqual([]);
  });

  it('is not asked for a payment that a cap or a list refuses', async () => {
    const { approve, shown } = yes();
    const payer = await payerOn(sandbox, rich, { policy: { approve, maxPerPayment: '0.005' } });
    await failureOf(payer.client.fetch(url('/usdc')), 'amount_over_limit');
    const over = await payerOn(sandbox, rich, { policy: { approve, maxPerDay: '0.005' } });
    await failureOf(over.client.fetch(url('/usdc')), 'budget_exhausted');
    const denied = await payerOn(sandbox, rich, { policy: { approve, deny: { mints: ['USDC'] } } });
    await failureOf(denied.client.fetch(url('/usdc')), 'not_allowed');
    expect(shown).toEqual([]);
  });

  it('is not asked for a payment that is presented again', async () => {
    const { approve, shown } = yes();
    const payer = await holder(approve);
    const stop = payer.client.on('payment.sent', () => {
      stop();
      sandbox.controls.api.fault('/usdc', { kind: 'dropBefore', times: 1 });
    });
    await failureOf(payer.client.fetch(url('/usdc')), 'payment_uncertain');
    expect((await payer.client.fetch(url('/usdc'))).status).toBe(200);
    expect(shown.length).toBe(1);
  });
});
