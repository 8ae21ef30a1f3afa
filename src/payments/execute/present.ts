import { isExactChangeError, SettlementError, type Moved } from '../../errors.js';
import type { Emit } from '../../events.js';
import { startDeadline, untilAborted } from '../../internal/abort.js';
import type { Call } from '../../internal/request.js';
import { saveAttempt, type OpenPayment } from '../../journal/open-payment.js';
import { protocolOfHeader, type SellersWord } from '../../protocols/protocol.js';
import { attachReceipt, type Receipt } from '../../receipt.js';
import type { PaymentContext } from '../context.js';
import { recovery } from '../on-demand.js';
import { decided, monitorPayment } from '../reconcile/payment-monitor.js';
import { hasBody, onBodyEnd, type BodyEnd } from './body-end.js';
import type { AnswerOutcome } from './outcomes.js';
import { bodyClaim, delayNextCall, releaseClaims } from './release-claim.js';

/** One call that presents a payment. */
export interface Presentation {
  readonly call: Call;
  /** The place that asked for it. */
  readonly url: string;
  /** On the caller's word the request may reach the seller twice. */
  readonly repeatable: boolean;
  /** What landed before it. */
  readonly moved: readonly Moved[];
  readonly emit: Emit;
  readonly startedAt: number;
  /** The caller may sign anew after it, and lets go of the attempt then. */
  readonly keepsClaim?: boolean;
}

/** The answer to a paid request, or what a 402 to it means. */
export type Presented = { readonly response: Response } | Rejected;

export interface Rejected {
  readonly rejected: SettlementError<'payment_rejected'>;
  readonly outcome: AnswerOutcome;
}

/**
 * Sends the paid request, and returns any answer but a 402 as it is, with its receipt. The same
 * bytes are sent once more only if the seller's own word and the chain say that they are
 * settled, and the request may be repeated. A lost answer throws `SettlementError`; whatever comes,
 * the chain has the last word, in the background. The attempt and its answer are claimed by this
 * call, and no longer when it returns, or soon after if its caller has given up. An answer that is
 * on its way to its reader stays claimed until that is there; and so does its attempt, unless it
 * has a key, for which it would seem to be under way.
 */
export async function present(
  context: PaymentContext,
  open: OpenPayment,
  showing: Presentation,
): Promise<Presented> {
  const { call, emit } = showing;
  const deadline = startDeadline(context.config.timeouts.payment, call.signal);
  const { id, idempotencyKey } = open.attempt;
  let isAwaited = false;
  try {
    const first = await presentOnce(context, open, showing, deadline.signal);
    const shown =
      'isAwaited' in first ? first : await refused(context, open, showing, first, deadline.signal);
    if (!('response' in shown)) return shown;
    deadline.stop(shown.response);
    ({ isAwaited } = shown);
    return { response: shown.response };
  } catch (error) {
    if (call.signal?.aborted === true) throw call.signal.reason;
    throw error;
  } finally {
    deadline.stop();
    // First, so that a process that takes it for an orphan finds the record that this one works on.
    void monitorPayment(context, open, emit);
    const own = showing.keepsClaim === true ? [] : [id];
    if (!isAwaited) await releaseClaims(context, open, [...own, bodyClaim(id)], call.signal);
    else if (idempotencyKey !== undefined) void releaseClaims(context, open, own);
  }
}

/** Presents a payment that no other is signed in place of. */
export async function presentAlone(...presenting: Parameters<typeof present>): Promise<Response> {
  const shown = await present(...presenting);
  if ('response' in shown) return shown.response;
  throw shown.rejected;
}

/** An answer that its caller gets, and whether its body is on its way. */
export interface Delivered {
  readonly response: Response;
  readonly isAwaited: boolean;
}

/** A 402 to the paid request, and what the seller says of it. */
export interface Refused {
  readonly response: Response;
  readonly word: SellersWord;
}

/** What a 402 means is loaded then; if it cannot be in time, the chain still has the last word. */
async function refused(
  context: PaymentContext,
  open: OpenPayment,
  showing: Presentation,
  first: Refused,
  within: AbortSignal,
): Promise<Delivered | Rejected> {
  const { call, moved, emit } = showing;
  const { afterRefusal } = await recovery('uncertain', within).catch(async (error: unknown) => {
    await untilAborted(noteDoubt(context, open, 'payment_rejected', emit), call.signal);
    throw isExactChangeError(error) ? error : uncertain(open, moved, error);
  });
  return afterRefusal(context, open, showing, first, within);
}

export async function presentOnce(
  context: PaymentContext,
  open: OpenPayment,
  showing: Presentation,
  signal: AbortSignal,
): Promise<Delivered | Refused> {
  const { call, url, emit, startedAt } = showing;
  const { runtime, timeouts } = context.config;
  emit('payment.sent', { url, method: call.method });
  const response = await send(context, open, showing, signal);
  const protocol = protocolOfHeader(context.protocols, open.attempt.payment.header);
  const word = await protocol.readOutcome(response, { timeoutMs: timeouts.terms, signal });
  const { settlement } = word;
  // As `outcomes` has it.
  const delivered = response.ok;
  const receipt: Receipt = {
    ...open.attempt.receipt,
    ...(open.attempt.state === 'signed' ? { state: delivered ? 'pending' : 'uncertain' } : {}),
    ...(settlement === undefined ? {} : { settlement }),
    timings: { ...open.attempt.receipt.timings, answered: runtime.now() - startedAt },
  };
  const isAwaited = delivered && hasBody(response);
  // A 402 may claim a transaction too, one that is still pending: where to look first.
  open.attempt = { ...open.attempt, delivered: delivered && !isAwaited, receipt };
  // What is written at the end of the body needs no write now, unless other processes write of this
  // attempt too.
  const noted = isAwaited && open.isForeign !== true ? undefined : note(context, open, emit);
  await untilAborted(Promise.resolve(noted), call.signal).catch((reason: unknown) => {
    if (open.attempt.delivered) void takeBack(context, open);
    throw reason;
  });
  if (response.status === 402) {
    // A wrong idea of our own balance is the likeliest of our own mistakes.
    await context.ledger.forget(open.attempt.payment.source).catch(() => undefined);
    return { response, word };
  }
  attachReceipt(response, {
    read: () => open.attempt.receipt,
    settled: (signal) => decided(context, open, emit, signal),
  });
  // Headers are not yet an answer: if the rest is lost on its way, a repeated call must not pay
  // anew, in this process or the next.
  if (isAwaited) onBodyEnd(response, endOf(context, open, call.signal, emit));
  emit('payment.answered', { status: response.status, receipt });
  return { response, isAwaited };
}

/**
 * The answer is worth more than its record: the next write of this attempt, by the call that
 * follows it, catches up. Never rejects.
 */
function note(context: PaymentContext, open: OpenPayment, emit: Emit): Promise<void> {
  return saveAttempt(context, open).catch(() => warn(open, emit));
}

function warn({ attempt }: OpenPayment, emit: Emit): void {
  const { payerSignature } = attempt.payment;
  emit('warning', {
    message: `The journal could not be written after payment ${payerSignature}.`,
  });
}

/**
 * What the end of an answer's body means for its attempt. Until then the claim on it says that its
 * reader may still come; it ends with the write of that.
 */
function endOf(
  context: PaymentContext,
  open: OpenPayment,
  signal: AbortSignal | undefined,
  emit: Emit,
): BodyEnd {
  const { id } = open.attempt;
  const drop = [id, bodyClaim(id)];
  const end = (isDelivered: boolean, unwritten: () => void): Promise<void> => {
    const change = (attempt: OpenPayment['attempt']) => ({ ...attempt, delivered: isDelivered });
    open.attempt = change(open.attempt);
    const noted = saveAttempt(context, open, change, { drop }).catch(() => {
      unwritten();
      return releaseClaims(context, open, drop);
    });
    // A reader that has given up is not kept waiting.
    return untilAborted(delayNextCall(context, noted), signal).catch(() => undefined);
  };
  return {
    read: () => end(true, () => warn(open, emit)),
    lost: () => end(false, () => undefined),
  };
}

/**
 * Notes that the answer did not reach its caller after all, also if that one gave up: its next call
 * means the same purchase.
 */
async function takeBack(context: PaymentContext, open: OpenPayment): Promise<void> {
  open.attempt = { ...open.attempt, delivered: false };
  await saveAttempt(context, open).catch(() => undefined);
}

async function send(
  context: PaymentContext,
  open: OpenPayment,
  { call, url, moved, emit }: Presentation,
  signal: AbortSignal,
): Promise<Response> {
  try {
    // A fetch of the caller's may not listen to its signal.
    return await untilAborted(call.sendPaid(url, open.attempt.payment.header, signal), signal);
  } catch (cause) {
    // A caller that has given up hears of that at once; the note is written behind.
    await untilAborted(noteDoubt(context, open, 'payment_uncertain', emit), call.signal);
    throw uncertain(open, moved, cause);
  }
}

function uncertain(
  open: OpenPayment,
  moved: readonly Moved[],
  cause: unknown,
): SettlementError<'payment_uncertain'> {
  const bounds = boundsOf(open);
  return new SettlementError(
    'payment_uncertain',
    `The answer to the paid request was lost, so the payment may still settle until block height ${bounds.lastValidBlockHeight} is final. ` +
      'Repeat the same call: it presents the same payment or reports it spent, and never pays twice.',
    { details: bounds, funds: 'uncertain', moved, cause },
  );
}

/** Tells, and puts on record, that only the chain says what became of the payment. */
export async function noteDoubt(
  context: PaymentContext,
  open: OpenPayment,
  code: 'payment_rejected' | 'payment_uncertain',
  emit: Emit,
): Promise<void> {
  emit('payment.uncertain', { ...boundsOf(open), code });
  const { state, doubt } = open.attempt;
  // The chain may have spoken meanwhile; and one doubt is told once.
  if (state !== 'signed' || doubt !== undefined) return;
  const receipt: Receipt = { ...open.attempt.receipt, state: 'uncertain' };
  open.attempt = { ...open.attempt, doubt: code, receipt };
  // The caller is told what matters more; the next write of this attempt catches up.
  await saveAttempt(context, open).catch(() => undefined);
}

/** What says until when a payment may land. */
export function boundsOf({ attempt }: OpenPayment): {
  readonly payerSignature: string;
  readonly lastValidBlockHeight: string;
} {
  const { payerSignature, lastValidBlockHeight } = attempt.payment;
  return { payerSignature, lastValidBlockHeight };
}
