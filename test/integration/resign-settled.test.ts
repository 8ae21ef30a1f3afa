import type { ServerResponse } from 'node:http';
import type { ClientOptions, MessageSigner } from 'exact-change';
import { describe, expect, it, onTestFinished } from 'vitest';
import { envelopeV2 } from '../fixtures/malformed-402.js';
import { until } from '../helpers/chain.js';
import { failureOf, payerOf, payerOn, recordingSigner, type Payer } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';
import { answerTerms, isPaid, type Seller, sellerOfTest } from '../helpers/seller.js';
import { answer, offerOf, settle } from '../helpers/settling.js';
import { silenceable } from '../helpers/silent-journal.js';

const sandbox = await useSandbox({ confirmationMs: 20 });

const terms = () => envelopeV2([offerOf(sandbox)]);
const refuse = (response: ServerResponse) =>
  answerTerms(response, { ...terms(), error: 'No matching payment requirements' });
const signedBy = ({ signed }: Payer) => signed.filter(({ kind }) => kind === 'payment').length;
const usedOf = async ({ client }: Payer) => (await client.spent())[0]?.used;

/** Starts a seller that refuses its first payment, and then answers with `second`. */
async function selling(second: (response: ServerResponse) => unknown): Promise<Seller> {
  let shown = 0;
  return sellerOfTest((request, response) => {
    if (!isPaid(request)) return answerTerms(response, terms());
    shown += 1;
    void (shown === 1 ? refuse : second)(response);
  });
}

const serve = (response: ServerResponse) => answer(response, 200, { ok: true });

/** Settles the first payment that a seller got, until the payer has heard of that. */
async function settleFirst({ paid: [first] }: Seller, { events }: Payer): Promise<void> {
  if (first === undefined) throw new Error('the seller got no payment');
  await settle(sandbox, first);
  await until('the first payment is settled', () =>
    events.some(({ type }) => type === 'payment.settled') ? true : undefined,
  );
}

/** Returns an approver that says yes, and to the second payment what `second` says. */
function approving(second: () => Promise<boolean>): ClientOptions {
  let asked = 0;
  const approve = () => {
    asked += 1;
    return asked === 1 ? true : second();
  };
  return { policy: { resign: 1, approve } };
}

const spent = { funds: 'spent', retry: 'never', moved: [{ kind: 'payment', inAmount: '10000' }] };

describe('a payment that settles after its refusal, and before the second payment leaves', () => {
  it.each([true, false])('is the only payment, whatever approve says: %s', async (isApproved) => {
    const seller = await selling(serve);
    const payer: Payer = await payerOn(
      sandbox,
      { USDC: '1' },
      approving(async () => {
        await settleFirst(seller, payer);
        return isApproved;
      }),
    );
    const error = await failureOf(payer.client.fetch(seller.url), 'payment_rejected');
    expect(error).toMatchObject(spent);
    expect(error.response?.status).toBe(402);
    expect([signedBy(payer), seller.paid.length]).toEqual([1, 1]);
    await until('the budget of the second payment is free', async () =>
      (await usedOf(payer)) === '0.01' ? true : undefined,
    );
  });

  it('is the only payment that leaves if the second is signed meanwhile', async () => {
    const seller = await selling(serve);
    const { address, secretKey } = await sandbox.createWallet({ USDC: '1' });
    const { signer, signed } = recordingSigner(address, secretKey);
    const signMessage: MessageSigner['signMessage'] = async (...args) => {
      if (signed.length === 1) await settleFirst(seller, payer);
      return signer.signMessage(...args);
    };
    const options = { policy: { resign: 1 as const }, signer: { address, signMessage } };
    const payer: Payer = payerOf(sandbox, { address, secretKey }, options);
    const buy = () => payer.client.fetch(seller.url);
    expect(await failureOf(buy(), 'payment_rejected')).toMatchObject(spent);
    await failureOf(buy(), 'already_spent');
    expect(seller.paid).toHaveLength(1);
    sandbox.controls.node.warp();
    await until('the budget of the second payment is free', async () =>
      (await usedOf(payer)) === '0.01' ? true : undefined,
    );
  });

  it('is the only payment that leaves if the second is on record already', async () => {
    const seller = await selling(serve);
    const { journal, silence, speak } = silenceable();
    const payer = await payerOn(sandbox, { USDC: '1' }, { journal, policy: { resign: 1 } });
    // The claim on the first payment is dropped once the second is on record.
    silence(
      (step) => step === 'drop' && signedBy(payer) === 2 && seller.paid.length === 1,
      'late',
      () => void settleFirst(seller, payer).then(speak),
    );
    const buy = () => payer.client.fetch(seller.url);
    expect(await failureOf(buy(), 'payment_rejected')).toMatchObject(spent);
    await failureOf(buy(), 'already_spent');
    expect([signedBy(payer), seller.paid.length]).toEqual([2, 1]);
    sandbox.controls.node.warp();
    await until('the budget of the second payment is free', async () =>
      (await usedOf(payer)) === '0.01' ? true : undefined,
    );
  });
});

describe('a payment that settles while the second is presented', () => {
  it('is told as spent when the second is refused', async () => {
    const seller = await selling(async (response) => {
      await settleFirst(seller, payer);
      refuse(response);
    });
    const payer = await payerOn(sandbox, { USDC: '1' }, { policy: { resign: 1 } });
    const error = await failureOf(payer.client.fetch(seller.url), 'payment_rejected');
    expect(error).toMatchObject(spent);
    expect(seller.paid).toHaveLength(2);
  });

  it('is told as moved when the answer to the second is lost', async () => {
    const seller = await selling(async (response) => {
      await settleFirst(seller, payer);
      response.destroy();
    });
    const payer = await payerOn(sandbox, { USDC: '1' }, { policy: { resign: 1 } });
    const error = await failureOf(payer.client.fetch(seller.url), 'payment_uncertain');
    expect(error).toMatchObject({ funds: 'uncertain', moved: spent.moved });
  });
});

it('signs no second payment if no node says what became of the first', async () => {
  const { node } = sandbox.controls;
  onTestFinished(() => void (node.intercept = undefined));
  const seller = await sellerOfTest((request, response) => {
    if (!isPaid(request)) return answerTerms(response, terms());
    node.intercept = (method, _, next) => {
      if (method === 'getSignaturesForAddress') throw new Error('the index is down');
      return next();
    };
    refuse(response);
  });
  const payer = await payerOn(sandbox, { USDC: '1' }, { policy: { resign: 1 } });
  const error = await failureOf(payer.client.fetch(seller.url), 'payment_rejected');
  expect(error).toMatchObject({ funds: 'uncertain', moved: [] });
  expect([signedBy(payer), seller.paid.length]).toEqual([1, 1]);
});
