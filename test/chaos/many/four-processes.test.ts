import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { createClient, SOLANA_MAINNET, type ClientOptions } from 'exact-change';
import { postgresJournal } from 'exact-change/journal/postgres';
import { createSandbox, type Sandbox } from 'exact-change/sandbox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { listOf } from '../../helpers/attempts.js';
import { tokenAmount, until } from '../../helpers/chain.js';
import { startPostgres, type Postgres } from '../../helpers/postgres.js';
import { microUsd, usedByCap } from '../../helpers/worth.js';
import { readBooks } from './books.js';
import { buyAll, count, type Bought } from './buy-all.js';
import { decideAll } from './finish.js';
import { watchLargest } from './watch.js';

/** What each process is told; only what JSON can carry. */
export interface FourTask {
  readonly connectionString: string;
  readonly seed: number;
  readonly urls: readonly string[];
  readonly options: ClientOptions;
}

const PROCESSES = 4;
const CALLS_EACH = 250;
const CENT = 10_000n;
const DAY_MS = 86_400_000;

let sandbox: Sandbox;
let postgres: Postgres;
beforeAll(async () => {
  [sandbox, postgres] = await Promise.all([createSandbox({ seed: 'many in four processes' }), startPostgres()]);
});
afterAll(() => Promise.all([sandbox.close(), postgres.stop()]));

async function buyElsewhere(task: FourTask): Promise<Bought[]> {
  const program = fileURLToPath(new URL('./four.child.ts', import.meta.url));
  const child = spawn(process.execPath, ['--import', 'tsx', program, JSON.stringify(task)], { stdio: ['ignore', 'pipe', 'pipe'] });
  const [said, complained] = await Promise.all([text(child.stdout), text(child.stderr)]);
  expect(complained).toBe('');
  return JSON.parse(said) as Bought[];
}

describe('four processes that share a wallet and a journal in Postgres, of which one in ten messages fails', () => {
  it('pay for each of a thousand calls at most once, never over the cap, and all books agree', { timeout: 600_000 }, async () => {
    const { address, secretKey } = await sandbox.createWallet({ SOL: '1', USDC: '4' });
    const before = await tokenAmount(sandbox.rpcUrl, sandbox.merchant, sandbox.mints.USDC);
    const connectionString = await postgres.createDatabase();
    const limit = 8_000_000n;
    const options = {
      walletSecretKey: secretKey,
      rpcUrl: sandbox.rpcUrl,
      jupiterUrl: sandbox.jupiterUrl,
      autoSwap: true,
      policy: { maxPerDay: '8.00', minSwap: '2.00' },
    };
    const journal = postgresJournal({ connectionString });
    const owner = { wallet: address, network: SOLANA_MAINNET };
    const cap = { name: 'maxPerDay', unit: 'USD', limit, windowMs: DAY_MS };
    const paid = async () => (await tokenAmount(sandbox.rpcUrl, sandbox.merchant, sandbox.mints.USDC)) - before;
    const onChain = watchLargest(paid);
    const inJournal = watchLargest(async () => (await journal.used(owner, [cap], Date.now()))[0] ?? 0n);

    const urls = Array.from({ length: PROCESSES * CALLS_EACH }, (_, index) => `${sandbox.apiUrl}/usdc?item=${index}`);
    const tasks = Array.from({ length: PROCESSES }, (_, process) => ({
      connectionString,
      seed: 1_000 + process,
      urls: urls.slice(process * CALLS_EACH, (process + 1) * CALLS_EACH),
      options,
    }));
    const bought = (await Promise.all(tasks.map(buyElsewhere))).flat();

    sandbox.controls.node.warp();
    const sound = createClient({ ...options, journal });
    await decideAll(sound, journal);
    const books = await readBooks(sandbox, journal, address, before);
    expect(books).toEqual({ chain: books.chain, journal: books.chain, merchant: books.chain });
    expect(books.chain).toBeGreaterThanOrEqual(BigInt(count(bought, 'answered') + count(bought, 'spent')) * 10_000n);
    // Payments that expired while others were asked for gave their budget back in time for those.
    const unsettled = await listOf(journal.attempts(owner, { state: 'unsettled' }));
    expect(count(bought, 'refused') + unsettled.length).toBeGreaterThanOrEqual(urls.length - 800);

    const spent = async () => microUsd((await usedByCap(sound))['maxPerDay'] ?? '');
    const room = Number((limit - (await spent())) / CENT);
    const more = await buyAll(
      sound,
      urls.slice(0, room + 5).map((url) => `${url}&again`),
    );
    expect(count(more, 'refused')).toBeGreaterThanOrEqual(5);
    const all = books.chain + BigInt(more.length - count(more, 'refused')) * CENT;
    await until('the last payments settle', async () => ((await paid()) === all ? true : undefined));
    const [chain, used] = [await onChain.stop(), await inJournal.stop()];
    expect([chain.largest, used.largest <= limit]).toEqual([all, true]);
    // Swaps and their fees are in what is used: no payment with a swap fits any more.
    expect((await spent()) >= all).toBe(true);
    expect(limit - (await spent())).toBeLessThan(10n * CENT);
    expect(Math.min(chain.looks, used.looks)).toBeGreaterThan(100);
    await sound.close();
    await journal.close();
  });
});
