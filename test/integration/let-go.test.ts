import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Coordination, Journal, Owner } from 'exact-change';
import { fileJournal } from 'exact-change/journal/file';
import { expect, it, onTestFinished } from 'vitest';
import { envelopeV2 } from '../fixtures/malformed-402.js';
import { until } from '../helpers/chain.js';
import { closePayers, failureOf, payerOn } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';
import { answerTerms, isPaid, startSeller } from '../helpers/seller.js';
import { offerOf, settle } from '../helpers/settling.js';
import { signedOf, timesSpent } from '../helpers/spends.js';

const sandbox = await useSandbox({ confirmationMs: 20 });

/** A journal that fails to drop claims, or is slow to say that it did. */
async function journalWith(drop: (work: () => Promise<void>) => Promise<void>): Promise<Journal> {
  const directory = await mkdtemp(join(tmpdir(), 'exact-change-claims-'));
  const file = fileJournal(join(directory, 'journal.jsonl'));
  onTestFinished(async () => {
    await closePayers();
    await file.close();
    await rm(directory, { recursive: true });
  });
  const coordination = (owner: Owner): Coordination => {
    const { claims, ...rest } = file.coordination(owner);
    return { ...rest, claims: { ...claims, drop: (ids) => drop(() => claims.drop(ids)) } };
  };
  return { ...file, coordination };
}

// The first drop fails; it is made again in the background, and lands, but its answer is late.
it('a late answer to the drop of a claim says nothing of a claim taken after it', async () => {
  let [drops, landed] = [0, false];
  let answerLate = (): void => undefined;
  const late = new Promise<void>((resolve) => (answerLate = resolve));
  const journal = await journalWith(async (work) => {
    drops += 1;
    if (drops === 1 || drops === 3) throw new Error('The disk is full.');
    await work();
    if (drops !== 2) return;
    landed = true;
    await late;
  });
  let presented = 0;
  const seller = await startSeller((request, response) => {
    if (!isPaid(request)) return answerTerms(response, envelopeV2([offerOf(sandbox)]));
    presented += 1;
    const settling = presented === 1 ? Promise.resolve() : settle(sandbox, request);
    void settling.then(() => request.socket.destroy());
  });
  onTestFinished(() => seller.close());
  const payer = await payerOn(sandbox, { USDC: '1' }, { journal, timeouts: { journal: 1_000 } });
  await failureOf(payer.client.fetch(seller.url), 'payment_uncertain');
  await until('the claim is dropped', async () => (landed ? true : undefined));
  // What it would claim may still be dropped.
  await failureOf(payer.client.fetch(seller.url), 'payment_uncertain');
  expect([presented, signedOf(payer, 'payment')]).toEqual([1, 1]);
  answerLate();
  await failureOf(payer.client.fetch(seller.url), 'payment_uncertain');
  expect([presented, signedOf(payer, 'payment')]).toEqual([2, 1]);
  await failureOf(payer.client.fetch(seller.url), 'already_spent');
  expect(await timesSpent(sandbox, payer, 'USDC')).toBe(1);
});
