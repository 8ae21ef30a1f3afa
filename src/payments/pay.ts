import type { OpenPayment } from '../journal/open-payment.js';
import { hex } from '@scure/base';
import { throwIfAborted, untilAborted } from '../internal/deadline.js';
import { amendError, isExactChangeError, PolicyError, ProtocolError, type Moved } from '../errors.js';
import type { Emit } from '../events.js';
import type { Attempt, SignedSwap, SwapOutcome } from '../journal/types.js';
import { announce } from '../journal/registry.js';
import { isLoopback } from '../internal/loopback.js';
import { capsFor, checkPayment, overBudget, takenOf } from '../policy/caps.js';
import { noSwapCost } from '../policy/cost.js';
import { checkPlace } from '../policy/lists.js';
import type { Receipt } from '../receipt.js';
import type { Call } from '../internal/request.js';
import { readPaymentRequired } from '../protocols/x402/read.js';
import type { PaymentRequired } from '../protocols/x402/types.js';
import { resumeEarlierPayment, inProgress, underKey } from './reconcile/earlier-payment.js';
import { approvalFor } from './execute/approval.js';
import { choose, type Choice, type ChooseOptions } from './plan/choose.js';
import type { PaymentContext } from './context.js';
import { fingerprintOf } from './plan/fingerprint.js';
import { releaseClaim } from './execute/release-claim.js';
import { outcomes } from './execute/outcomes.js';
import { spendOf } from './plan/choose.js';
import { present, type Rejected } from './execute/present.js';
import { endUnpaid } from './reconcile/orphaned-attempts.js';
import { abandon, freeOrphanedBudget, resumeOnce, resumeWithNextCall } from './reconcile/resume.js';
import { fundPayment } from './execute/fund.js';
import { checkHeader, signPayment } from './execute/sign-payment.js';
import { costFor, costForSwap } from './execute/receipt-cost.js';
import type { Swapped } from './reconcile/swap-end.js';
import { swapBound, swapCostAfter, type SwapTaking, withoutBound, withSwapCost } from './execute/swap-cost.js';

const ID_BYTES = 12;
const noop = (): void => undefined;

/** A new attempt's id. */
export function newId(context: PaymentContext): string {
  return hex.encode(context.config.runtime.randomBytes(ID_BYTES));
}

/** What a caller says of one call besides the request itself. */
export interface PurchaseOptions {
  readonly idempotencyKey?: string | undefined;
  /** The request may reach the seller twice. */
  readonly repeatable?: boolean | undefined;
}

/** Pays for a call that was answered with terms, and returns the answer to the paid request. */
export async function payForCall(
  context: PaymentContext,
  call: Call,
  unpaid: Response,
  terms: PaymentRequired,
  options: PurchaseOptions,
): Promise<Response> {
  const startedAt = context.config.runtime.now();
  const id = newId(context);
  const emit = context.events.emitter(id);
  const moved: Moved[] = [];
  const { idempotencyKey, repeatable = false } = options;
  try {
    // Where a redirect led, the terms are that place's, and so is the paid request.
    const url = unpaid.url === '' ? call.url : unpaid.url;
    checkRequest(context, call, unpaid, url);
    emit('payment.required', { url, method: call.method, offers: terms.accepts.length });
    const fingerprint = fingerprintOf(call, await call.replayable());
    const response = await underKey(context, idempotencyKey, async () => {
      await resumeOnce(context);
      // Before the terms are looked at: what this 402 asks for must not decide whether an earlier one was paid.
      const earlier = await resumeEarlierPayment(context, { fingerprint, idempotencyKey, repeatable, call, emit, startedAt });
      if (earlier !== undefined) return earlier;
      const place = { url, method: call.method, fingerprint, ...(idempotencyKey === undefined ? {} : { idempotencyKey }) };
      const task = { id, place, signal: call.signal, emit, moved, startedAt };
      const open = await chooseAndPrepare(context, terms, task);
      const showing = { call, url, repeatable, moved, emit, startedAt };
      const mayResign = context.config.policy.resign > 0;
      const presenting = present(context, open, { ...showing, keepsClaim: mayResign });
      const signing = presenting.then((shown) =>
        'response' in shown ? undefined : resign(context, shown, open, { ...task, id: newId(context) }),
      );
      // Until both are on record, no other call presents the first again.
      const letGo = () => (mayResign ? releaseClaim(context, open, call.signal) : Promise.resolve());
      const second = await signing.finally(letGo);
      const shown = await presenting;
      if ('response' in shown) return shown.response;
      if (second === undefined) throw shown.rejected;
      const again = await present(context, second, showing);
      if ('response' in again) return again.response;
      // Nothing is over while the first may still land, or has.
      throw open.attempt.state !== 'unsettled' && again.rejected.funds === 'untouched' ? shown.rejected : again.rejected;
    });
    // The first answer is not read any more; unread, it would keep its connection.
    unpaid.body?.cancel().catch(() => undefined);
    return response;
  } catch (error) {
    if (!isExactChangeError(error)) throw error;
    const amended = amendError(error, { moved, response: unpaid });
    if (amended.name !== 'SettlementError') emit('payment.failed', { code: amended.code, funds: amended.funds, message: amended.message });
    throw amended;
  }
}

/**
 * Signs one more payment after a 402 that shows that nothing was settled, where the caller's policy allows it: to the same payee, for no
 * higher price. Undefined where there is nothing to sign anew; the first may still land, and both count until the chain decides.
 */
async function resign(context: PaymentContext, shown: Rejected, first: OpenPayment, task: Preparing): Promise<OpenPayment | undefined> {
  const { response } = shown.rejected;
  if (context.config.policy.resign === 0 || !outcomes[shown.outcome].resign || response === undefined) return undefined;
  if (first.attempt.state === 'settled') return undefined;
  const { signal } = task;
  const terms = await readPaymentRequired(response, { timeoutMs: context.config.timeouts.terms, signal }).catch(() => undefined);
  if (terms === undefined) return undefined;
  const place = { ...task.place, resigns: first.attempt.id };
  // What is wrong with the second try says less than that the first was refused.
  return chooseAndPrepare(context, terms, { ...task, place, refuse: dearerThan(first.attempt) }).catch(() => {
    throwIfAborted(signal);
    return undefined;
  });
}

/** Refuses what is not what was approved: another payee, or a higher price. */
function dearerThan({ payTo, mint, amount, microUsd }: Attempt): NonNullable<ChooseOptions['refuse']> {
  return (offer, price) => {
    if (offer.payTo !== payTo) {
      return new PolicyError('not_allowed', 'The payee has changed since the first payment. Check with the seller before paying again.', {
        details: { list: 'resign', value: offer.payTo },
      });
    }
    const inKind = offer.mint === mint && offer.amount <= BigInt(amount);
    const inDollars = offer.mint !== mint && price !== undefined && microUsd !== undefined && price <= BigInt(microUsd);
    if (inKind || inDollars) return undefined;
    return new PolicyError('amount_over_limit', 'The price has risen since the first payment. Check with the seller before paying again.', {
      details: { cap: 'resign', limit: amount, amount: offer.amount.toString(), unit: offer.mint },
    });
  };
}

type Preparing = Omit<Preparation, 'choice' | 'onCounted'> & Pick<ChooseOptions, 'refuse'>;

/** One round trip when cold: the node's network is checked, and the blockhash of the payment fetched, beside what choosing reads. */
async function chooseOnce(context: PaymentContext, terms: PaymentRequired, { place, signal, refuse }: Preparing): Promise<Choice> {
  context.blockhashes.fresh({ signal }).catch(() => undefined);
  const ready = untilAborted(context.ready(), signal);
  const { host } = new URL(place.url);
  const choosing = choose(context, terms, { host, signal, quote: false, ...(refuse === undefined ? {} : { refuse }) });
  const [network, choice] = await Promise.allSettled([ready, choosing]);
  throwIfAborted(signal);
  // What a node of another network says about an offer means nothing.
  if (network.status === 'rejected') throw network.reason;
  if (choice.status === 'rejected') throw choice.reason;
  return choice.value;
}

async function chooseAndPrepare(context: PaymentContext, terms: PaymentRequired, task: Preparing): Promise<OpenPayment> {
  const onCounted = announce(context.wallet);
  try {
    const choice = await chooseOnce(context, terms, task);
    return await prepare(context, { ...task, choice, onCounted });
  } finally {
    onCounted();
  }
}

interface Preparation {
  readonly id: string;
  readonly place: Pick<Attempt, 'url' | 'method' | 'fingerprint' | 'idempotencyKey' | 'resigns'>;
  readonly choice: Choice;
  readonly signal: AbortSignal | undefined;
  readonly emit: Emit;
  /** Grows by what lands on the way, also where this fails. */
  readonly moved: Moved[];
  readonly startedAt: number;
  /** Called once it is known what the payment needs of the wallet. */
  readonly onCounted?: () => void;
}

/**
 * Reserves the budget, gets the tokens, asks for approval, signs, and writes the signed payment to the journal. Nothing has left when it
 * returns, or it has failed. The attempt stays claimed by this call.
 */
export async function prepare(
  context: PaymentContext,
  { id, place, choice, signal, emit, moved, startedAt, onCounted = noop }: Preparation,
): Promise<OpenPayment> {
  const { runtime, network, signer } = context.config;
  const { offer, facts } = choice;
  const { host } = new URL(place.url);
  checkHeader(context, choice);
  emit('payment.chosen', {
    ...{ url: place.url, network, mint: offer.mint, amount: offer.amount.toString(), decimals: facts.decimals, payTo: offer.payTo },
    refused: choice.refused,
  });
  const reserved: Attempt = {
    ...{ id, wallet: signer.address, network, state: 'reserved', delivered: false },
    ...place,
    at: runtime.now(),
    ...spendOf(choice, host),
  };
  // Before it is there for others to see: until its answer is there, no process takes it for a lost one.
  await context.claims.take(id).catch((error: unknown) => {
    // It may have been taken all the same.
    context.claims.drop(id).catch(() => undefined);
    throw error;
  });
  let attempt = reserved;
  let reservation = false;
  try {
    await reserve(context, reserved);
    reservation = true;
    const onSwapPlanned = async (taking: SwapTaking) => {
      const swapping = await swapBound(context, taking, reserved, signal);
      // What became of the one before goes on record with it, before another takes its place.
      attempt = await reserveSwap(context, { ...attempt, swapping });
    };
    const onSwapSigned = async (swap: SignedSwap) => {
      // Before it is written: a call that gives up meanwhile must know of it.
      attempt = { ...attempt, swap };
      await context.journal.put(attempt).catch((error: unknown) => {
        // It does not leave now, and so it must not later, should it be on record all the same.
        attempt = { ...attempt, swap: { ...swap, outcome: { state: 'failed', code: 'journal_unavailable' } } };
        throw error;
      });
    };
    // Goes on record with the next write: the signed payment's, if all goes well.
    const onSwapDecided = (outcome: SwapOutcome) => {
      const cost = swapCostAfter(attempt, outcome) ?? noSwapCost;
      attempt = withSwapCost(attempt, outcome);
      return costForSwap(cost, BigInt(outcome.feeLamports ?? 0));
    };
    const approve = approvalFor(context, { url: place.url, method: place.method, status: 402 }, choice, signal);
    const { swap, before } = await fundPayment(context, choice, {
      id,
      emit,
      signal,
      moved,
      onSwapPlanned,
      onSwapSigned,
      onSwapDecided,
      approve,
      onCounted,
    });
    const funded = runtime.now();
    throwIfAborted(signal);
    await approve(undefined);
    const payment = await signPayment(context, choice, place, before, signal);
    throwIfAborted(signal);
    const timings = { funded: funded - startedAt, signed: runtime.now() - startedAt };
    const receipt = firstReceipt(context, attempt, choice, payment.payerSignature, swap, timings);
    // It is spent from now on, however long it waited for a swap or an approval.
    const open = { ...withoutBound(attempt), state: 'signed' as const, at: runtime.now(), payment, receipt };
    // Rejects where another process took this one for dead and freed its budget.
    await context.journal.put(open);
    emit('payment.signed', { payerSignature: payment.payerSignature, lastValidBlockHeight: payment.lastValidBlockHeight });
    return { attempt: open };
  } catch (error) {
    const undo = async () => {
      await context.ledger.release(facts.source, id);
      // One whose answer was lost may be there.
      if (reservation || isExactChangeError(error, 'journal_unavailable')) await giveUp(context, attempt);
    };
    // What could not be undone now is freed with all that the dead left, which is looked for again; the reason of the failure says more.
    if (isExactChangeError(error, 'journal_unavailable')) resumeWithNextCall(context);
    await undo().catch(() => resumeWithNextCall(context));
    await context.claims.drop(id).catch(() => undefined);
    throw error;
  }
}

/** Frees the price and the key: no payment was signed. A swap that may still land stays on record, and so does what swaps have cost. */
async function giveUp(context: PaymentContext, attempt: Attempt): Promise<void> {
  if (attempt.swap === undefined || attempt.swap.outcome !== undefined) await endUnpaid(context, withoutBound(attempt));
  else await abandon(context, attempt);
}

/** Where a payment header may go at all. The origin may be a redirecting seller's, so it is in no message. */
export function checkOrigin(url: string): void {
  const { protocol, hostname, origin } = new URL(url);
  if (protocol === 'https:' || isLoopback(hostname)) return;
  throw new ProtocolError(
    'insecure_origin',
    "The place that asks for payment is not https, so a payment sent there could be stolen. Use the seller's https address; details.origin is the one that asked.",
    { details: { origin } },
  );
}

function checkRequest(context: PaymentContext, call: Call, unpaid: Response, url: string): void {
  checkOrigin(url);
  const misplaced = checkPlace(context.config.policy, new URL(url).host);
  if (misplaced !== undefined) throw misplaced;
  if (unpaid.redirected && call.method !== 'GET' && call.method !== 'HEAD') {
    throw new ProtocolError(
      'unsupported_offer',
      `The ${call.method} was redirected before it was answered with 402, and its method may have changed on the way. Send it to its final address directly.`,
      { details: { reason: 'redirected with a body' } },
    );
  }
}

async function reserve(context: PaymentContext, attempt: Attempt): Promise<void> {
  const caps = capsFor(context.config.policy, attempt);
  let refused = await context.journal.reserve(attempt, caps);
  // What the dead hold of a cap, or of a key, keeps no other from it.
  if (refused !== undefined && (await freeOrphanedBudget(context))) refused = await context.journal.reserve(attempt, caps);
  if (refused === undefined) return;
  if ('taken' in refused) throw inProgress({});
  throw overBudget(refused.cap, refused.used, takenOf(refused.cap, attempt));
}

/** Reserves what a swap takes at most, before it is signed. Returns the attempt as it is on record. */
async function reserveSwap(context: PaymentContext, attempt: Attempt): Promise<Attempt> {
  const { policy, runtime } = context.config;
  const refusal = checkPayment(policy, attempt);
  if (refusal !== undefined) throw refusal;
  const next = { ...attempt, at: runtime.now() };
  const caps = capsFor(policy, next);
  let refused = await context.journal.raise(next, caps);
  if (refused !== undefined && (await freeOrphanedBudget(context))) refused = await context.journal.raise(next, caps);
  if (refused === undefined) return next;
  throw overBudget(refused.cap, refused.used, takenOf(refused.cap, next));
}

function firstReceipt(
  context: PaymentContext,
  attempt: Attempt,
  { offer, facts }: Choice,
  payerSignature: string,
  swap: Swapped | undefined,
  timings: Readonly<Record<string, number>>,
): Receipt {
  const { id, url, method, at, network, mint, amount } = attempt;
  return {
    id,
    url,
    method,
    at,
    state: 'uncertain',
    payment: { network, mint, amount, decimals: facts.decimals, payTo: offer.payTo, payer: context.config.signer.address, payerSignature },
    ...(swap === undefined ? {} : { swap: swap.record }),
    cost: costFor(attempt, swap?.feeLamports ?? 0n),
    timings,
  };
}
