import { ConfigError } from '../errors.js';
import { refuse } from '../internal/options.js';
import type { SignedAttempt } from '../journal/open-payment.js';
import type { Attempt, SignedPayment } from '../journal/types.js';
import { ownerOf, type PaymentContext } from '../payments/context.js';
import { firstReceipt } from '../payments/attempt-receipt.js';
import { mayBeFor } from '../payments/execute/sign-payment.js';
import { spendOf, type Choice } from '../payments/plan/choose.js';
import { readOfferAccounts } from '../payments/plan/offer-accounts.js';
import { tooLittleHeld } from '../payments/plan/short-of.js';
import { usdValueOf } from '../payments/plan/usd-value.js';
import {
  earliestSlot,
  fateOf,
  inPaymentTime,
  recordedBefore,
  sentPayment,
} from '../payments/reconcile/fate.js';
import { swapRecordOf } from '../payments/reconcile/swap-outcome.js';
import { assertPayable, checkOffer, checkPlace } from '../policy/refusals.js';
import { attachPayment } from '../protocols/x402/payload.js';
import type { PaymentResult } from '../transport.js';
import { parsedOffer } from './parse-payment.js';
import { pastBalance } from './past-balance.js';
import { plannerOf } from './plan-step.js';
import { readPayment, type ReadPayment } from './read-payment.js';
import { readSigned } from './read-swap.js';
import {
  findByKey,
  findFunded,
  findPaid,
  findReserved,
  idOf,
  isFor,
  keyTaken,
  MAY_HAVE_PAID,
  otherPurchase,
  paymentPrint,
} from './records.js';
import { reserve, reservedFor, resultSoFar, type Step } from './step.js';

/**
 * Records a signed payment, then returns its header. If the payment is on record already, it
 * returns the payment's result.
 */
export async function payStep(step: Step, bytes: Uint8Array): Promise<PaymentResult> {
  const { session, request, signal } = step;
  const { wallet } = request;
  const signed = await readSigned('signedPayment', wallet, bytes);
  // Before the terms are looked at: the seller may ask for something else by now.
  const known = await findPaid(session.context, signed.signature);
  if (known !== undefined) return resultFor(step, known);
  const read = readPayment(step.terms, session.context.config.network, wallet, signed);
  // Skip the check if the seller chose the memo, because the memo then proves nothing.
  if (read.reading.offer.memo === undefined && !mayBeFor(read.memo, step.purchase))
    throw refuse(
      'signedPayment',
      'is for another address or idempotencyKey. Plan the payment under this one.',
    );
  // Judge alone too: two payments that are judged at once would both find the same tokens.
  const recorded = await session.exclusively(async () => {
    const choice = await judge(step, read);
    const bound = await boundOf(session.context, read, choice.facts.source, signal);
    return (await landedAs(step, read, choice, bound)) ?? record(step, read, choice, bound);
  }, signal);
  if ('state' in recorded) return recorded;
  const { attempt, isNew } = recorded;
  if (!isNew) return resultFor(step, attempt);
  await session.watch(attempt).catch(() => undefined);
  await session.context.claims.drop([attempt.id]).catch(() => undefined);
  const { header, payerSignature, lastValidBlockHeight } = attempt.payment;
  const offer = parsedOffer(read.reading, read.envelope);
  return {
    state: 'ready_to_present',
    id: attempt.id,
    offer,
    header,
    payerSignature,
    lastValidBlockHeight,
  };
}

/** Returns the result of a recorded payment, but only for its own purchase. */
function resultFor(step: Step, known: SignedAttempt): PaymentResult {
  requireOwn(step, known);
  return resultSoFar(step, known);
}

/**
 * Throws `invalid_option` for another purchase than the attempt's. Without a key, any key fits. Not
 * so for a swap: its plan would be of another purchase than the attempt.
 */
function requireOwn({ purchase }: Step, known: Attempt): void {
  const { url, idempotencyKey = known.idempotencyKey } = purchase;
  if (!isFor({ url, idempotencyKey }, known)) throw otherPurchase('signedPayment');
}

/**
 * Returns the result of a payment that is on the chain but not on record; undefined if it is still
 * open. The payment is not recorded: any stranger can read its bytes, and could fill the wallet's
 * budget with them.
 */
async function landedAs(
  { session, signal }: Step,
  read: ReadPayment,
  choice: Pick<Choice, 'offer' | 'facts'>,
  bound: Bound,
): Promise<PaymentResult | undefined> {
  const { context } = session;
  const payment = paymentOf(context, read, choice, bound);
  const sent = sentPayment({ mint: choice.offer.mint }, payment);
  const fate = await inPaymentTime(context, signal, (within) =>
    fateOf(context.histories, sent, within),
  );
  if (fate.state === 'open') return undefined;
  const offer = parsedOffer(read.reading, read.envelope);
  if (fate.state === 'never' || fate.error !== null) return { state: 'failed', offer };
  return { state: 'settled', offer, signature: fate.signature };
}

/** Checks that the service's policy allows the payment, and reads its accounts. */
async function judge(
  step: Step,
  payment: ReadPayment,
): Promise<Pick<Choice, 'offer' | 'facts' | 'microUsd'>> {
  const { request, purchase, signal } = step;
  const { offer } = payment.reading;
  const context = await plannerOf(step, false);
  const { policy } = context.config;
  const misplaced =
    checkPlace(policy, purchase.host) ?? checkOffer(policy, { ...offer, scheme: 'exact' });
  if (misplaced !== undefined) throw misplaced;
  const [accounts] = await readOfferAccounts(context, [offer], signal);
  if (accounts === undefined) throw new TypeError('an offer was not read');
  if ('error' in accounts) throw accounts.error;
  const { facts } = accounts;
  if (payment.source !== facts.source || payment.authority !== request.wallet)
    throw refuse('signedPayment', "must pay from the wallet's own associated token account.");
  const microUsd = await usdValueOf(context, offer.mint, offer.amount, facts.decimals, signal);
  assertPayable(policy, spendOf({ offer, microUsd }, purchase.host));
  return { offer, facts, microUsd };
}

type Bound = Pick<SignedPayment, 'before' | 'blockhashSlot' | 'lastValidBlockHeight' | 'slot'>;

/** Returns the slots and height within which the payment can land. Throws `invalid_option`. */
async function boundOf(
  context: PaymentContext,
  { blockhash, hasNonce }: ReadPayment,
  source: string,
  signal: AbortSignal | undefined,
): Promise<Bound> {
  const { rpc } = context;
  const { valid, slot: minContextSlot } = await rpc.isBlockhashValid(blockhash, { signal });
  if (hasNonce || !valid) throw expired();
  const { lastValidBlockHeight } = await rpc.latestBlockhash({ minContextSlot, signal });
  // Use a slot that two answers have shown. With a slot that is too high, the search would take
  // every landed transaction for older than the payment.
  const slot = earliestSlot(minContextSlot);
  const before = await pastBalance(context, { account: source, unit: 'tokens' }, slot, signal);
  return {
    ...recordedBefore(before),
    slot,
    blockhashSlot: minContextSlot,
    lastValidBlockHeight: lastValidBlockHeight.toString(),
  };
}

/** The error for a payment that is not on record. It is too late to find it on the chain. */
function expired(): ConfigError<'invalid_option'> {
  return new ConfigError(
    'invalid_option',
    `Option signedPayment is not on record, and must have a blockhash that is still valid. ${MAY_HAVE_PAID}`,
    { details: { option: 'signedPayment' }, funds: 'uncertain' },
  );
}

async function record(
  step: Step,
  read: ReadPayment,
  choice: Pick<Choice, 'offer' | 'facts' | 'microUsd'>,
  bound: Bound,
): Promise<{ readonly attempt: SignedAttempt; readonly isNew: boolean }> {
  const { request, session, purchase } = step;
  const { context } = session;
  const known = await findPaid(context, read.payerSignature);
  if (known !== undefined) return { attempt: known, isNew: false };
  // Not before the look above: a parallel call may have recorded this payment as one in flight.
  const { offer, facts } = choice;
  if (facts.available < offer.amount)
    throw tooLittleHeld(ownerOf(context), offer, facts, request.autoSwap ?? false);
  const print = paymentPrint(read.payerSignature);
  const funded = await findFunded(context, purchase, spendOf(choice, purchase.host));
  // An earlier call may have reserved the same bytes before the journal failed.
  const existing = funded ?? (await findReserved(context, idOf(print)));
  if (existing !== undefined) requireOwn(step, existing);
  const bearer = await findByKey(context, purchase);
  if (bearer !== undefined && bearer.id !== existing?.id) throw keyTaken();
  const reserved = existing ?? reservedFor(step, choice, print);
  // The attempt counts with everything that its swaps took.
  assertPayable(context.config.policy, reserved);
  if (existing === undefined) await reserve(context, reserved);
  const payment = paymentOf(context, read, choice, bound);
  const attempt: SignedAttempt = {
    ...{ ...reserved, fingerprint: print, state: 'signed', at: context.config.runtime.now() },
    payment,
    receipt: firstReceipt(
      reserved,
      choice.facts.decimals,
      payment.payerSignature,
      landedSwapOf(reserved),
      {},
    ),
  };
  try {
    if (existing !== undefined && funded === undefined) await context.claims.take([reserved.id]);
    await context.journal.put(attempt);
  } catch (error) {
    // Without its header no caller can present the payment, so the reservation is freed. If the
    // journal did write the payment, `release` does not remove it.
    if (funded === undefined) {
      const { id } = reserved;
      await context.journal.release(id).catch(() => undefined);
      await context.claims.drop([id]).catch(() => undefined);
    }
    throw error;
  }
  return { attempt, isNew: true };
}

function paymentOf(
  { config }: PaymentContext,
  { bytes, envelope, payerSignature, blockhash, memo }: ReadPayment,
  { offer, facts }: Pick<Choice, 'offer' | 'facts'>,
  bound: Bound,
): SignedPayment {
  const { header, hasPaymentId } = attachPayment({
    ...{ terms: envelope, offer, transaction: bytes },
    random: config.runtime.randomBytes,
  });
  return {
    header,
    ...{ payerSignature, source: facts.source, blockhash },
    ...(memo === undefined ? {} : { memo }),
    ...bound,
    ...(hasPaymentId ? { hasPaymentId } : {}),
  };
}

function landedSwapOf({ swap }: Attempt): Parameters<typeof firstReceipt>[3] {
  if (swap?.outcome?.state !== 'confirmed') return undefined;
  const { outcome } = swap;
  return { record: swapRecordOf(swap, outcome), feeLamports: BigInt(outcome.feeLamports) };
}
