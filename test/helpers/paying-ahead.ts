import type { Sandbox } from 'exact-change-sandbox';
import { envelopeV2 } from '../fixtures/malformed-402.js';
import { until } from './chain.js';
import { payerOn } from './payer.js';
import { answerTerms, isPaid, startSeller } from './seller.js';
import { answer, offerOf, settle, settlementHeader } from './settling.js';

/**
 * Pays until a payment is made ahead. A client loads the code for that behind its first paid call,
 * and keeps no terms until it has, so a test that expects them after one call calls this before.
 */
export async function loadPayingAhead(sandbox: Sandbox): Promise<void> {
  const terms = envelopeV2([offerOf(sandbox, { amount: '1' })]);
  const seller = await startSeller((request, response) => {
    if (!isPaid(request)) return answerTerms(response, terms);
    void settle(sandbox, request).then((settled) =>
      answer(response, 200, {}, settlementHeader({ ...settled })),
    );
  });
  const { client } = await payerOn(sandbox, { USDC: '1' }, { presign: [seller.url] });
  await until('a call is paid with its first request', async () => {
    const before = seller.seen.length;
    await (await client.fetch(seller.url)).text();
    return seller.seen.length === before + 1 || undefined;
  });
  await client.close();
  await seller.close();
}
