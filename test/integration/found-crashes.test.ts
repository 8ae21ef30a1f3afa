import { createKeyPairSignerFromBytes } from '@solana/kit';
import { wrapFetchWithPayment, x402Client } from '@x402/fetch';
import { ExactSvmScheme } from '@x402/svm/exact/client';
import { memoryJournal, SOLANA_MAINNET, type ClientOptions } from 'exact-change';
import { describe, expect, it, vi } from 'vitest';
import { fingerprintOf } from '../../src/payments/reconcile/find-earlier.js';
import type { Attempt } from '../../src/journal/types.js';
import { envelopeV2 } from '../fixtures/malformed-402.js';
import { attemptOf, DAY_MS } from '../helpers/attempts.js';
import { until } from '../helpers/chain.js';
import { moveClock } from '../helpers/move-clock.js';
import { failureOf, payerOf, payerOn, secretBytes, type Payer } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';
import { answerTerms, isPaid, type Seller, sellerOfTest } from '../helpers/seller.js';
import { offerOf, settle } from '../helpers/settling.js';
import { signedOf, timesSpent } from '../helpers/spends.js';

const sandbox = await useSandbox({ confirmationMs: 20 });

const url = (path: string) => sandbox.apiUrl + path;
const usedOf = async ({ client }: Payer) => (await client.spent())[0]?.used;

/** A seller that drops the connection of each paid request and settles nothing. */
async function losing(): Promise<Seller> {
  return sellerOfTest((request, response) => {
    if (!isPaid(request)) return answerTerms(response, envelopeV2([offerOf(sandbox)]));
    request.socket.destroy();
  });
}

describe('an orphaned reservation that another process left after a call', () => {
  /** A payer that has paid once, with the reservation of a process that died. */
  async function withOrphan(options: ClientOptions, over: Partial<Attempt>): Promise<Payer> {
    const journal = memoryJournal();
    const payer = await payerOn(sandbox, { USDC: '1' }, { ...options, journal });
    expect((await payer.client.fetch(url('/usdc'))).status).toBe(200);
    const owner = { wallet: payer.address, network: SOLANA_MAINNET };
    await journal.reserve(
      attemptOf({ ...owner, mint: sandbox.mints.USDC.address, at: Date.now(), ...over }),
      [],
    );
    return payer;
  }

  it('does not block a later call under its idempotency key', async () => {
    const fingerprint = fingerprintOf(
      { method: 'GET', url: url('/usdc'), header: () => undefined },
      undefined,
    );
    const payer = await withOrphan({}, { idempotencyKey: 'order', fingerprint });
    expect((await payer.client.fetch(url('/usdc'), { idempotencyKey: 'order' })).status).toBe(200);
    expect([
      signedOf(payer, 'payment'),
      await timesSpent(sandbox, payer, 'USDC'),
      await usedOf(payer),
    ]).toEqual([2, 2, '0.02']);
  });

  it('does not keep budget from a later call', async () => {
    const payer = await withOrphan({ policy: { maxPerDay: '0.02' } }, {});
    expect(await usedOf(payer)).toBe('0.02');
    expect((await payer.client.fetch(url('/usdc'))).status).toBe(200);
    expect([
      signedOf(payer, 'payment'),
      await timesSpent(sandbox, payer, 'USDC'),
      await usedOf(payer),
    ]).toEqual([2, 2, '0.02']);
    await failureOf(payer.client.fetch(url('/usdc')), 'budget_exhausted');
    expect(signedOf(payer, 'payment')).toBe(2);
  });
});

describe('a client that closed with an open payment', () => {
  it('leaves its hold, so another client cannot spend the tokens', async () => {
    const journal = memoryJournal();
    const payer = await payerOn(sandbox, { USDC: '0.015' }, { journal });
    const seller = await losing();
    await failureOf(payer.client.fetch(`${seller.url}/one`), 'payment_uncertain');
    await payer.client.close();
    const next = payer.again({ journal });
    await next.resume();
    // A balance is known for 30 seconds, so the client reads it again.
    moveClock(31_000);
    await failureOf(next.fetch(`${seller.url}/another`), 'insufficient_funds');
    expect([signedOf(payer, 'payment'), seller.paid.length]).toEqual([1, 1]);
  });
});

describe('a clock that jumps', () => {
  it('does not lose an open payment when it jumps forward by a day', async () => {
    const payer = await payerOn(sandbox, { USDC: '1' });
    const seller = await losing();
    const post = { method: 'POST', body: 'x' };
    await failureOf(payer.client.fetch(seller.url, post), 'payment_uncertain');
    moveClock(DAY_MS + 3_600_000);
    await failureOf(payer.client.fetch(seller.url, post), 'payment_uncertain');
    vi.useRealTimers();
    for (const paid of seller.paid) expect((await settle(sandbox, paid)).success).toBe(true);
    expect([signedOf(payer, 'payment'), await timesSpent(sandbox, payer, 'USDC')]).toEqual([1, 1]);
    await failureOf(payer.client.fetch(seller.url, post), 'already_spent');
    expect(signedOf(payer, 'payment')).toBe(1);
  });

  it('does not make an old balance recent when it jumps back by an hour', async () => {
    const wallet = await sandbox.createWallet({ USDC: '0.025' });
    const payer = payerOf(sandbox, wallet);
    expect((await payer.client.fetch(url('/usdc'))).status).toBe(200);
    const signer = await createKeyPairSignerFromBytes(secretBytes(wallet.secretKey));
    const official = new x402Client()
      .register(SOLANA_MAINNET, new ExactSvmScheme(signer, { rpcUrl: sandbox.rpcUrl }))
      .setSpendControls(false);
    expect((await wrapFetchWithPayment(fetch, official)(url('/usdc'))).status).toBe(200);
    moveClock(-3_600_000);
    await failureOf(payer.client.fetch(url('/usdc')), 'insufficient_funds');
    expect([signedOf(payer, 'payment'), await timesSpent(sandbox, payer, 'USDC')]).toEqual([1, 2]);
  });

  it('keeps a payment in its window when it jumps back during the decision', async () => {
    const payer = await payerOn(sandbox, { USDC: '1' }, { policy: { maxPerHour: '0.01' } });
    const seller = await losing();
    await failureOf(payer.client.fetch(seller.url), 'payment_uncertain');
    moveClock(-7_200_000);
    for (const paid of seller.paid) expect((await settle(sandbox, paid)).success).toBe(true);
    await until('the payment is decided', async () => {
      await payer.client.resume();
      return payer.events.find(({ type }) => type === 'payment.settled');
    });
    vi.useRealTimers();
    await failureOf(payer.client.fetch(url('/usdc')), 'budget_exhausted');
    expect([signedOf(payer, 'payment'), await timesSpent(sandbox, payer, 'USDC')]).toEqual([1, 1]);
  });

  it('keeps a payment that waits for approval in the window when it jumps past it', async () => {
    const answers: ((yes: boolean) => void)[] = [];
    // The first question waits for the test; later questions are approved at once.
    const approve = () =>
      new Promise<boolean>((resolve) => void (answers.push(resolve) > 1 && resolve(true)));
    const payer = await payerOn(
      sandbox,
      { USDC: '1' },
      { policy: { approve, limits: [{ payments: 1, per: 'minute' }] } },
    );
    const first = payer.client.fetch(url('/usdc'));
    const yes = await until('the first is asked about', () => answers[0]);
    await failureOf(payer.client.fetch(url('/usdc')), 'budget_exhausted');
    moveClock(61_000);
    await failureOf(payer.client.fetch(url('/usdc')), 'budget_exhausted');
    yes(true);
    expect((await first).status).toBe(200);
    // The payment counts in the minute of its signature.
    await failureOf(payer.client.fetch(url('/usdc')), 'budget_exhausted');
    expect([
      signedOf(payer, 'payment'),
      answers.length,
      await timesSpent(sandbox, payer, 'USDC'),
    ]).toEqual([1, 1, 1]);
  });
});
