import { memoryJournal, type Attempt, type Journal } from 'exact-change';
import { describe, expect, it } from 'vitest';
import { envelopeV2 } from '../fixtures/malformed-402.js';
import { failureOf, payerOn } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';
import { answerTerms, isPaid, sellerOfTest } from '../helpers/seller.js';
import { offerOf, settle, settlementHeader } from '../helpers/settling.js';

const sandbox = await useSandbox({ slotMs: 20, confirmationMs: 20 });

const usdc = () => `${sandbox.apiUrl}/usdc`;

/** A journal that holds the writes that `isHeld` chooses until `letWrite` is called. */
function slow(
  isHeld: (attempt: Attempt) => boolean,
  onHeld = (): void => undefined,
): { journal: Journal; written: Attempt[]; letWrite: () => void } {
  const inner = memoryJournal();
  const written: Attempt[] = [];
  let letWrite = (): void => undefined;
  const gate = new Promise<void>((resolve) => (letWrite = resolve));
  const put: Journal['put'] = async (attempt) => {
    if (isHeld(attempt)) {
      onHeld();
      await gate;
      written.push(attempt);
    }
    await inner.put(attempt);
  };
  return { journal: { ...inner, put }, written, letWrite };
}

describe('a caller that aborts a paid request', () => {
  it.each([0, 1] as const)(
    'is rejected before the journal has written, and its next call signs nothing (resign: %i)',
    async (resign) => {
      const { journal, written, letWrite } = slow(({ doubt }) => doubt !== undefined);
      const payer = await payerOn(sandbox, { USDC: '1' }, { journal, policy: { resign } });
      const [controller, reason] = [new AbortController(), new Error('enough')];
      payer.client.on('payment.sent', () => controller.abort(reason));
      await expect(payer.client.fetch(usdc(), { signal: controller.signal })).rejects.toBe(reason);
      expect(written).toEqual([]);
      // The next call waits for the first, because both are the same purchase.
      const next = payer.client.fetch(usdc());
      letWrite();
      expect((await next).status).toBe(200);
      expect(written[0]).toMatchObject({ state: 'signed', doubt: 'payment_uncertain' });
      expect(payer.signed.map(({ kind }) => kind)).toEqual(['payment']);
    },
  );

  it('receives the response at once while the journal writes that it was delivered', async () => {
    const controller = new AbortController();
    const { journal, written, letWrite } = slow(
      ({ delivered }) => delivered,
      () => controller.abort(),
    );
    const payer = await payerOn(sandbox, { USDC: '1' }, { journal });
    const response = await payer.client.fetch(usdc(), { signal: controller.signal });
    expect(await response.json()).toMatchObject({ ok: true });
    expect(written).toEqual([]);
    const next = payer.client.fetch(usdc());
    letWrite();
    expect((await next).status).toBe(200);
    expect(payer.signed.map(({ kind }) => kind)).toEqual(['payment', 'payment']);
  });

  it('is rejected at once, and counts as not served, when the response has no body', async () => {
    const controller = new AbortController();
    const { journal, written, letWrite } = slow(
      ({ delivered }) => delivered,
      () => controller.abort(),
    );
    const seller = await sellerOfTest((request, response) => {
      if (!isPaid(request)) return answerTerms(response, envelopeV2([offerOf(sandbox)]));
      void settle(sandbox, request).then((settled) =>
        response.writeHead(204, settlementHeader({ ...settled })).end(),
      );
    });
    const payer = await payerOn(sandbox, { USDC: '1' }, { journal });
    await expect(
      payer.client.fetch(seller.url, { signal: controller.signal }),
    ).rejects.toMatchObject({ name: 'AbortError' });
    expect(written).toEqual([]);
    const next = payer.client.fetch(seller.url);
    letWrite();
    await failureOf(next, 'already_spent');
    expect(payer.signed.map(({ kind }) => kind)).toEqual(['payment']);
  });
});
