import { receiptOf, type Plan } from 'exact-change';
import { expect, it } from 'vitest';
import { envelopeV2 } from '../fixtures/malformed-402.js';
import { failureOf, payerOn } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';
import { answerTerms, sellerOfTest } from '../helpers/seller.js';
import { offerOf } from '../helpers/settling.js';

const sandbox = await useSandbox({ confirmationMs: 20 });

it('lets no listener change the refused offers that an approver is shown', async () => {
  const shown: Plan[] = [];
  const approve = (plan: Plan) => shown.push(plan) === 0;
  const asset = sandbox.merchant;
  const seller = await sellerOfTest((_, response) =>
    answerTerms(response, envelopeV2([offerOf(sandbox, { asset }), offerOf(sandbox)])),
  );
  const { client } = await payerOn(sandbox, { USDC: '1' }, { policy: { approve } });
  client.on('payment.chosen', ({ refused }) => {
    for (const refusal of refused) Reflect.set(refusal, 'message', 'another');
    Reflect.set(refused, 'length', 0);
  });

  await failureOf(client.fetch(seller.url), 'approval_refused');
  expect(shown).toMatchObject([{ refused: [{ index: 0, code: expect.any(String) }] }]);
  expect(shown[0]?.refused[0]?.message).not.toBe('another');
});

it("lets no listener change a relayer's fee in the receipt", async () => {
  const { client } = await payerOn(
    sandbox,
    { USDT: '5' },
    { autoSwap: true, relayer: { url: sandbox.relayerUrl } },
  );
  let isSeen = false;
  client.on('swap.confirmed', ({ relayFee }) => {
    isSeen = relayFee !== undefined;
    if (relayFee !== undefined) Reflect.set(relayFee, 'amount', '0');
  });

  const answer = await client.fetch(`${sandbox.apiUrl}/usdc`);
  expect(isSeen).toBe(true);
  expect(Number(receiptOf(answer)?.swap?.relayFee?.amount)).toBeGreaterThan(0);
});
