import { isExactChangeError, memoryJournal } from 'exact-change';
import { expect, it } from 'vitest';
import { envelopeV2 } from '../fixtures/malformed-402.js';
import { payerOn } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';
import { answerTerms, isPaid, sellerOfTest } from '../helpers/seller.js';
import { answer, offerOf, settle, settlementHeader } from '../helpers/settling.js';

const sandbox = await useSandbox({ confirmationMs: 20 });

it.each([
  ['', 'of the process'],
  ['', "of the caller's journal"],
  // At the abort, Node 20 cancels the body of a response that was cloned or has arrived, so it
  // counts as used.
  [' and cloned', 'of the process'],
])(
  'an answer that its caller gives up unread%s is not paid anew at once: claims %s',
  async (how, claims) => {
    const seller = await sellerOfTest((request, response) => {
      if (!isPaid(request)) return answerTerms(response, envelopeV2([offerOf(sandbox, {})]));
      void settle(sandbox, request).then((settled) =>
        answer(response, 200, { ok: true }, settlementHeader({ ...settled })),
      );
    });
    const journal = claims === 'of the process' ? {} : { journal: memoryJournal() };
    const { client, signed } = await payerOn(sandbox, { USDC: '1' }, journal);
    const controller = new AbortController();
    const response = await client.fetch(seller.url, { signal: controller.signal });
    const copies = how === '' ? [response] : [response, response.clone()];
    controller.abort('had enough');
    const again = await client.fetch(seller.url).then(
      () => 'paid',
      (error: unknown) => (isExactChangeError(error) ? error.code : error),
    );
    for (const copy of copies) await expect(copy.text()).rejects.toThrow();
    expect(signed).toHaveLength(1);
    expect(again).toBe('already_spent');
  },
);
