import type { Coordination, Owner } from 'exact-change';
import { expect, it } from 'vitest';
import { envelopeV2 } from '../fixtures/malformed-402.js';
import { journalOf } from '../helpers/journals.js';
import { payerOf } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';
import { answerTerms, isPaid, sellerOfTest } from '../helpers/seller.js';
import { offerOf, settle } from '../helpers/settling.js';

const sandbox = await useSandbox({ confirmationMs: 20 });
const asset = sandbox.mints.USDC.address;

it.each([
  ['swaps a token', { SOL: '1', USDT: '5' }, {}],
  ['swaps SOL', { SOL: '1' }, {}],
  ['swaps with a relayer', { USDT: '5' }, { relayer: { url: sandbox.relayerUrl } }],
] as const)('asks a journal for no holds of SOL when it %s', async (_, funds, options) => {
  const seller = await sellerOfTest((request, response) => {
    if (!isPaid(request)) return answerTerms(response, envelopeV2([offerOf(sandbox, { asset })]));
    void settle(sandbox, request).then(() => response.end('served'));
  });
  const wallet = await sandbox.createWallet(funds);
  const journal = await journalOf('file');
  const asked: string[] = [];
  const coordination = (of: Owner): Coordination => {
    const { ledger, ...rest } = journal.coordination!(of);
    const held = (account: string) => {
      asked.push(account);
      return ledger.held(account);
    };
    return { ...rest, ledger: { ...ledger, held } };
  };
  const { client } = payerOf(sandbox, wallet, {
    ...options,
    autoSwap: true,
    journal: { ...journal, coordination },
  });

  expect(await (await client.fetch(seller.url)).text()).toBe('served');
  expect(asked).not.toContain(wallet.address);
  await client.close();
});
