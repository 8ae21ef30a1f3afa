import type { Coordination, Owner } from 'exact-change';
import { expect, it } from 'vitest';
import { envelopeV2 } from '../fixtures/malformed-402.js';
import { journalOf } from '../helpers/journals.js';
import { payerOf } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';
import { answerTerms, isPaid, sellerOfTest } from '../helpers/seller.js';
import { offerOf, settle } from '../helpers/settling.js';

const sandbox = await useSandbox({ confirmationMs: 20 });

it('starts no top-up after a free call of a client that pays other calls ahead', async () => {
  const seller = await sellerOfTest((request, response) => {
    if (request.url === '/free') return void response.end('free');
    if (!isPaid(request)) return answerTerms(response, envelopeV2([offerOf(sandbox)]));
    void settle(sandbox, request).then(() => response.end('served'));
  });
  const journal = await journalOf('file');
  let asked = 0;
  const coordination = (of: Owner): Coordination => {
    const { ledger, ...rest } = journal.coordination!(of);
    const available: typeof ledger.available = (...given) => {
      asked += 1;
      return ledger.available(...given);
    };
    return { ...rest, ledger: { ...ledger, available } };
  };
  const wallet = await sandbox.createWallet({ SOL: '1', USDC: '1' });
  const { client } = payerOf(sandbox, wallet, {
    autoSwap: true,
    policy: { topUp: { token: 'USDC', below: '0.05', to: '0.20' } },
    presign: [`${seller.url}/paid`],
    journal: { ...journal, coordination },
  });
  const call = async (path: string) => (await client.fetch(`${seller.url}/${path}`)).text();

  expect([await call('paid'), await call('paid')]).toEqual(['served', 'served']);
  await client.spent();
  const before = asked;
  expect(await call('free')).toBe('free');
  await client.spent();
  expect(asked).toBe(before);
  await client.close();
});
