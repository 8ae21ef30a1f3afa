import { address } from '@solana/kit';
import { memoryJournal, type ClientOptions } from 'exact-change';
import { createSandbox, type MintSymbol, type Sandbox, type SandboxWallet } from 'exact-change/sandbox';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { listOf } from '../helpers/attempts.js';
import { buyerOf, startService, type AutoPayService } from '../helpers/auto-pay.js';
import { until } from '../helpers/chain.js';
import { JOURNALS, journalsOfAllKinds } from '../helpers/journals.js';
import { closePayers, payerOn, type Payer } from '../helpers/payer.js';
import { everyCase } from '../helpers/sampled.js';
import { answerTerms, isPaid, startSeller } from '../helpers/seller.js';
import { answer, offerOf, settle, settlementHeader } from '../helpers/settling.js';
import { microUsd, worth } from '../helpers/worth.js';

let sandbox: Sandbox;
const journalOf = journalsOfAllKinds();

beforeAll(async () => {
  sandbox = await createSandbox({ confirmationMs: 20 });
});
afterEach(async () => {
  sandbox.controls.aggregator.restore();
  sandbox.controls.node.clearFaults();
  await closePayers();
});
afterAll(() => sandbox.close());

const DOLLAR = 10n ** 12n;
const SYMBOLS: readonly MintSymbol[] = ['SOL', 'USDC', 'USDT', 'PYUSD', 'BONK'];
const PLACES = [...JOURNALS, 'memory, by quotes of a service'] as const;

/** What makes a client keep its journal there. */
async function placed(kind: (typeof PLACES)[number]): Promise<ClientOptions> {
  if (kind !== 'memory, by quotes of a service') return { journal: await journalOf(kind) };
  const service = await startService(sandbox, memoryJournal());
  onTestFinished(() => service.close());
  return { journal: memoryJournal(), apiUrl: service.url };
}

/** A seller that asks for a token of its own on each call, with a market that pays it, and refuses every payment. */
async function greedySeller(dollars: number) {
  const own = address((await sandbox.createWallet({ SOL: '0.1' })).address);
  let calls = 0;
  const terms = async () => {
    const decimals = [0, 6, 9][(calls += 1) % 3] ?? 0;
    const price = BigInt(Math.round(dollars * 1e6)) * (DOLLAR / 1_000_000n);
    const one = 10n ** BigInt(decimals);
    // A base unit costs a whole number of picodollars.
    const amount = one < price ? one : price;
    const mint = await sandbox.createMint({ decimals, authority: own, proceedsTo: own, picoUsd: price / amount });
    await sandbox.chain.fundToken(own, mint, 0n);
    return offerOf(sandbox, { asset: mint.address, payTo: own, amount: String(amount) });
  };
  const seller = await startSeller((request, response) => {
    if (isPaid(request)) return answer(response, 402, {});
    terms().then(
      (offer) => answerTerms(response, { x402Version: 2, accepts: [offer] }),
      () => request.socket.destroy(),
    );
  });
  onTestFinished(() => seller.close());
  return seller.url;
}

async function balancesOf(wallet: string): Promise<Record<MintSymbol, bigint>> {
  const entries = await Promise.all(SYMBOLS.map(async (symbol) => [symbol, await sandbox.balance(wallet, symbol)] as const));
  return Object.fromEntries(entries) as Record<MintSymbol, bigint>; // One for each symbol, just made.
}

/** A wallet with a journal, and what has left it by the chain, in picodollars; tokens that only their seller prices are worth nothing. */
async function watched(options: ClientOptions) {
  const payer = await payerOn(sandbox, { SOL: '1', USDC: '30' }, { autoSwap: true, ...options });
  const given = worth(sandbox, await balancesOf(payer.address));
  return { ...payer, left: async () => given - worth(sandbox, await balancesOf(payer.address)) };
}

type Watched = Awaited<ReturnType<typeof watched>>;

/** What left is within every cap in dollars, and none of them says that less is used. */
async function expectWithinCaps({ client, left }: Watched): Promise<bigint> {
  const gone = await left();
  for (const { cap, limit, used, unit } of await client.spent()) {
    if (unit !== 'USD') continue;
    expect([cap, gone <= microUsd(limit) * 1_000_000n]).toEqual([cap, true]);
    expect([cap, used, microUsd(used) * 1_000_000n >= gone]).toEqual([cap, used, true]);
  }
  return gone;
}

const outcomeOf = (call: Promise<Response>) =>
  call.then(
    ({ status }) => String(status),
    (error: unknown) => String(Reflect.get(Object(error), 'code')),
  );
const swaps = ({ signed }: Payer) => signed.filter(({ kind }) => kind === 'swap').length;

/** What left a wallet by the chain, and what it signed. */
interface Gone {
  readonly picoUsd: bigint;
  readonly usdc: bigint;
  readonly lamports: bigint;
  readonly payments: bigint;
  readonly swaps: bigint;
}

const CAPS: readonly (readonly [what: string, policy: ClientOptions['policy'], most: bigint, leftBy: (gone: Gone) => bigint])[] = [
  ['dollars of an hour', { maxPerHour: '1.20' }, (12n * DOLLAR) / 10n, ({ picoUsd }) => picoUsd],
  ['dollars of a minute', { limits: [{ usd: '1.20', per: 'minute' }] }, (12n * DOLLAR) / 10n, ({ picoUsd }) => picoUsd],
  ['dollars of a payee', { limits: [{ usd: '1.20', per: 'day', payee: '*' }] }, (12n * DOLLAR) / 10n, ({ picoUsd }) => picoUsd],
  ['base units of what is swapped', { limits: [{ amount: '500000', mint: 'USDC', per: 'day' }] }, 500_000n, ({ usdc }) => usdc],
  ['lamports', { limits: [{ lamports: 5_000_000n, per: 'total' }] }, 5_000_000n, ({ lamports }) => lamports],
  ['payments', { limits: [{ payments: 2, per: 'hour' }] }, 2n, ({ payments }) => payments],
  ['swaps', { limits: [{ swaps: 2, per: 'hour' }] }, 2n, ({ swaps: made }) => made],
];

const AT_ONCE = everyCase ? 30 : 12;

describe.each(PLACES)('over a journal in %s, a seller with a new token of its own on each call', (kind) => {
  it('gets no more than the caps allow in a day, price by price', { timeout: 120_000 }, async () => {
    const payer = await watched(await placed(kind));
    const url = await greedySeller(0.2);
    const outcomes: string[] = [];
    for (let call = 0; call < 30; call += 1) {
      outcomes.push(await outcomeOf(payer.client.fetch(`${url}/${call}`)));
      await expectWithinCaps(payer);
    }
    // It was let in, and it was stopped.
    expect(outcomes).toContain('payment_rejected');
    expect(outcomes.slice(-1)).toEqual(['budget_exhausted']);
    expect(await expectWithinCaps(payer)).toBeGreaterThan(5n * DOLLAR);
  });

  it.each<[string, number, ClientOptions['policy']]>([
    ['dust, with the caps as they are', 0.000001, {}],
    ['dust, under maxTotal of a dollar', 0.000001, { maxTotal: '1.00' }],
    ['30 cents, under maxTotal of a dollar', 0.3, { maxTotal: '1.00' }],
    ['30 cents, under 2 dollars an hour for each host', 0.3, { limits: [{ usd: '2', per: 'hour', host: '*' }] }],
    ['30 cents, under 2 dollars for its host', 0.3, { maxPerHost: { '127.0.0.1': '2' } }],
  ])(`gets no more than the caps allow from ${AT_ONCE} calls at once: %s`, { timeout: 120_000 }, async (_, dollars, policy) => {
    const payer = await watched({ ...(await placed(kind)), policy });
    const url = await greedySeller(dollars);
    await Promise.all(Array.from({ length: AT_ONCE }, (__, call) => outcomeOf(payer.client.fetch(`${url}/${call}`))));
    await until('what is under way has ended', async () => (await payer.client.resume().then(() => true)) || undefined);
    await expectWithinCaps(payer);
    expect(swaps(payer)).toBeGreaterThan(0);
  });

  it('gets no more than the caps allow from many hosts at once', { timeout: 120_000 }, async () => {
    const payer = await watched({ ...(await placed(kind)), policy: { maxTotal: '3.00' } });
    const urls = await Promise.all([0.3, 0.01, 0.2, 0.1].map((dollars) => greedySeller(dollars)));
    await Promise.all(urls.flatMap((url) => [1, 2, 3].map((call) => outcomeOf(payer.client.fetch(`${url}/${call}`)))));
    await until('what is under way has ended', async () => (await payer.client.resume().then(() => true)) || undefined);
    await expectWithinCaps(payer);
    expect(swaps(payer)).toBeGreaterThan(0);
  });

  it.each(CAPS.filter((_, index) => everyCase || kind === 'memory' || index % PLACES.length === PLACES.indexOf(kind)))(
    'gets no more than a cap allows that counts %s',
    { timeout: 120_000 },
    async (_, policy, most, leftBy) => {
      const payer = await watched({ ...(await placed(kind)), swapFrom: ['USDC'], policy });
      const given = await balancesOf(payer.address);
      const url = await greedySeller(0.2);
      const outcomes = await Promise.all(Array.from({ length: 6 }, (__, call) => outcomeOf(payer.client.fetch(`${url}/${call}`))));
      const now = await balancesOf(payer.address);
      const count = (of: string) => BigInt(payer.signed.filter(({ kind: one }) => one === of).length);
      const gone = leftBy({
        picoUsd: await payer.left(),
        usdc: given.USDC - now.USDC,
        lamports: given.SOL - now.SOL,
        payments: count('payment'),
        swaps: count('swap'),
      });
      expect(gone).toBeGreaterThan(0n);
      expect(gone).toBeLessThanOrEqual(most);
      // It was let in, and it was stopped.
      expect(new Set(outcomes)).toEqual(new Set(['payment_rejected', 'budget_exhausted']));
      await expectWithinCaps(payer);
    },
  );
});

/** Signs all that a service plans for one purchase, and presents it; the last state or code that it answers with. */
async function buyAt(service: AutoPayService, wallet: SandboxWallet, url: string): Promise<string> {
  const buyer = await buyerOf(wallet, url);
  let answer = await buyer.post(service);
  for (let step = 0; step < 10; step += 1) {
    const { swap, payment, header, state, code } = answer.body;
    if (header !== undefined) return String((await buyer.present(answer)).status);
    const signed =
      swap !== undefined
        ? { signedSwap: await buyer.sign(swap.transaction) }
        : payment !== undefined
          ? { signedPayment: await buyer.sign(payment.transaction) }
          : undefined;
    if (signed === undefined) return code ?? state;
    answer = await until('the service has decided', async () => {
      const next = await buyer.post(service, signed);
      return next.body.state === 'swap_submitted' ? undefined : next;
    });
  }
  return 'too many steps';
}

describe.each(JOURNALS)('at a service with a journal in %s, a seller with a new token of its own on each call', (kind) => {
  const policies: readonly (readonly [name: string, dollars: bigint, policy: ClientOptions['policy']])[] = [
    ['maxTotal of a dollar', 1n, { maxTotal: '1.00' }],
    // Some forty purchases: in `npm test` with one journal.
    ...(everyCase || kind === 'Postgres' ? ([['the caps as they are', 10n, {}]] as const) : []),
    ...(everyCase || kind === 'file' ? ([['two swaps an hour', 2n, { limits: [{ swaps: 2, per: 'hour' }] }]] as const) : []),
  ];
  it.each(policies)('gets no more than the caps allow, under %s', { timeout: 120_000 }, async (_, dollars, policy) => {
    const wallet = await sandbox.createWallet({ SOL: '1', USDC: '30' });
    const service = await startService(sandbox, await journalOf(kind), { policy });
    onTestFinished(() => service.close());
    const given = worth(sandbox, await balancesOf(wallet.address));
    const url = await greedySeller(0.3);
    const outcomes: string[] = [];
    for (let call = 0; call < 40 && !outcomes.includes('budget_exhausted'); call += 1) {
      outcomes.push(await buyAt(service, wallet, `${url}/${call}`));
      expect(given - worth(sandbox, await balancesOf(wallet.address))).toBeLessThanOrEqual(dollars * DOLLAR);
    }
    // It was let in, and it was stopped.
    expect(outcomes).toContain('402');
    expect(outcomes.slice(-1)).toEqual(['budget_exhausted']);
  });
});

describe('swaps for payments', () => {
  it('that land and fail are counted: what they burned is within a cap in lamports', { timeout: 60_000 }, async () => {
    const cap = everyCase ? 3_000_000n : 2_500_000n;
    const payer = await watched({ policy: { maxLamportsPerDay: cap } });
    payer.client.on('swap.signed', () => sandbox.controls.aggregator.setVenue({ deviationBps: 80 }));
    let told = 0n;
    payer.client.on('swap.failed', ({ cost }) => {
      told += BigInt(cost?.networkFeeLamports ?? 0);
      sandbox.controls.aggregator.setVenue({});
    });
    payer.client.on('swap.confirmed', ({ cost }) => {
      told += BigInt(cost?.networkFeeLamports ?? 0) + BigInt(cost?.rentLamports ?? 0);
    });
    const before = await sandbox.balance(payer.address, 'SOL');
    const outcomes: string[] = [];
    for (let call = 0; call < 120 && outcomes[outcomes.length - 1] !== 'budget_exhausted'; call += 1) {
      outcomes.push(await outcomeOf(payer.client.fetch(`${sandbox.apiUrl}/usdt?n=${call}`)));
    }
    expect(outcomes.slice(-1)).toEqual(['budget_exhausted']);
    const burned = before - (await sandbox.balance(payer.address, 'SOL'));
    expect(burned).toBeGreaterThan(0n);
    expect(burned).toBeLessThanOrEqual(cap);
    const [lamports] = (await payer.client.spent()).filter(({ cap }) => cap === 'maxLamportsPerDay');
    expect([lamports?.used, told]).toEqual([burned.toString(), burned]);
    await expectWithinCaps(payer);
  });

  it('take no more lamports than a cap allows while SOL has no price', { timeout: 60_000 }, async () => {
    for (const dollar of ['USDC', 'USDT'] as const) sandbox.controls.aggregator.noRoute('SOL', dollar);
    const payer = await watched({ swapFrom: ['USDC'], policy: { maxLamportsPerDay: 5_000_000n } });
    const before = await sandbox.balance(payer.address, 'SOL');
    const url = await greedySeller(0.01);
    const outcomes: string[] = [];
    for (let call = 0; call < 10 && outcomes[outcomes.length - 1] !== 'budget_exhausted'; call += 1) {
      outcomes.push(await outcomeOf(payer.client.fetch(`${url}/${call}`)));
    }
    expect(new Set(outcomes)).toEqual(new Set(['payment_rejected', 'budget_exhausted']));
    const burned = before - (await sandbox.balance(payer.address, 'SOL'));
    expect(burned).toBeGreaterThan(0n);
    expect(burned).toBeLessThanOrEqual(5_000_000n);
    const rows = await payer.client.spent();
    expect(rows.find(({ cap }) => cap === 'maxLamportsPerDay')?.used).toBe(burned.toString());
    // Nothing in dollars for fees and rent, all for what went in.
    const day = rows.find(({ cap }) => cap === 'maxPerDay');
    expect(day?.parts?.fees).toBe('0');
    expect(microUsd(day?.used ?? '0') * 1_000_000n).toBeGreaterThanOrEqual(
      (30_000_000n - (await sandbox.balance(payer.address, 'USDC'))) * 1_000_000n,
    );
  });

  it('are bounded in number by limits', { timeout: 60_000 }, async () => {
    const payer = await watched({ policy: { limits: [{ swaps: 5, per: 'hour' }] } });
    const url = await greedySeller(0.01);
    const outcomes = await Promise.all(Array.from({ length: 12 }, (_, call) => outcomeOf(payer.client.fetch(`${url}/${call}`))));
    expect([swaps(payer), outcomes.filter((one) => one === 'budget_exhausted').length]).toEqual([5, 7]);
    await expectWithinCaps(payer);
  });

  it.each<[symbol: MintSymbol, amount: string, maxPerPayment: string]>([
    ['SOL', '3', '3'],
    ['USDT', '300', '2.9'],
  ])(
    'that would be above the cap of one payment for all that wait are made for that one alone, of %s',
    { timeout: 120_000 },
    async (symbol, amount, maxPerPayment) => {
      const PAYMENTS = everyCase ? 40 : 12;
      const seller = await startSeller((request, response) => {
        const offer = offerOf(sandbox, { amount: '2500000' });
        if (!isPaid(request)) return answerTerms(response, { x402Version: 2, accepts: [offer] });
        settle(sandbox, request).then(
          (settled) => answer(response, settled.success ? 200 : 402, {}, settlementHeader({ ...settled })),
          () => request.socket.destroy(),
        );
      });
      onTestFinished(() => seller.close());
      const policy = { maxPerPayment, maxPerDay: '200', maxLamportsPerDay: 10n ** 9n };
      const payer = await payerOn(sandbox, { SOL: '1', [symbol]: amount }, { autoSwap: true, swapFrom: [symbol], policy });
      const before = await balancesOf(payer.address);
      const paidBefore = await sandbox.balance(sandbox.merchant, 'USDC');
      const outcomes = await Promise.all(
        Array.from({ length: PAYMENTS }, (_, call) => outcomeOf(payer.client.fetch(`${seller.url}/${call}`))),
      );
      expect(outcomes.filter((one) => one !== '200')).toEqual([]);
      expect((await sandbox.balance(sandbox.merchant, 'USDC')) - paidBefore).toBe(BigInt(PAYMENTS) * 2_500_000n);
      expect(swaps(payer)).toBeLessThanOrEqual(PAYMENTS);
      // All that was paid came from swaps, and what they brought beyond it is still there.
      const receipts = await listOf(payer.client.receipts());
      const brought = receipts.reduce((sum, { swap }) => sum + BigInt(swap?.outAmount ?? 0), 0n);
      expect(await sandbox.balance(payer.address, 'USDC')).toBe(before.USDC + brought - BigInt(PAYMENTS) * 2_500_000n);
      for (const { cost } of receipts) expect(microUsd(cost.usd ?? '0')).toBeLessThanOrEqual(microUsd(maxPerPayment));
      const [day] = (await payer.client.spent()).filter(({ cap }) => cap === 'maxPerDay');
      const left = worth(sandbox, before) - worth(sandbox, await balancesOf(payer.address));
      expect(microUsd(day?.used ?? '0') * 1_000_000n).toBeGreaterThanOrEqual(left);
    },
  );
});
