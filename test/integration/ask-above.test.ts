import { SOLANA_MAINNET, type ClientOptions } from 'exact-change';
import { expect, it } from 'vitest';
import { createApprovals, questionOf } from '../../adapters/cli/mcp/approval.js';
import { planText } from '../../adapters/cli/plan-text.js';
import { envelopeV2 } from '../fixtures/malformed-402.js';
import { decided } from '../helpers/flow.js';
import { failureOf, payerOn } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';
import { answerTerms, sellerOfTest } from '../helpers/seller.js';
import { offerOf } from '../helpers/settling.js';

const sandbox = await useSandbox({ confirmationMs: 20 });
const { aggregator } = sandbox.controls;

/** A client that pays for up to 0.50 USD unasked, and holds no token that its sellers ask for. */
async function buyer({ policy, ...more }: ClientOptions = {}) {
  const approvals = createApprovals('0.50');
  const { client } = await payerOn(
    sandbox,
    { SOL: '0.5', USDT: '1', BONK: '500000' },
    { autoSwap: true, ...more, policy: { ...policy, approve: approvals.approve } },
  );
  return { approvals, client };
}

it('pays unasked if all that leaves is known to cost less than --ask-above', async () => {
  const { approvals, client } = await buyer();
  const { result, refused } = await approvals.during(undefined, () =>
    client.fetch(`${sandbox.apiUrl}/usdc`),
  );
  expect([result.status, refused]).toEqual([200, undefined]);
  const { cost } = await decided(result);
  expect(Number(cost.usd)).toBeLessThan(0.5);
});

it.each<[string, string, () => ClientOptions]>([
  [
    'of the SOL for the fees',
    '/usdc',
    () => {
      aggregator.noRoute('SOL', '*');
      return { swapFrom: ['USDT'] };
    },
  ],
  [
    'of the token that a swap takes',
    '/pyusd',
    () => {
      const { address } = sandbox.mints.BONK;
      // Prices are quotes to these dollars; the token that is asked for can still be bought.
      for (const dollar of ['USDC', 'USDT'] as const) aggregator.noRoute('BONK', dollar);
      return { swapFrom: [address], policy: { maxInAmount: { [address]: 10n ** 10n } } };
    },
  ],
])('asks about a payment without the price %s, and states no total', async (_, path, options) => {
  const { approvals, client } = await buyer(options());
  const url = sandbox.apiUrl + path;
  const plan = await client.plan(url);
  expect(plan.payment?.usd).toBeDefined();
  expect([plan.cost?.usd, plan.cost?.parts]).toEqual([undefined, undefined]);
  expect(planText(plan, SOLANA_MAINNET)).toMatch(/^ {2}in all +not known in dollars/m);

  const { refused } = await approvals.during(undefined, () =>
    failureOf(client.fetch(url), 'approval_refused'),
  );
  if (refused?.takes === undefined) throw new Error('The person was not asked about a swap.');
  expect(questionOf(refused, SOLANA_MAINNET)).toMatch(
    / \(after a swap of at most [^;]+; what it takes in all is not known in dollars\)\?$/,
  );
  // A swap that takes more than the person approved is asked about again.
  const [units, mint] = refused.takes;
  const less = { ...refused, takes: [(BigInt(units) - 1n).toString(), mint] } as const;
  await approvals.during(less, () => failureOf(client.fetch(url), 'approval_refused'));
  const { result } = await approvals.during(refused, () => client.fetch(url));
  const { cost, swap } = await decided(result);
  expect([result.status, swap === undefined, cost.usd]).toEqual([200, false, undefined]);
});

it('covers one payment of a call by one approval', async () => {
  const approvals = createApprovals('0');
  const payer = await payerOn(
    sandbox,
    { USDC: '1' },
    { policy: { resign: 1, approve: approvals.approve } },
  );
  payer.client.on('payment.signed', approvals.onPaymentSigned);
  const terms = { ...envelopeV2([offerOf(sandbox)]), error: 'No matching payment requirements' };
  const seller = await sellerOfTest((_, response) => answerTerms(response, terms));
  const buy = (code: 'approval_refused' | 'payment_rejected') => () =>
    failureOf(payer.client.fetch(seller.url), code);
  const { refused } = await approvals.during(undefined, buy('approval_refused'));
  const asked = await approvals.during(refused, buy('payment_rejected'));
  expect([refused === undefined, asked.refused]).toEqual([false, undefined]);
  expect(payer.signed.filter(({ kind }) => kind === 'payment')).toHaveLength(1);
});
