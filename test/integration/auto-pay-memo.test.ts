import { memoryJournal, type Journal } from 'exact-change';
import { describe, expect, it } from 'vitest';
import { storedOf } from '../helpers/attempts.js';
import { buyerOf, startService } from '../helpers/auto-pay.js';
import { useSandbox } from '../helpers/sandbox.js';

const sandbox = await useSandbox({ confirmationMs: 20 });

const serve = (journal: Journal) => startService(sandbox, journal);

const usdc = (query = '') => `${sandbox.apiUrl}/usdc${query}`;

describe('a payment that was planned under an idempotency key', () => {
  it('is accepted only at its own address and under its own key', async () => {
    const journal = memoryJournal();
    const service = await serve(journal);
    const wallet = await sandbox.createWallet({ USDC: '1' });
    const [buyer, elsewhere] = [
      await buyerOf(wallet, usdc('?a'), { idempotencyKey: 'a' }),
      await buyerOf(wallet, usdc('?b')),
    ];
    const signedPayment = await buyer.sign((await buyer.post(service)).body.payment?.transaction);
    const refused = {
      status: 400,
      body: { code: 'invalid_option', details: { option: 'signedPayment' } },
    };
    expect(await buyer.post(service, { signedPayment, idempotencyKey: 'b' })).toMatchObject(
      refused,
    );
    expect(await elsewhere.post(service, { signedPayment, idempotencyKey: 'a' })).toMatchObject(
      refused,
    );
    expect(await storedOf(journal, wallet)).toEqual([]);
    expect((await buyer.post(service, { signedPayment })).body.state).toBe('ready_to_present');
    // A recorded payment does not pay for another purchase either.
    expect(await elsewhere.post(service, { signedPayment, idempotencyKey: 'b' })).toMatchObject(
      refused,
    );
  });

  it("has a memo of 32 hex digits, or the seller's own memo under any key", async () => {
    const journal = memoryJournal();
    const service = await serve(journal);
    const wallet = await sandbox.createWallet({ USDC: '1' });
    const [buyer, memo] = [
      await buyerOf(wallet, usdc(), { idempotencyKey: 'c' }),
      await buyerOf(wallet, `${sandbox.apiUrl}/memo`),
    ];
    for (const [payer, idempotencyKey] of [[buyer, 'c'] as const, [memo, 'd'] as const]) {
      const signedPayment = await payer.sign(
        (await payer.post(service, { idempotencyKey: 'other' })).body.payment?.transaction,
      );
      const planned = await payer.sign(
        (await payer.post(service, { idempotencyKey })).body.payment?.transaction,
      );
      const answer = await payer.post(service, {
        signedPayment: payer === memo ? signedPayment : planned,
        idempotencyKey,
      });
      expect(answer.body.state).toBe('ready_to_present');
    }
    expect((await storedOf(journal, wallet)).map(({ payment }) => payment?.memo)).toEqual([
      expect.stringMatching(/^[0-9a-f]{32}$/),
      'invoice 2041',
    ]);
  });

  it("is refused under its own key after a seller's memo let another key use it", async () => {
    const service = await serve(memoryJournal());
    const wallet = await sandbox.createWallet({ USDC: '1' });
    const buyer = await buyerOf(wallet, `${sandbox.apiUrl}/memo`);
    const mine = { idempotencyKey: 'mine' };
    const signedPayment = await buyer.sign(
      (await buyer.post(service, mine)).body.payment?.transaction,
    );
    expect(
      (await buyer.post(service, { signedPayment, idempotencyKey: 'theirs' })).body.state,
    ).toBe('ready_to_present');
    const refused = {
      status: 400,
      body: { code: 'invalid_option', details: { option: 'signedPayment' } },
    };
    expect(await buyer.post(service, { signedPayment, ...mine })).toMatchObject(refused);
    // Without a key the service looks the payment up by its bytes.
    expect((await buyer.post(service, { signedPayment })).body.state).toBe('submitted');
  });
});

it.each([undefined, 'order-a'])(
  'knows an address however it is spelled, under key %s',
  async (key) => {
    const service = await serve(memoryJournal());
    const wallet = await sandbox.createWallet({ USDC: '1' });
    const mine = await buyerOf(wallet, usdc('?a'), { idempotencyKey: key });
    const spelled = (from: string, to: string) => {
      const { paymentRequired } = mine;
      return { paymentRequired: { ...paymentRequired, url: usdc('?a').replace(from, to) } };
    };
    const planned = await mine.post(service, spelled('http:', 'HTTP:'));
    const signedPayment = await mine.sign(planned.body.payment?.transaction);
    const ready = await mine.post(service, { signedPayment });
    expect(ready.body.state).toBe('ready_to_present');
    for (const more of [spelled('/usdc', '/./usdc'), spelled('?a', '?a#part')])
      expect((await mine.post(service, { signedPayment, ...more })).body).toMatchObject({
        ...{ state: 'submitted', id: ready.body.id },
      });
  },
);
