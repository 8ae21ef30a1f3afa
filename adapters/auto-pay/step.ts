import type { Choice } from '../../src/autopay/choose.js';
import type { Core } from '../../src/autopay/core.js';
import { spendOf } from '../../src/autopay/plan.js';
import type { Attempt } from '../../src/journal/types.js';
import { capsFor, overBudget, takenOf } from '../../src/policy/caps.js';
import type { AutoPayRequest, ParsedOffer, PaymentResult } from '../../src/transport.js';
import { readOffers } from '../../src/x402/offers.js';
import type { PaymentRequired } from '../../src/x402/types.js';
import { firstOffer, type AutoPayDeps } from '../local-auto-pay.js';
import { parsedOffer } from '../local-parse.js';
import type { Desk } from './desks.js';
import { idOf, keyTaken, type PaidAttempt, type Purchase } from './records.js';

/** One step, with what all of them need. */
export interface Step {
  readonly deps: AutoPayDeps;
  readonly desk: Desk;
  readonly request: AutoPayRequest;
  readonly terms: PaymentRequired;
  readonly purchase: Purchase;
  readonly signal: AbortSignal | undefined;
}

/** A purchase as it is put on record before anything of it leaves. `print` is what its signed bytes are found by. */
export function reservedFor({ desk, purchase }: Step, choice: Pick<Choice, 'offer' | 'microUsd'>, print: string): Attempt {
  const { config } = desk.core;
  const { url, host, idempotencyKey } = purchase;
  return {
    ...{ id: idOf(print), wallet: config.signer.address, network: config.network, state: 'reserved', delivered: false },
    // Which method the caller asks with is not known here.
    ...{ url, method: 'GET', fingerprint: print, at: config.runtime.now() },
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    ...spendOf(choice, host),
  };
}

/** Reserves the budget, by the caps of the service. The attempt is claimed before others can see it. */
export async function reserve(core: Core, attempt: Attempt): Promise<void> {
  await core.claims.take(attempt.id);
  try {
    const refused = await core.journal.reserve(attempt, capsFor(core.config.policy, attempt));
    if (refused === undefined) return;
    throw 'taken' in refused ? keyTaken() : overBudget(refused.cap, refused.used, takenOf(refused.cap, attempt));
  } catch (error) {
    await core.claims.drop(attempt.id).catch(() => undefined);
    throw error;
  }
}

/**
 * What became of a payment that is on record. Its header is for who has shown that they have its bytes: whoever presents it first is served for it,
 * and wallets, keys and landed swaps are no secrets.
 */
export function standing(step: Step, attempt: PaidAttempt): PaymentResult {
  const { id, state, receipt, payment } = attempt;
  const { header, payerSignature, lastValidBlockHeight } = payment;
  const about = { id, offer: offerFor(step, attempt), payerSignature, lastValidBlockHeight };
  if (state === 'unsettled') return { state: 'failed', ...about };
  const { signature } = receipt.payment;
  if (state === 'settled') return { state: 'settled', ...about, ...(signature === undefined ? {} : { signature }) };
  return { state: 'submitted', ...about, ...(step.request.signedPayment === undefined ? {} : { header }) };
}

/** The offer that an attempt is for, among those of the 402 that came with it. */
export function offerFor({ terms, request, deps }: Step, { payTo, mint, amount }: Pick<Attempt, 'payTo' | 'mint' | 'amount'>): ParsedOffer {
  const { network } = deps.settings;
  for (const envelope of terms.fallback === undefined ? [terms] : [terms, terms.fallback]) {
    for (const reading of readOffers(envelope, network, request.wallet)) {
      if (!reading.ok) continue;
      const { offer } = reading;
      if (offer.payTo === payTo && offer.mint === mint && offer.amount.toString() === amount) return parsedOffer(reading, envelope);
    }
  }
  return firstOffer(terms, network, request.wallet);
}
