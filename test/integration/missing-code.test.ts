import { SOLANA_MAINNET } from 'exact-change';
import { afterEach, expect, it, onTestFinished, vi } from 'vitest';
import { envelopeV2 } from '../fixtures/malformed-402.js';
import { useSandbox } from '../helpers/sandbox.js';
import { answerTerms, isPaid, startSeller } from '../helpers/seller.js';
import { offerOf } from '../helpers/settling.js';

const sandbox = await useSandbox({ confirmationMs: 20 });
const RECOVERY = '../../src/payments/recovery.js';

afterEach(() => {
  vi.doUnmock(RECOVERY);
  vi.resetModules();
});

// A page may go offline between a payment and the 402 that answers it.
it.each<[string, () => Promise<never>, string]>([
  ['cannot be loaded', () => Promise.reject(new TypeError('offline')), 'missing_dependency'],
  ['never comes', () => new Promise(() => undefined), 'payment_uncertain'],
])('what reads a 402 to a paid request %s: the payment is uncertain', async (_, load, code) => {
  vi.resetModules();
  vi.doMock(RECOVERY, load);
  const { createClient, memoryJournal } = await import('../../src/index.js');
  const seller = await startSeller((request, response) => {
    answerTerms(response, envelopeV2([offerOf(sandbox)]));
  });
  const { address, secretKey } = await sandbox.createWallet({ USDC: '1' });
  const journal = memoryJournal();
  const client = createClient({
    ...{ walletSecretKey: secretKey, journal, timeouts: { payment: 500 } },
    ...{ rpcUrl: sandbox.rpcUrl, jupiterUrl: sandbox.jupiterUrl },
  });
  onTestFinished(async () => {
    await client.close();
    await seller.close();
  });
  await expect(client.fetch(seller.url)).rejects.toMatchObject({
    ...{ code, funds: 'uncertain', retry: 'same' },
  });
  expect(seller.seen.filter(isPaid)).toHaveLength(1);
  const owner = { wallet: address, network: SOLANA_MAINNET };
  const kept = [];
  for await (const { state, doubt } of journal.attempts(owner)) kept.push([state, doubt]);
  expect(kept).toEqual([['signed', 'payment_rejected']]);
});
