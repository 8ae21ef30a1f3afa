import { refuse } from '../internal/options.js';
import type { Attempt, SignedPayment } from '../journal/types.js';
import { ownerOf, type PaymentContext } from '../payments/context.js';
import { costFor, paidBy } from '../payments/execute/attempt-receipt.js';
import { mayBeFor } from '../payments/execute/nonce-check.js';
import { spendOf, type Choice } from '../payments/plan/choose.js';
import { readOfferAccounts } from '../payments/plan/offer-accounts.js';
import { shortOf } from '../payments/plan/short-of.js';
import { usdValueOf } from '../payments/plan/usd-value.js';
import { fateOf, inPaymentTime, sentPayment, SLOT_MARGIN } from '../payments/reconcile/fate.js';
import { checkOffer, checkPayment, checkPlace } from '../policy/refusals.js';
import { attachPayment, PAYMENT_ID_BYTES } from '../protocols/x402/payload.js';
import type { Receipt } from '../receipt.js';
import type { PaymentResult } from '../transport.js';
import { planner } from './auto-pay.js';
import { parsedOffer } from './parse-payment.js';
import { pastBalance } from './past-balance.js';
import { readPayment, type ReadPayment } from './read-payment.js';
import {
  bearerOf,
  findFunded,
  findPaid,
  findReserved,
  idOf,
  keyTaken,
  paymentPrint,
  type PaidAttempt,
} from './records.js';
import { reserve, reservedFor, resultSoFar, type Step } from './step.js';

/**
 * Puts a signed payment on record, then gives its header; what became of it, if it is there
 * already.
 */
export async function payStep(step: Step, bytes: Uint8Array): Promise<PaymentResult> {
  const { session, request, signal } = step;
  const read = await readPayment(step.terms, session.context.config.network, request.wallet, bytes);
  // A seller's own memo may look like anything.
  if (read.reading.offer.memo === undefined && !mayBeFor(read.memo, step.purchase))
    throw refuse(
      'signedPayment',
      'is for another address or idempotencyKey. Plan the payment under this one.',
    );
  const known = await findPaid(session.context, read.payerSignature);
  if (known !== undefined) return standingFor(step, known);
  const choice = await judge(step, read);
  const bound = await boundOf(session.context, read, choice.facts.source, signal);
  const landed = await landedAs(step, read, choice, bound);
  if (landed !== undefined) return landed;
  if (choice.facts.available < choice.offer.amount)
    throw shortOf(ownerOf(session.context), choice.offer, choice.facts);
  const { attempt, isNew } = await session.alone(() => record(step, read, choice, bound), signal);
  if (!isNew) return standingFor(step, attempt);
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

/**
 * What became of it for the purchase that it is on record for: another key would be told that it
 * has paid, and later that it has not.
 */
function standingFor(step: Step, known: PaidAttempt): PaymentResult {
  const { url, idempotencyKey } = step.purchase;
  if (
    idempotencyKey !== undefined &&
    (known.idempotencyKey !== idempotencyKey || known.url !== url)
  )
    throw refuse(
      'signedPayment',
      'is on record for another purchase. Plan the payment for this one.',
    );
  return resultSoFar(step, known);
}

/**
 * What became of a payment that is on chain and not on record. It is not put there: its bytes are
 * any stranger's to read, which must not fill the wallet's budget with them.
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

/** Whether the service lets the wallet pay that. */
async function judge(
  { deps, request, purchase, signal }: Step,
  payment: ReadPayment,
): Promise<Pick<Choice, 'offer' | 'facts' | 'microUsd'>> {
  const { offer } = payment.reading;
  const context = planner(deps, request, false);
  const { policy } = context.config;
  await context.ready();
  const misplaced =
    checkPlace(policy, purchase.host) ?? checkOffer(policy, { ...offer, scheme: 'exact' });
  if (misplaced !== undefined) throw misplaced;
  const [one] = await readOfferAccounts(context, [offer], signal);
  if (one === undefined) throw new TypeError('an offer was not read');
  if ('error' in one) throw one.error;
  const { facts } = one;
  if (payment.source !== facts.source || payment.authority !== request.wallet)
    throw refuse('signedPayment', "must pay from the wallet's own associated token account.");
  const microUsd = await usdValueOf(context, offer.mint, offer.amount, facts.decimals, signal);
  const refusal = checkPayment(policy, spendOf({ offer, microUsd }, purchase.host));
  if (refusal !== undefined) throw refusal;
  return { offer, facts, microUsd };
}

type Bound = Pick<SignedPayment, 'before' | 'blockhashSlot' | 'lastValidBlockHeight' | 'slot'>;

/** Until when it can land, and since when. Throws `invalid_option` if no node could tell. */
async function boundOf(
  context: PaymentContext,
  { blockhash, hasNonce }: ReadPayment,
  source: string,
  signal: AbortSignal | undefined,
): Promise<Bound> {
  const { rpc } = context;
  const { valid, slot: minContextSlot } = await rpc.isBlockhashValid(blockhash, { signal });
  if (hasNonce || !valid)
    throw refuse(
      'signedPayment',
      'must have a blockhash that is still valid. Plan the payment anew.',
    );
  const { lastValidBlockHeight } = await rpc.latestBlockhash({ minContextSlot, signal });
  // Of the slot that two answers have shown: with one that is too high, all that landed would be
  // taken for older than the payment.
  const slot = Math.max(0, minContextSlot - SLOT_MARGIN);
  const before = await pastBalance(context, { account: source, unit: 'tokens' }, slot, signal);
  return {
    ...(before === undefined
      ? {}
      : { before: { amount: before.amount.toString(), slot: before.slot } }),
    ...{
      slot,
      blockhashSlot: minContextSlot,
      lastValidBlockHeight: lastValidBlockHeight.toString(),
    },
  };
}

async function record(
  step: Step,
  read: ReadPayment,
  choice: Pick<Choice, 'offer' | 'facts' | 'microUsd'>,
  bound: Bound,
): Promise<{ readonly attempt: PaidAttempt; readonly isNew: boolean }> {
  const { session, purchase } = step;
  const { context } = session;
  const known = await findPaid(context, read.payerSignature);
  if (known !== undefined) return { attempt: known, isNew: false };
  const print = paymentPrint(read.payerSignature);
  const funded = await findFunded(context, purchase, spendOf(choice, purchase.host));
  // What the journal reserved for the same bytes before it failed.
  const begun = funded ?? (await findReserved(context, idOf(print)));
  const bearer = await bearerOf(context, purchase);
  if (bearer !== undefined && bearer.id !== begun?.id) throw keyTaken();
  const reserved = begun ?? reservedFor(step, choice, print);
  // With all that its swaps took.
  const refusal = checkPayment(context.config.policy, reserved);
  if (refusal !== undefined) throw refusal;
  if (begun === undefined) await reserve(context, reserved);
  else if (funded === undefined) await context.claims.take([reserved.id]);
  const payment = paymentOf(context, read, choice, bound);
  const attempt: PaidAttempt = {
    ...{ ...reserved, fingerprint: print, state: 'signed', at: context.config.runtime.now() },
    payment,
    receipt: receiptFor(reserved, choice.facts.decimals, payment.payerSignature),
  };
  try {
    await context.journal.put(attempt);
  } catch (error) {
    // Without its header no caller can present it; if it was written all the same, it is not
    // released.
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
    random: () => config.runtime.randomBytes(PAYMENT_ID_BYTES),
  });
  return {
    header,
    ...{ payerSignature, source: facts.source, blockhash },
    ...(memo === undefined ? {} : { memo }),
    ...bound,
    ...(hasPaymentId ? { hasPaymentId } : {}),
  };
}

function receiptFor(attempt: Attempt, decimals: number, payerSignature: string): Receipt {
  const { id, url, method, at, swap } = attempt;
  const swapped = swap?.outcome?.state === 'confirmed' ? swap.outcome : undefined;
  return {
    ...{ id, url, method, at, state: 'pending' },
    payment: paidBy(attempt, decimals, payerSignature),
    ...(swap === undefined || swapped === undefined
      ? {}
      : {
          swap: {
            ...{ signature: swap.signature, inputMint: swap.inputMint, inAmount: swapped.inAmount },
            ...{
              outputMint: swap.outputMint,
              outAmount: swapped.outAmount,
              provider: swap.provider,
            },
          },
        }),
    cost: costFor(attempt, BigInt(swapped?.feeLamports ?? 0)),
    timings: {},
  };
}
