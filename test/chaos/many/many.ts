import { SOLANA_MAINNET, type Client, type Journal } from 'exact-change';
import type { Sandbox } from 'exact-change-sandbox';
import { expect } from 'vitest';
import { listOf } from '../../helpers/attempts.js';
import { tokenAmount, until } from '../../helpers/chain.js';
import { microUsd, usedByCap } from '../../helpers/worth.js';
import { readBooks } from './books.js';
import { buyAll, count, type Bought } from './buy-all.js';
import { decideAll } from './finish.js';

const CENT = 10_000n;
const CALLS = 1_000;
/** Base units of USDC; refuses two hundred of the calls. */
const LIMIT = 8_000_000n;
export const CAP = { name: 'maxPerDay', unit: 'USD', limit: LIMIT, windowMs: 86_400_000 };

/**
 * Makes a thousand URLs at a cent each, and a wallet with four dollars in USDC, so that it must
 * swap for the rest.
 */
export async function startMany(sandbox: Sandbox) {
  const { address, secretKey } = await sandbox.createWallet({ SOL: '1', USDC: '4' });
  const received = () => tokenAmount(sandbox.rpcUrl, sandbox.merchant, sandbox.mints.USDC);
  const before = await received();
  return {
    owner: { wallet: address, network: SOLANA_MAINNET },
    before,
    /** Returns the merchant's income since the start, in base units. */
    paid: async () => (await received()) - before,
    urls: Array.from({ length: CALLS }, (_, index) => `${sandbox.apiUrl}/usdc?item=${index}`),
    options: {
      walletSecretKey: secretKey,
      rpcUrl: sandbox.rpcUrl,
      jupiterUrl: sandbox.jupiterUrl,
      autoSwap: true,
      policy: { maxPerDay: '8.00', minSwap: '2.00' },
    },
  };
}

type Many = Awaited<ReturnType<typeof startMany>>;

/**
 * Lets the chain decide open payments, compares all books with each other and with the results, and
 * then spends the rest of the cap, which allows not a cent more. Returns the total paid.
 *
 * @param sound - A client without faults.
 */
export async function settleMany(
  sandbox: Sandbox,
  { owner, before, paid, urls }: Many,
  sound: Client,
  journal: Journal,
  bought: readonly Bought[],
): Promise<bigint> {
  await decideAll(sound, journal);
  const books = await readBooks(sandbox, journal, owner.wallet, before);
  expect(books).toEqual({ chain: books.chain, journal: books.chain, merchant: books.chain });
  expect(books.chain).toBeGreaterThanOrEqual(
    BigInt(count(bought, 'answered') + count(bought, 'spent')) * CENT,
  );
  // Attempts that ended without a payment returned their budget, which later calls used.
  const ended = await Promise.all(
    (['unsettled', 'unpaid'] as const).map((state) => listOf(journal.attempts(owner, { state }))),
  );
  expect(count(bought, 'refused') + ended.flat().length).toBeGreaterThanOrEqual(
    urls.length - Number(LIMIT / CENT),
  );

  const used = async () => microUsd((await usedByCap(sound))['maxPerDay'] ?? '');
  const room = Number((LIMIT - (await used())) / CENT);
  const more = await buyAll(
    sound,
    urls.slice(0, room + 5).map((url) => `${url}&again`),
  );
  expect(count(more, 'refused')).toBeGreaterThanOrEqual(5);
  const total = books.chain + BigInt(more.length - count(more, 'refused')) * CENT;
  await until('the last payments settle', async () =>
    (await paid()) === total ? true : undefined,
  );
  // The used budget includes swaps and their fees, so no payment with a swap fits any more.
  expect((await used()) >= total).toBe(true);
  expect(LIMIT - (await used())).toBeLessThan(10n * CENT);
  return total;
}
