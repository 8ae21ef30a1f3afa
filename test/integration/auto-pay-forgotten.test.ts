import { memoryJournal, type LocalOptions } from 'exact-change';
import { expect, it } from 'vitest';
import { buyerOf, startService, untilState } from '../helpers/auto-pay.js';
import { useSandbox } from '../helpers/sandbox.js';

const sandbox = await useSandbox({ confirmationMs: 20 });

const url = `${sandbox.apiUrl}/usdc`;

/** Returns the answer of a service that does not have a settled payment of the caller on record. */
async function forgotten(
  journalOf: () => LocalOptions['journal'],
  options: Partial<LocalOptions>,
  request: object,
) {
  const buyer = await buyerOf(await sandbox.createWallet({ USDC: '1' }), url);
  const first = await startService(sandbox, memoryJournal());
  const signedPayment = await buyer.sign((await buyer.post(first)).body.payment?.transaction);
  const ready = await buyer.post(first, { signedPayment });
  expect((await buyer.present(ready)).status).toBe(200);
  await untilState('settled', () => buyer.post(first, { signedPayment }));
  const next = await startService(sandbox, journalOf(), options);
  return (await buyer.post(next, { signedPayment, ...request })).body;
}

const mayHavePaid = {
  funds: 'uncertain',
  detail: expect.stringContaining('It may have paid already: look at the transactions'),
};

it.each([
  ['amount_over_limit', { maxPerPayment: '0.001' }],
  ['not_allowed', { deny: { hosts: [new URL(url).host] } }],
])('a refusal of the policy (%s) leaves a forgotten payment uncertain', async (code, policy) => {
  const answer = await forgotten(memoryJournal, { policy }, {});
  expect(answer).toMatchObject({ code, retry: 'never', ...mayHavePaid });
});

it('a full budget leaves a payment that may still land uncertain', async () => {
  const buyer = await buyerOf(await sandbox.createWallet({ USDC: '1' }), url);
  const planning = await startService(sandbox, memoryJournal());
  const sign = async () => buyer.sign((await buyer.post(planning)).body.payment?.transaction);
  const full = await startService(sandbox, memoryJournal(), { policy: { maxPerDay: '0.015' } });
  await buyer.post(full, { signedPayment: await sign() });
  const answer = await buyer.post(full, { signedPayment: await sign() });
  expect(answer.body).toMatchObject({ code: 'budget_exhausted', retry: 'same', ...mayHavePaid });
});

const terms: readonly (readonly [code: string, headers: Headers])[] = [
  ['invalid_option', (await fetch(`${sandbox.apiUrl}/bonk`)).headers],
  ['malformed_payment_required', new Headers()],
];

it.each(
  terms.flatMap(([code, headers]) =>
    [memoryJournal, () => undefined].map((journalOf) => [code, headers, journalOf] as const),
  ),
)('other terms (%s) leave a forgotten payment uncertain', async (code, headers, journalOf) => {
  const paymentRequired = { url, headers: Object.fromEntries(headers) };
  expect(await forgotten(journalOf, {}, { paymentRequired })).toMatchObject({
    ...{ code, retry: 'never', ...mayHavePaid },
  });
});
