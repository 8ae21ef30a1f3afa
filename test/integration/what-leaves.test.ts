import { address } from '@solana/kit';
import { memoryJournal, type ClientOptions, type Journal } from 'exact-change';
import { fileJournal } from 'exact-change/journal/file';
import { postgresJournal } from 'exact-change/journal/postgres';
import { createSandbox, type MintSymbol, type Sandbox } from 'exact-change/sandbox';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { until } from '../helpers/chain.js';
import { closePayers, payerOn, type Payer } from '../helpers/payer.js';
import { startPostgres, type Postgres } from '../helpers/postgres.js';
import { answerTerms, isPaid, startSeller } from '../helpers/seller.js';
import { answer, offerOf } from '../helpers/settling.js';
import { microUsd, worth } from '../helpers/worth.js';

let sandbox: Sandbox;
let postgres: Postgres;

beforeAll(async () => {
  [sandbox, postgres] = await Promise.all([createSandbox({ confirmationMs: 20 }), startPostgres()]);
});
afterEach(async () => {
  sandbox.controls.aggregator.restore();
  sandbox.controls.node.clearFaults();
  await closePayers();
});
afterAll(() => Promise.all([sandbox.close(), postgres.stop()]));

const DOLLAR = 10n ** 12n;
const SYMBOLS: readonly MintSymbol[] = ['SOL', 'USDC', 'USDT', 'PYUSD', 'BONK'];
const JOURNALS = ['memory', 'file', 'Postgres'] as const;

async function journalOf(kind: (typeof JOURNALS)[number]): Promise<Journal> {
  if (kind === 'memory') return memoryJournal();
  if (kind === 'Postgres') {
    const journal = postgresJournal({ connectionString: await postgres.createDatabase() });
    onTestFinished(() => journal.close());
    return journal;
  }
  const directory = await mkdtemp(join(tmpdir(), 'exact-change-leaves-'));
  const journal = fileJournal(join(directory, 'journal.jsonl'));
  onTestFinished(async () => {
    await journal.close();
    await rm(directory, { recursive: true });
  });
  return journal;
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
async function watched(journal: Journal, options: ClientOptions = {}) {
  const payer = await payerOn(sandbox, { SOL: '1', USDC: '30' }, { autoSwap: true, journal, ...options });
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

describe.each(JOURNALS)('over a journal in %s, a seller with a new token of its own on each call', (kind) => {
  it('gets no more than the caps allow in a day, price by price', { timeout: 120_000 }, async () => {
    const payer = await watched(await journalOf(kind));
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
  ])('gets no more than the caps allow from 12 calls at once: %s', { timeout: 120_000 }, async (_, dollars, policy) => {
    const payer = await watched(await journalOf(kind), { policy });
    const url = await greedySeller(dollars);
    await Promise.all(Array.from({ length: 12 }, (__, call) => outcomeOf(payer.client.fetch(`${url}/${call}`))));
    await until('what is under way has ended', async () => (await payer.client.resume().then(() => true)) || undefined);
    await expectWithinCaps(payer);
  });
});

describe('swaps for payments', () => {
  it('that land and fail are counted: what they burned is within a cap in lamports', { timeout: 60_000 }, async () => {
    const payer = await watched(memoryJournal(), { policy: { maxLamportsPerDay: 3_000_000n } });
    payer.client.on('swap.signed', () => sandbox.controls.aggregator.setVenue({ deviationBps: 80 }));
    payer.client.on('swap.failed', () => sandbox.controls.aggregator.setVenue({}));
    const before = await sandbox.balance(payer.address, 'SOL');
    const outcomes: string[] = [];
    for (let call = 0; call < 120 && outcomes[outcomes.length - 1] !== 'budget_exhausted'; call += 1) {
      outcomes.push(await outcomeOf(payer.client.fetch(`${sandbox.apiUrl}/usdt?n=${call}`)));
    }
    expect(outcomes.slice(-1)).toEqual(['budget_exhausted']);
    const burned = before - (await sandbox.balance(payer.address, 'SOL'));
    expect(burned).toBeGreaterThan(0n);
    expect(burned).toBeLessThanOrEqual(3_000_000n);
    const [lamports] = (await payer.client.spent()).filter(({ cap }) => cap === 'maxLamportsPerDay');
    expect(lamports?.used).toBe(burned.toString());
    await expectWithinCaps(payer);
  });

  it('are bounded in number by limits', { timeout: 60_000 }, async () => {
    const payer = await watched(memoryJournal(), { policy: { limits: [{ swaps: 5, per: 'hour' }] } });
    const url = await greedySeller(0.01);
    const outcomes = await Promise.all(Array.from({ length: 12 }, (_, call) => outcomeOf(payer.client.fetch(`${url}/${call}`))));
    expect([swaps(payer), outcomes.filter((one) => one === 'budget_exhausted').length]).toEqual([5, 7]);
    await expectWithinCaps(payer);
  });
});
