import type { CapUse, ClientOptions, LimitOptions } from 'exact-change';
import { describe, expect, it, onTestFinished } from 'vitest';
import { envelopeV2 } from '../fixtures/malformed-402.js';
import { tokenAmount, until } from '../helpers/chain.js';
import { failureOf, payerOn, type Payer } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';
import { timesSpent } from '../helpers/spends.js';
import { answerTerms, isPaid, type Seller, sellerOfTest } from '../helpers/seller.js';
import { answer, offerOf, settle, settlementHeader } from '../helpers/settling.js';
import { refusal } from '../helpers/untouched.js';

const sandbox = await useSandbox({ confirmationMs: 20 });

type Policy = NonNullable<ClientOptions['policy']>;
const url = (path: string) => sandbox.apiUrl + path;
const rich = (policy: Policy, options: ClientOptions = {}) =>
  payerOn(sandbox, { USDC: '1', USDT: '1' }, { policy, ...options });
const held = ({ address }: Payer) => tokenAmount(sandbox.rpcUrl, address, sandbox.mints.USDC);
const host = () => new URL(sandbox.apiUrl).host;

/** Returns the used amounts of a cap. */
async function used({ client }: Payer, name: string): Promise<string[]> {
  return (await client.spent()).filter(({ cap }) => cap === name).map((cap) => cap.used);
}

/** A seller that settles and serves what it asks for. */
async function selling(change: Record<string, unknown> = {}): Promise<Seller> {
  return sellerOfTest((request, response) => {
    if (!isPaid(request)) return answerTerms(response, envelopeV2([offerOf(sandbox, change)]));
    void settle(sandbox, request).then((settled) =>
      answer(response, settled.success ? 200 : 500, {}, settlementHeader({ ...settled })),
    );
  });
}

/** Caps with room for five payments of a cent in USDC to one seller, and their rows when full. */
const FIVE: readonly (readonly [name: string, policy: () => Policy, full: () => CapUse])[] = [
  ['maxPerDay', () => ({ maxPerDay: '0.05' }), () => use('maxPerDay', { windowMs: 86_400_000 })],
  ['maxPerHour', () => ({ maxPerHour: '0.05' }), () => use('maxPerHour', { windowMs: 3_600_000 })],
  ['maxTotal', () => ({ maxTotal: '0.05' }), () => use('maxTotal')],
  [
    'maxPerHost',
    () => ({ maxPerHost: { '127.0.0.1': '0.05' } }),
    () => use("maxPerHost['127.0.0.1']", { host: '127.0.0.1', windowMs: 86_400_000 }),
  ],
  [
    'dollars in a minute',
    () => limited({ usd: '0.05', per: 'minute' }),
    () => use('limits[0]', { windowMs: 60_000 }),
  ],
  [
    'dollars for ever',
    () => limited({ usd: '0.059999', per: 'total' }),
    () => use('limits[0]', { limit: '0.059999' }),
  ],
  [
    'a host',
    () => limited({ usd: '0.05', per: 'hour', host: host() }),
    () => use('limits[0]', { host: host(), windowMs: 3_600_000 }),
  ],
  [
    'each host',
    () => limited({ usd: '0.05', per: 'hour', host: '*' }),
    () => use('limits[0]', { host: '127.0.0.1', windowMs: 3_600_000 }),
  ],
  [
    'a payee',
    () => limited({ usd: '0.05', per: 'day', payee: sandbox.merchant }),
    () => use('limits[0]', { payee: sandbox.merchant, windowMs: 86_400_000 }),
  ],
  [
    'each payee',
    () => limited({ usd: '0.05', per: 'day', payee: '*' }),
    () => use('limits[0]', { payee: sandbox.merchant, windowMs: 86_400_000 }),
  ],
  [
    'a mint in base units',
    () => limited({ amount: '50000', mint: 'USDC', per: 'day' }),
    () =>
      inUnits('50000', sandbox.mints.USDC.address, {
        mint: sandbox.mints.USDC.address,
        windowMs: 86_400_000,
      }),
  ],
  [
    'a mint in dollars',
    () => limited({ usd: '0.05', mint: 'USDC', per: 'total' }),
    () => use('limits[0]', { mint: sandbox.mints.USDC.address }),
  ],
  [
    'a number in a minute',
    () => limited({ payments: 5, per: 'minute' }),
    () => inUnits('5', 'payments', { windowMs: 60_000 }),
  ],
  [
    'a number for each payee and host',
    () => limited({ payments: 5, per: 'total', host: '*', payee: '*' }),
    () => inUnits('5', 'payments', { host: '127.0.0.1', payee: sandbox.merchant }),
  ],
];
const limited = (...limits: LimitOptions[]): Policy => ({ limits });
const full = { limit: '0.05', used: '0.05', unit: 'USD' } as const;
const use = (cap: string, change: Partial<CapUse> = {}): CapUse => ({
  ...{ cap, ...full, parts: { payments: full.used, swaps: '0', fees: '0' } },
  ...change,
});
const inUnits = (all: string, unit: string, change: Partial<CapUse> = {}): CapUse => ({
  cap: 'limits[0]',
  limit: all,
  used: all,
  unit,
  ...change,
});

describe('a client, for eight parallel calls of a cent under a cap with room for five', () => {
  it.each(FIVE)('pays five and refuses three: %s', async (_, policy, whenFull) => {
    const payer = await rich(policy());
    const outcomes = await Promise.all(
      Array.from({ length: 8 }, (__, n) =>
        payer.client.fetch(url(`/usdc?n=${n}`)).then(
          ({ status }) => String(status),
          (error: unknown) => String(Reflect.get(Object(error), 'code')),
        ),
      ),
    );
    const count = (outcome: string) => outcomes.filter((found) => found === outcome).length;
    expect([count('200'), count('budget_exhausted')]).toEqual([5, 3]);
    expect(payer.signed.length).toBe(5);
    expect(await held(payer)).toBe(1_000_000n - 50_000n);
    const row = whenFull();
    expect((await payer.client.spent()).filter(({ cap }) => cap === row.cap)).toEqual([row]);
    const error = await refusal(sandbox, payer, 'budget_exhausted', () =>
      payer.client.fetch(url('/usdc')),
    );
    expect(error.details).toMatchObject({
      cap: row.cap,
      limit: row.limit,
      used: row.used,
      unit: row.unit,
    });
    // Only payments that leave a window make room.
    expect(error.retry).toBe(row.windowMs === undefined ? 'never' : 'fresh');
  });
});

describe('a cap that is full', () => {
  it('leaves other hosts their room if it is for each host, with a row for each', async () => {
    const payer = await rich(limited({ payments: 1, per: 'total', host: '*' }));
    const seller = await selling();
    const elsewhere = seller.url.replace('127.0.0.1', 'localhost');
    expect((await payer.client.fetch(url('/usdc'))).status).toBe(200);
    // Another port is the same host.
    await refusal(sandbox, payer, 'budget_exhausted', () => payer.client.fetch(seller.url));
    const pay = async (at: string) => payer.client.pay(await fetch(seller.url), { url: at });
    await pay(elsewhere);
    await failureOf(pay(elsewhere), 'budget_exhausted');
    expect(
      (await payer.client.spent())
        .filter(({ cap }) => cap === 'limits[0]')
        .map((row) => [row.host, row.used]),
    ).toEqual([
      ['127.0.0.1', '1'],
      ['localhost', '1'],
    ]);
  });

  it('leaves other payees their own room if it is for each payee', async () => {
    const payer = await rich(limited({ usd: '0.01', per: 'day', payee: '*' }));
    const other = await sandbox.createWallet({ USDC: '0' });
    const seller = await selling({ payTo: other.address });
    expect((await payer.client.fetch(url('/usdc'))).status).toBe(200);
    await refusal(sandbox, payer, 'budget_exhausted', () => payer.client.fetch(url('/memo')));
    expect((await payer.client.fetch(seller.url)).status).toBe(200);
    await refusal(sandbox, payer, 'budget_exhausted', () =>
      payer.client.fetch(`${seller.url}/again`),
    );
    expect((await used(payer, 'limits[0]')).length).toBe(2);
  });

  it('leaves other mints alone if it is for a mint', async () => {
    const payer = await rich(limited({ amount: 10_000n, mint: 'USDC', per: 'hour' }));
    expect((await payer.client.fetch(url('/usdc'))).status).toBe(200);
    await refusal(sandbox, payer, 'budget_exhausted', () => payer.client.fetch(url('/memo')));
    expect((await payer.client.fetch(url('/usdt'))).status).toBe(200);
  });

  it('is named if it has no room, and the payment takes nothing from its other caps', async () => {
    const payer = await rich({
      maxPerHour: '0.05',
      maxTotal: '0.015',
      ...limited({ payments: 9, per: 'minute' }),
    });
    expect((await payer.client.fetch(url('/usdc'))).status).toBe(200);
    const error = await refusal(sandbox, payer, 'budget_exhausted', () =>
      payer.client.fetch(url('/memo')),
    );
    expect(error.details).toEqual({
      cap: 'maxTotal',
      limit: '0.015',
      used: '0.01',
      amount: '0.01',
      unit: 'USD',
    });
    expect(error.retry).toBe('never');
    expect((await payer.client.spent()).map(({ cap, used: amount }) => [cap, amount])).toEqual([
      ['maxPerHour', '0.01'],
      ['maxPerDay', '0.01'],
      ['maxTotal', '0.01'],
      ['maxLamportsPerDay', '0'],
      ['limits[0]', '1'],
    ]);
  });

  it('allows nothing if it is 0', async () => {
    const payer = await rich(limited({ payments: 0, per: 'minute', host: '*' }));
    await refusal(sandbox, payer, 'budget_exhausted', () => payer.client.fetch(url('/usdc')));
    expect(await used(payer, 'limits[0]')).toEqual([]);
  });

  it('is full for another client of the same wallet too', async () => {
    const payer = await rich({ maxTotal: '0.05' });
    const other = payer.again();
    const calls = Array.from({ length: 20 }, (_, n) =>
      (n % 2 === 0 ? payer.client : other).fetch(url(`/usdc?n=${n}`)),
    );
    const outcomes = await Promise.allSettled(calls);
    expect(outcomes.filter(({ status }) => status === 'fulfilled').length).toBe(5);
    expect(payer.signed.length).toBe(5);
  });
});

describe('a limit on single payments', () => {
  const cases: readonly (readonly [name: string, limit: () => LimitOptions, amount: string])[] = [
    ['in dollars', () => ({ usd: '0.009999', per: 'payment' }), '0.01'],
    ['in base units', () => ({ amount: '9999', mint: 'USDC', per: 'payment' }), '10000'],
    ['for a host', () => ({ usd: '0.009999', per: 'payment', host: '127.0.0.1' }), '0.01'],
    ['for each payee', () => ({ usd: '0.009999', per: 'payment', payee: '*' }), '0.01'],
  ];
  it.each(cases)('refuses only payments above it: %s', async (_, limit, amount) => {
    const payer = await rich(limited(limit()));
    const error = await refusal(sandbox, payer, 'amount_over_limit', () =>
      payer.client.fetch(url('/usdc')),
    );
    expect(error.details).toMatchObject({ cap: 'limits[0]', amount });
    const seller = await selling({ amount: '9999' });
    expect((await payer.client.fetch(seller.url)).status).toBe(200);
  });
});

describe('a mint without a price', () => {
  const unpriced = async (policy: Policy) => {
    sandbox.controls.aggregator.untradable('BONK');
    onTestFinished(() => sandbox.controls.aggregator.restore());
    return payerOn(sandbox, { BONK: '1000000' }, { policy });
  };

  it('is not paid if the only limit is in dollars over time', async () => {
    const payer = await unpriced(limited({ usd: '1', per: 'day' }));
    expect((await failureOf(payer.client.fetch(url('/bonk')))).funds).toBe('untouched');
    expect(payer.signed).toEqual([]);
  });

  it('is paid within caps in its base units, and not beyond them', async () => {
    const price = 123_456_789n;
    const payer = await unpriced({
      maxAmount: { [sandbox.mints.BONK.address]: price },
      ...limited({ amount: 2n * price, mint: sandbox.mints.BONK.address, per: 'day' }),
    });
    for (const n of [1, 2])
      expect((await payer.client.fetch(url(`/bonk?n=${n}`))).status).toBe(200);
    const error = await refusal(sandbox, payer, 'budget_exhausted', () =>
      payer.client.fetch(url('/bonk?n=3')),
    );
    expect(error.details).toMatchObject({
      cap: 'limits[0]',
      unit: sandbox.mints.BONK.address,
      used: (2n * price).toString(),
    });
    expect(await used(payer, 'limits[0]')).toEqual([(2n * price).toString()]);
    expect(await used(payer, 'maxPerDay')).toEqual(['0']);
  });
});

describe('a failed payment', () => {
  it.each([
    ['maxTotal', { maxTotal: '0.01' }, '0.01'],
    ['limits[0]', { limits: [{ payments: 1, per: 'total', host: '*', payee: '*' }] }, '1'],
    ['limits[0]', { limits: [{ amount: '10000', mint: 'USDC', per: 'minute' }] }, '10000'],
  ] as const)(
    'holds its share of %s until the chain proves that it failed, and frees the share then',
    async (cap, policy, all) => {
      const payer = await rich(policy);
      sandbox.controls.facilitator.fault('/verify', { kind: 'status', status: 500, times: 1 });
      await failureOf(payer.client.fetch(url('/usdc')), 'payment_rejected');
      expect(await used(payer, cap)).toEqual([all]);
      await failureOf(payer.client.fetch(url('/memo')), 'budget_exhausted');
      sandbox.controls.node.warp();
      await until('it is freed', async () =>
        (await used(payer, cap)).every((amount) => amount === '0') ? true : undefined,
      );
      expect((await payer.again().fetch(url('/memo'))).status).toBe(200);
      expect(await used(payer, cap)).toEqual([all]);
      expect(await timesSpent(sandbox, payer, 'USDC')).toBe(1);
    },
  );
});
