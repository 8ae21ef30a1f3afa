import { createClient, memoryJournal, SOLANA_MAINNET, type Journal } from 'exact-change';
import { createSandbox, type Sandbox } from 'exact-change/sandbox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { listOf } from '../../helpers/attempts.js';
import { tokenAmount, until } from '../../helpers/chain.js';
import { microUsd, usedByCap } from '../../helpers/worth.js';
import { readBooks } from './books.js';
import { buyAll, count } from './buy-all.js';
import { faultyFetch } from './faulty-fetch.js';
import { decideAll } from './finish.js';
import { watchLargest } from './watch.js';

const CALLS = 1_000;
const CENT = 10_000n;
const DAY_MS = 86_400_000;

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await createSandbox({ seed: 'many in one process' });
});
afterAll(() => sandbox.close());

/** The same journal, whose caps are looked at after each write: no later look can miss what was over in between. */
function observed(journal: Journal, wallet: string, limit: bigint): { readonly journal: Journal; readonly largest: () => bigint } {
  let largest = 0n;
  const cap = { name: 'maxPerDay', unit: 'USD', limit, windowMs: DAY_MS };
  const look = async () => {
    const [used = 0n] = await journal.used({ wallet, network: SOLANA_MAINNET }, [cap], Date.now());
    if (used > largest) largest = used;
  };
  return {
    largest: () => largest,
    journal: {
      ...journal,
      async reserve(attempt, caps) {
        const refused = await journal.reserve(attempt, caps);
        await look();
        return refused;
      },
      async raise(attempt, caps) {
        const refused = await journal.raise(attempt, caps);
        await look();
        return refused;
      },
      async put(attempt) {
        await journal.put(attempt);
        await look();
      },
    },
  };
}

describe('a thousand paid calls at once in one process, of which one in ten messages fails', () => {
  it('pay for each at most once, never over the cap, and all books agree to the base unit', { timeout: 600_000 }, async () => {
    // Four dollars in USDC, the rest has to be swapped; a cap of eight refuses two hundred.
    const { address, secretKey } = await sandbox.createWallet({ SOL: '1', USDC: '4' });
    const before = await tokenAmount(sandbox.rpcUrl, sandbox.merchant, sandbox.mints.USDC);
    const limit = 8_000_000n;
    const { journal, largest } = observed(memoryJournal(), address, limit);
    const options = {
      walletSecretKey: secretKey,
      rpcUrl: sandbox.rpcUrl,
      jupiterUrl: sandbox.jupiterUrl,
      autoSwap: true,
      journal,
      policy: { maxPerDay: '8.00', minSwap: '2.00' },
    };
    const client = createClient({ ...options, fetch: faultyFetch(20_261_121) });
    const paid = async () => (await tokenAmount(sandbox.rpcUrl, sandbox.merchant, sandbox.mints.USDC)) - before;
    const onChain = watchLargest(paid);
    const urls = Array.from({ length: CALLS }, (_, index) => `${sandbox.apiUrl}/usdc?item=${index}`);
    const bought = await buyAll(client, urls);

    // What is still open can only expire now; then a client without faults finds out.
    sandbox.controls.node.warp();
    await client.close();
    const sound = createClient(options);
    await decideAll(sound, journal);
    const books = await readBooks(sandbox, journal, address, before);
    expect(books).toEqual({ chain: books.chain, journal: books.chain, merchant: books.chain });
    expect(books.chain).toBeGreaterThanOrEqual(BigInt(count(bought, 'answered') + count(bought, 'spent')) * 10_000n);
    // Payments that expired while others were asked for gave their budget back in time for those.
    const unsettled = await listOf(journal.attempts({ wallet: address, network: SOLANA_MAINNET }, { state: 'unsettled' }));
    expect(count(bought, 'refused') + unsettled.length).toBeGreaterThanOrEqual(CALLS - 800);

    // What came to nothing gave its budget back: the rest of it can be spent, and not a cent more.
    const used = async () => microUsd((await usedByCap(sound))['maxPerDay'] ?? '');
    const room = Number((limit - (await used())) / CENT);
    const more = await buyAll(
      sound,
      urls.slice(0, room + 5).map((url) => `${url}&again`),
    );
    expect(count(more, 'refused')).toBeGreaterThanOrEqual(5);
    const all = books.chain + BigInt(more.length - count(more, 'refused')) * CENT;
    await until('the last payments settle', async () => ((await paid()) === all ? true : undefined));
    const { largest: most, looks } = await onChain.stop();
    expect(looks).toBeGreaterThan(100);
    expect([most, largest() <= limit]).toEqual([all, true]);
    // Swaps and their fees are in what is used: no payment with a swap fits any more.
    expect((await used()) >= all).toBe(true);
    expect(limit - (await used())).toBeLessThan(10n * CENT);
    await sound.close();
  });
});
