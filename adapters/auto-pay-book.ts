import { checkHeader } from '../src/autopay/sign-payment.js';
import { choose, type Choice } from '../src/autopay/choose.js';
import type { Core } from '../src/autopay/core.js';
import { decide, openOf } from '../src/autopay/follow.js';
import { findPayment } from '../src/autopay/find-payment.js';
import { shortOf } from '../src/autopay/funding.js';
import { ownerOf } from '../src/autopay/owner.js';
import { spendOf } from '../src/autopay/plan.js';
import { survey } from '../src/autopay/survey.js';
import { valueOf } from '../src/autopay/value.js';
import { startDeadline, untilAborted } from '../src/deadline.js';
import { amendError, isExactChangeError, ProtocolError } from '../src/errors.js';
import type { Attempt, Journal, SignedPayment } from '../src/journal/types.js';
import { capsFor, checkPayment, overBudget, takenOf, type Spend } from '../src/policy/caps.js';
import { formatUsd } from '../src/policy/dollars.js';
import { checkOffer, checkPlace } from '../src/policy/lists.js';
import { refuse } from '../src/policy/read.js';
import type { Receipt } from '../src/receipt.js';
import { isAddress } from '../src/solana/address.js';
import type { AutoPayRequest, ParsedOffer, PaymentResult } from '../src/transport.js';
import { readOffers } from '../src/x402/offers.js';
import { createPaymentId, encodePayment, offersPaymentId } from '../src/x402/payload.js';
import type { PaymentRequired } from '../src/x402/types.js';
import { seeBrought } from './auto-pay-brought.js';
import { createDesks, type Desk, type Desks } from './auto-pay-desks.js';
import { throwIfFailed, type Landed } from './auto-pay-landing.js';
import { readPayment, type ReadPayment } from './auto-pay-payment.js';
import {
  bearerOf,
  findFunded,
  findPaid,
  findReserved,
  findSwap,
  hasSwap,
  idOf,
  isPaid,
  keyTaken,
  paymentPrint,
  swapPrint,
  type PaidAttempt,
  type Purchase,
  type SwapAttempt,
} from './auto-pay-records.js';
import { swapAmountOf } from './auto-pay-request.js';
import { readSigned, readSwap, type ReadSwap, type SignedBytes } from './auto-pay-swap.js';
import { awaitVerdict, soon, SWAP_WAIT_MS } from './auto-pay-verdict.js';
import { bytesOf, firstOffer, hostOf, plan, planner, type AutoPayDeps } from './local-auto-pay.js';
import { parsedOffer, termsOf } from './local-parse.js';

// A blockhash is at most 150 blocks old when it is used last, and a slot may pass without a block.
const SLOT_MARGIN = 364;
const PAYMENT_ID_BYTES = 16;
// How soon what a process leaves that dies is taken up by another over the same journal.
const ROUND_MS = 60_000;

/** Auto-pay on record. */
export interface AutoPayBook extends Pick<Desks, 'resume' | 'close'> {
  step(request: AutoPayRequest, signal: AbortSignal | undefined): Promise<PaymentResult>;
}

/** One step, with what all of them need. */
interface Step {
  readonly deps: AutoPayDeps;
  readonly desk: Desk;
  readonly request: AutoPayRequest;
  readonly terms: PaymentRequired;
  readonly purchase: Purchase;
  readonly signal: AbortSignal | undefined;
}

/**
 * The steps of payments that somebody else signs, each on record before anything of it leaves: a swap before it is sent, a payment before its
 * header is given. What is open is followed in the background, and taken up again by the first call after a restart; where several processes share
 * the journal, also by one that lives, of one that died.
 */
export function createBook(deps: AutoPayDeps, journal: Journal): AutoPayBook {
  const desks = createDesks(deps, journal);
  const { idle } = deps.settings.runtime;
  const closing = new AbortController();
  let resumed: Promise<void> | undefined;
  let rounds: Promise<void> | undefined;
  /** Until the signal ends it. */
  const goRounds = async (): Promise<never> => {
    for (;;) {
      await idle(ROUND_MS, closing.signal);
      // What one round could not take up, the next one can.
      await desks.resume().catch(() => undefined);
    }
  };
  const resume = () => {
    // Only others can leave more than what was there at the start.
    if (journal.coordination !== undefined && !closing.signal.aborted) rounds ??= goRounds().catch(() => undefined);
    return (resumed ??= desks.resume().catch((error: unknown) => {
      resumed = undefined;
      throw error;
    }));
  };
  return {
    resume,
    async close() {
      closing.abort();
      await desks.close();
      await rounds;
    },
    async step(request, signal) {
      const { wallet, signedSwap, signedPayment } = request;
      if (!isAddress(wallet)) throw refuse('wallet', 'must be a base58 address.');
      const terms = termsOf(request.paymentRequired);
      const purchase = purchaseOf(request, terms);
      await untilAborted(resume(), signal);
      return desks.at(wallet, async (desk) => {
        const step = { deps, desk, request, terms, purchase, signal };
        if (signedPayment !== undefined) return payStep(step, bytesOf('signedPayment', signedPayment));
        if (signedSwap !== undefined) return swapStep(step, bytesOf('signedSwap', signedSwap));
        return planStep(step);
      });
    },
  };
}

function purchaseOf(request: AutoPayRequest, terms: PaymentRequired): Purchase {
  const { idempotencyKey } = request;
  const host = hostOf(terms);
  if (terms.url === undefined && !isForSwapAlone(request))
    throw refuse('paymentRequired.url', 'must be given: a payment is put on record with the place that asks for it.');
  if (idempotencyKey !== undefined && !/^[\x21-\x7e]{1,255}$/.test(idempotencyKey))
    throw refuse('idempotencyKey', 'must be 1 to 255 visible ASCII characters.');
  // No attempt was made at an empty address, so none is found there.
  return { url: (terms.url ?? '').replace(/#.*/s, ''), host, idempotencyKey };
}

/** Who names a swap and hands over nothing pays without us, and has nothing put on record or looked up. */
function isForSwapAlone(request: AutoPayRequest): boolean {
  return swapAmountOf(request) !== undefined && request.signedPayment === undefined && request.idempotencyKey === undefined;
}

/** What to sign next; under a key, what became of what was signed. */
async function planStep(step: Step): Promise<PaymentResult> {
  const { desk, request, purchase } = step;
  const bearer = await bearerOf(desk.core, purchase);
  if (bearer !== undefined && isPaid(bearer)) return standing(step, bearer);
  if (bearer !== undefined && hasSwap(bearer)) {
    const landed = await waitFor(step, bearer);
    if (landed === undefined) return submittedSwap(step, bearer);
    if (landed.error !== undefined) throw landed.error;
  }
  return planOn(step, swapAmountOf(request));
}

/** Plans with what the wallet's payments in flight leave of its tokens, and of its budget. */
async function planOn({ deps, desk, request, terms, purchase, signal }: Step, swapAmount?: bigint): Promise<PaymentResult> {
  const core = planner(deps, request, request.autoSwap ?? false);
  await core.ready();
  for (const { payment, id, amount } of await inFlight(desk.core, signal)) await core.ledger.hold(payment.source, id, BigInt(amount));
  await seeBrought(core, desk.core, signal);
  let funded: SwapAttempt | undefined;
  const check = async (choice: Choice) => {
    const spend = spendOf(choice, purchase.host);
    funded = await findFunded(desk.core, purchase, spend);
    if (funded === undefined) await checkBudget(desk.core, spend);
  };
  const result = await plan(core, terms, { signal, swapAmount, check });
  return funded === undefined ? result : { ...result, id: funded.id };
}

/**
 * The payments that may still land. Each is looked for: what one that has landed took is gone from the balance already, and its subscription may
 * be silent about that for long.
 */
async function inFlight(core: Core, signal: AbortSignal = core.closing.signal): Promise<PaidAttempt[]> {
  const signed: PaidAttempt[] = [];
  for await (const attempt of core.journal.attempts(ownerOf(core), { state: 'signed' })) if (isPaid(attempt)) signed.push(attempt);
  const over = await Promise.all(
    signed.map((attempt) => decide(core, openOf(core, attempt), core.events.emitter(attempt.id), signal).catch(() => false)),
  );
  return signed.filter((_, index) => over[index] !== true);
}

/** Before anything is signed; what is signed reserves it. */
async function checkBudget(core: Core, spend: Spend): Promise<void> {
  const caps = capsFor(core.config.policy, spend);
  const used = await core.journal.used(ownerOf(core), caps, core.config.runtime.now());
  caps.forEach((cap, index) => {
    const [spent = 0n, taken] = [used[index], takenOf(cap, spend)];
    if (taken > 0n && spent + taken > cap.limit) throw overBudget(cap, spent, taken);
  });
}

/** Sends a signed swap, on record first, and plans the payment once it has landed. */
async function swapStep(step: Step, bytes: Uint8Array): Promise<PaymentResult> {
  const { desk, request } = step;
  const signed = readSigned(request.wallet, bytes);
  const { signature } = signed;
  const known = await findSwap(desk.core, signature);
  if (known !== undefined && isPaid(known)) return standing(step, known);
  const sent = await (known === undefined ? sendFirst(step, signed) : finish(step, known));
  if ('state' in sent) return sent;
  try {
    return { ...sent, ...(await planOn(step)) };
  } catch (error) {
    // Whatever keeps the payment from being made, the swap for it was.
    throw isExactChangeError(error) ? amendError(error, { moved: [{ kind: 'swap', signature }] }) : error;
  }
}

/** The answer where a swap is not decided yet, or else the id that it is on record with. Throws what it failed with. */
type Sent = PaymentResult | Pick<PaymentResult, 'id'>;

async function finish(step: Step, attempt: SwapAttempt): Promise<Sent> {
  const landed = await waitFor(step, attempt);
  if (landed === undefined) return submittedSwap(step, attempt);
  if (landed.error !== undefined) throw landed.error;
  return { id: attempt.id };
}

/**
 * Puts a swap on record and sends it. One that a block has already needs nobody to send it, and its bytes are anybody's, who must not fill the
 * wallet's budget with them; one that no block may have any more needs none.
 */
async function sendFirst(step: Step, signed: SignedBytes): Promise<Sent> {
  const { desk, request, terms, signal } = step;
  const { core } = desk;
  const swap = await readSwap(core.rpc, request.wallet, signed, signal);
  const verdict = await soon(signal, (within) => awaitVerdict(core.rpc, core.config.runtime, signed, within));
  await throwIfFailed(core, signed.signature, verdict);
  if (verdict.state === 'waiting') {
    return { state: 'swap_submitted', signature: signed.signature, offer: firstOffer(terms, core.config.network, request.wallet) };
  }
  if (verdict.state !== 'open') return {};
  const attempt = await reserveSwap(step, signed, swap, verdict.slot);
  return isPaid(attempt) ? standing(step, attempt) : finish(step, attempt);
}

/** Puts a swap on record whose blockhash was valid at a slot. */
async function reserveSwap(step: Step, signed: SignedBytes, swap: ReadSwap, minContextSlot: number): Promise<SwapAttempt> {
  const { deps, desk, request, terms, purchase, signal } = step;
  const { core } = desk;
  const { runtime } = core.config;
  const planning = planner(deps, request, true);
  await planning.ready();
  const otherMint = new ProtocolError(
    'unsupported_offer',
    'The swap brings another token than the offer asks for. Plan the payment anew.',
    {
      details: { reason: 'asks for another token than the swap brings' },
    },
  );
  const refuseOther: NonNullable<Parameters<typeof choose>[2]['refuse']> = ({ mint }) => (mint === swap.outputMint ? undefined : otherMint);
  const choice = await choose(planning, terms, { host: purchase.host, signal, quote: false, refuse: refuseOther });
  checkHeader(planning, choice);
  // No blockhash of before outlives one of now.
  const { lastValidBlockHeight } = await core.rpc.latestBlockhash({ minContextSlot, signal });
  const attempt: SwapAttempt = {
    ...reservedFor(step, choice, swapPrint(signed.signature)),
    swap: {
      ...swap,
      signature: signed.signature,
      transaction: request.signedSwap ?? '',
      provider: 'jupiter',
      lastValidBlockHeight: lastValidBlockHeight.toString(),
    },
  };
  return desk.alone(async () => {
    const again = await findSwap(core, signed.signature);
    if (again !== undefined) return again;
    const bearer = await bearerOf(core, purchase);
    if (bearer === undefined) {
      await reserve(core, attempt);
      return attempt;
    }
    // One more swap for the same purchase, where the first did not bring enough.
    const isDecided = bearer.state === 'reserved' && bearer.swap?.outcome !== undefined;
    if (!isDecided || bearer.payTo !== attempt.payTo || bearer.mint !== attempt.mint || bearer.amount !== attempt.amount) throw keyTaken();
    const next = { ...bearer, fingerprint: attempt.fingerprint, at: runtime.now(), swap: attempt.swap };
    await core.journal.put(next);
    return next;
  }, signal);
}

function reservedFor({ desk, purchase }: Step, choice: Pick<Choice, 'offer' | 'microUsd'>, print: string): Attempt {
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
async function reserve(core: Core, attempt: Attempt): Promise<void> {
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

/** What became of a swap, if that is known soon. */
async function waitFor({ desk, signal }: Step, attempt: SwapAttempt): Promise<Landed | undefined> {
  const deadline = startDeadline(SWAP_WAIT_MS, signal);
  try {
    return await untilAborted(desk.keep(attempt), deadline.signal);
  } catch (error) {
    if (deadline.passed) return undefined;
    throw error;
  } finally {
    deadline.end();
  }
}

function submittedSwap(step: Step, { id, swap, ...attempt }: SwapAttempt): PaymentResult {
  return { state: 'swap_submitted', id, signature: swap.signature, offer: offerFor(step, attempt) };
}

/** Puts a signed payment on record, then gives its header; what became of it, where it is there already. */
async function payStep(step: Step, bytes: Uint8Array): Promise<PaymentResult> {
  const { desk, request, signal } = step;
  const read = readPayment(step.terms, desk.core.config.network, request.wallet, bytes);
  const known = await findPaid(desk.core, read.payerSignature);
  if (known !== undefined) return standing(step, known);
  const choice = await judge(step, read);
  const bound = await boundOf(desk.core, read, signal);
  const landed = await landedAs(step, read, choice, bound);
  if (landed !== undefined) return landed;
  if (choice.facts.available < choice.offer.amount) throw shortOf(choice.offer, choice.facts);
  const { attempt, isNew } = await desk.alone(() => record(step, read, choice, bound), signal);
  if (!isNew) return standing(step, attempt);
  await desk.watch(attempt).catch(() => undefined);
  await desk.core.claims.drop(attempt.id).catch(() => undefined);
  const { header, payerSignature, lastValidBlockHeight } = attempt.payment;
  const offer = parsedOffer(read.reading, read.envelope);
  return { state: 'ready_to_present', id: attempt.id, offer, header, payerSignature, lastValidBlockHeight };
}

/**
 * What became of a payment that is on chain and not on record. It is not put there: its bytes are anybody's to read, who must not fill the wallet's
 * budget with them.
 */
async function landedAs(
  { desk, signal }: Step,
  read: ReadPayment,
  choice: Pick<Choice, 'offer' | 'facts'>,
  bound: Bound,
): Promise<PaymentResult | undefined> {
  const { config, rpc } = desk.core;
  const deadline = startDeadline(config.timeouts.payment, signal);
  const search = findPayment(rpc, paymentOf(desk.core, read, choice, bound), undefined, new Set(), deadline.signal);
  const verdict = await search.finally(() => deadline.end());
  if (verdict.state === 'open') return undefined;
  const offer = parsedOffer(read.reading, read.envelope);
  return verdict.state === 'settled' ? { state: 'settled', offer, signature: verdict.signature } : { state: 'failed', offer };
}

/** Whether the service lets the wallet pay that. */
async function judge({ deps, request, purchase, signal }: Step, read: ReadPayment): Promise<Pick<Choice, 'offer' | 'facts' | 'microUsd'>> {
  const { offer } = read.reading;
  const core = planner(deps, request, false);
  const { policy } = core.config;
  await core.ready();
  const misplaced = checkPlace(policy, purchase.host) ?? checkOffer(policy, { ...offer, scheme: 'exact' });
  if (misplaced !== undefined) throw misplaced;
  const [surveyed] = await survey(core, [offer], signal);
  if (surveyed === undefined) throw new TypeError('an offer was not surveyed');
  if ('error' in surveyed) throw surveyed.error;
  const { facts } = surveyed;
  if (read.source !== facts.source || read.authority !== request.wallet)
    throw refuse('signedPayment', "must pay from the wallet's own associated token account.");
  const microUsd = await valueOf(core, offer.mint, offer.amount, facts.decimals, signal);
  const refusal = checkPayment(policy, spendOf({ offer, microUsd }, purchase.host));
  if (refusal !== undefined) throw refusal;
  return { offer, facts, microUsd };
}

type Bound = Pick<SignedPayment, 'lastValidBlockHeight' | 'slot'>;

/** Until when it can land, and since when. Throws `invalid_option` where nobody could tell. */
async function boundOf({ rpc }: Core, { blockhash, hasNonce }: ReadPayment, signal: AbortSignal | undefined): Promise<Bound> {
  const { valid, slot: minContextSlot } = await rpc.isBlockhashValid(blockhash, { signal });
  if (hasNonce || !valid) throw refuse('signedPayment', 'must have a blockhash that is still valid. Plan the payment anew.');
  const { lastValidBlockHeight, slot } = await rpc.latestBlockhash({ minContextSlot, signal });
  return { lastValidBlockHeight: lastValidBlockHeight.toString(), slot: Math.max(0, slot - SLOT_MARGIN) };
}

async function record(
  step: Step,
  read: ReadPayment,
  choice: Pick<Choice, 'offer' | 'facts' | 'microUsd'>,
  bound: Bound,
): Promise<{ readonly attempt: PaidAttempt; readonly isNew: boolean }> {
  const { desk, purchase } = step;
  const { core } = desk;
  const known = await findPaid(core, read.payerSignature);
  if (known !== undefined) return { attempt: known, isNew: false };
  const print = paymentPrint(read.payerSignature);
  const funded = await findFunded(core, purchase, spendOf(choice, purchase.host));
  // What the journal reserved for the same bytes before it failed.
  const begun = funded ?? (await findReserved(core, idOf(print)));
  const bearer = await bearerOf(core, purchase);
  if (bearer !== undefined && bearer.id !== begun?.id) throw keyTaken();
  const reserved = begun ?? reservedFor(step, choice, print);
  if (begun === undefined) await reserve(core, reserved);
  else if (funded === undefined) await core.claims.take(reserved.id);
  const payment = paymentOf(core, read, choice, bound);
  const attempt: PaidAttempt = {
    ...{ ...reserved, fingerprint: print, state: 'signed', at: core.config.runtime.now() },
    payment,
    receipt: receiptFor(reserved, choice, payment.payerSignature),
  };
  try {
    await core.journal.put(attempt);
  } catch (error) {
    // Without its header nobody can present it; if it was written all the same, it is not released.
    if (funded === undefined) {
      await core.journal.release(reserved.id).catch(() => undefined);
      await core.claims.drop(reserved.id).catch(() => undefined);
    }
    throw error;
  }
  return { attempt, isNew: true };
}

function paymentOf(
  { config }: Core,
  { bytes, envelope, payerSignature, blockhash, memo }: ReadPayment,
  { offer, facts }: Pick<Choice, 'offer' | 'facts'>,
  bound: Bound,
): SignedPayment {
  const hasPaymentId = offersPaymentId(envelope);
  const paymentId = hasPaymentId ? { paymentId: createPaymentId(config.runtime.randomBytes(PAYMENT_ID_BYTES)) } : {};
  return {
    header: encodePayment({ paymentRequired: envelope, offer, transaction: bytes, ...paymentId }),
    ...{ payerSignature, source: facts.source, blockhash },
    ...(memo === undefined ? {} : { memo }),
    ...bound,
    ...(hasPaymentId ? { hasPaymentId } : {}),
  };
}

function receiptFor(
  { id, url, method, at, network, wallet, mint, amount, payTo, swap }: Attempt,
  { facts, microUsd }: Pick<Choice, 'facts' | 'microUsd'>,
  payerSignature: string,
): Receipt {
  const swapped = swap?.outcome?.state === 'confirmed' ? swap.outcome : undefined;
  return {
    ...{ id, url, method, at, state: 'uncertain' },
    payment: { network, mint, amount, decimals: facts.decimals, payTo, payer: wallet, payerSignature },
    ...(swap === undefined || swapped === undefined
      ? {}
      : {
          swap: {
            ...{ signature: swap.signature, inputMint: swap.inputMint, inAmount: swapped.inAmount },
            ...{ outputMint: swap.outputMint, outAmount: swapped.outAmount, provider: swap.provider },
          },
        }),
    cost: { ...(microUsd === undefined ? {} : { usd: formatUsd(microUsd) }), networkFeeLamports: swapped?.feeLamports ?? '0' },
    timings: {},
  };
}

/**
 * What became of a payment that is on record. Its header is for who has shown that they have its bytes: whoever presents it first is served for it,
 * and wallets, keys and landed swaps are no secrets.
 */
function standing(step: Step, attempt: PaidAttempt): PaymentResult {
  const { id, state, receipt, payment } = attempt;
  const { header, payerSignature, lastValidBlockHeight } = payment;
  const about = { id, offer: offerFor(step, attempt), payerSignature, lastValidBlockHeight };
  if (state === 'unsettled') return { state: 'failed', ...about };
  const { signature } = receipt.payment;
  if (state === 'settled') return { state: 'settled', ...about, ...(signature === undefined ? {} : { signature }) };
  return { state: 'submitted', ...about, ...(step.request.signedPayment === undefined ? {} : { header }) };
}

/** The offer that an attempt is for, among those of the 402 that came with it. */
function offerFor({ terms, request, deps }: Step, { payTo, mint, amount }: Pick<Attempt, 'payTo' | 'mint' | 'amount'>): ParsedOffer {
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
