import { isExactChangeError, SettlementError, type ErrorInit, type Moved } from '../../errors.js';
import type { Emit } from '../../events.js';
import { onAbort, startDeadline, untilAborted } from '../../internal/abort.js';
import type { Call } from '../../internal/request.js';
import { saveAttempt, type OpenPayment } from '../../journal/open-payment.js';
import type { Along } from '../../journal/types.js';
import { protocolOfHeader, type SettlementClaim } from '../../protocols/protocol.js';
import { attachReceipt, type Receipt } from '../../receipt.js';
import type { PaymentContext } from '../context.js';
import { recovery } from '../on-demand.js';
import { receiptOnceDecided, monitorPayment } from '../reconcile/payment-monitor.js';
import { copyOfReceipt } from '../attempt-receipt.js';
import { hasBody, onBodyEnd, type BodyEnd } from './body-end.js';
import { bodyClaim, delayNextCall, releaseClaims } from './release-claim.js';

export interface Presentation {
  readonly call: Call;
  /** The caller allows that the request reaches the seller twice. */
  readonly repeatable: boolean;
  /** Transactions that landed before the payment. */
  readonly moved: readonly Moved[];
  readonly emit: Emit;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  /** `present` leaves the attempt's claim to its caller, which may sign another payment first. */
  readonly keepsClaim?: boolean;
}

export interface Rejected {
  /** Says what the chain has shown by the time that it is read. */
  readonly rejected: SettlementError<'payment_rejected'>;
  readonly mayResign: boolean;
}

/**
 * Sends the paid request, and returns any answer but a 402 as it is, with its receipt. Sends the
 * same bytes once more only if the request may be repeated and the payment is settled, by the word
 * of the seller and of the chain. Throws `SettlementError` if the answer is lost. The chain has the
 * last word in each case, in the background.
 *
 * The claims on the attempt and its answer end when this returns, or soon after if the caller has
 * given up. While the body is on its way to its reader, the claim on the answer stays. So does the
 * claim on the attempt, unless it has an idempotency key: the key would seem to be in use.
 */
export async function present(
  context: PaymentContext,
  open: OpenPayment,
  showing: Presentation,
): Promise<Delivered | Rejected> {
  const { call, emit } = showing;
  const deadline = startDeadline(context.config.timeouts.payment, call.signal);
  const { id, idempotencyKey } = open.attempt;
  let isAwaited = false;
  try {
    const first = await presentOnce(context, open, showing, deadline.signal);
    const shown =
      'isAwaited' in first
        ? first
        : await handleRefusal(context, open, showing, first, deadline.signal);
    if (!('response' in shown)) return shown;
    deadline.stop(shown.response);
    ({ isAwaited } = shown);
    return shown;
  } catch (error) {
    if (call.signal?.aborted === true) throw call.signal.reason;
    throw error;
  } finally {
    deadline.stop();
    // Start the monitor before the claims end: a call that then takes up the attempt must find the
    // record that this call works on.
    void monitorPayment(context, open, emit);
    const attemptClaim = showing.keepsClaim === true ? [] : [id];
    if (!isAwaited) {
      open.isShared ||= !open.isDeliveredHere;
      await releaseClaims(context, open, [...attemptClaim, bodyClaim(id)], call.signal);
    } else if (idempotencyKey !== undefined) void releaseClaims(context, open, attemptClaim);
  }
}

/** Presents a payment, and throws if it is rejected: no second payment may be signed. */
export async function presentAlone(...presenting: Parameters<typeof present>): Promise<Response> {
  const shown = await present(...presenting);
  if ('response' in shown) return shown.response;
  throw shown.rejected;
}

export interface Delivered {
  readonly response: Response;
  /** The body is still on its way to its reader. */
  readonly isAwaited: boolean;
}

/** A 402 to the paid request, with the reason that the seller gives. */
export interface Refused {
  readonly response: Response;
  readonly word: SettlementClaim;
}

/**
 * Handles a 402 to the paid request by code that is loaded only now. If the code does not arrive in
 * time, the payment is uncertain until the chain decides.
 */
async function handleRefusal(
  context: PaymentContext,
  open: OpenPayment,
  showing: Presentation,
  first: Refused,
  within: AbortSignal,
): Promise<Delivered | Rejected> {
  const { call, moved, emit } = showing;
  const { afterRefusal } = await recovery(within, 'uncertain').catch(async (error: unknown) => {
    await untilAborted(noteDoubt(context, open, 'payment_rejected', emit), call.signal);
    throw isExactChangeError(error) ? error : paymentUncertain(open, moved, error);
  });
  return afterRefusal(context, open, showing, first, within);
}

export async function presentOnce(
  context: PaymentContext,
  open: OpenPayment,
  showing: Presentation,
  signal: AbortSignal,
): Promise<Delivered | Refused> {
  const { call, emit, startedAt } = showing;
  const { url } = open.attempt;
  const { runtime, timeouts } = context.config;
  let loseBody = (): void => undefined;
  // Listen before fetch does: in Node, a body that fetch has broken off may count as used.
  onAbort(signal, () => loseBody());
  emit('payment.sent', { url, method: call.method });
  const response = await send(context, open, showing, signal);
  const protocol = protocolOfHeader(context.protocols, open.attempt.payment.header);
  const word = await protocol.readOutcome(response, { timeoutMs: timeouts.terms, signal });
  const { settlement } = word;
  const delivered = response.ok || response.status === 304; // As in `outcomes`: 304 is an answer.
  const receipt: Receipt = {
    ...open.attempt.receipt,
    ...(open.attempt.state === 'signed' ? { state: delivered ? 'pending' : 'uncertain' } : {}),
    ...(settlement === undefined ? {} : { settlement }),
    timings: { ...open.attempt.receipt.timings, answered: runtime.now() - startedAt },
  };
  const isAwaited = delivered && hasBody(response);
  // Keep the settlement of a 402 too, because the monitor looks up its pending transaction first.
  open.isDeliveredHere = (delivered && !isAwaited) || undefined;
  open.attempt = { ...open.attempt, delivered: !!open.isDeliveredHere, receipt };
  // The end of a body writes the attempt anyway, unless other processes may write it before.
  const written = isAwaited && open.isShared !== true ? undefined : write(context, open, emit);
  await untilAborted(Promise.resolve(written), call.signal).catch((reason: unknown) => {
    // The caller has given up, and a repeated call then means the same purchase.
    if (open.isDeliveredHere) {
      saveDelivered(context, open, false).catch(() => undefined);
      open.isDeliveredHere = false;
    }
    throw reason;
  });
  if (response.status === 402) return { response, word };
  attachReceipt(response, {
    read: () => copyOfReceipt(open.attempt.receipt),
    settled: (signal) => receiptOnceDecided(context, open, emit, signal),
  });
  // The body may still be lost on its way. A repeated call must then not pay anew, in this process
  // or the next.
  loseBody = onBodyEnd(response, isAwaited && bodyEndOf(context, open, call.signal, emit));
  emit('payment.answered', { status: response.status, receipt: copyOfReceipt(receipt) });
  return { response, isAwaited };
}

/**
 * Writes the attempt. Never rejects, because the answer is worth more than its record: the next
 * write of this attempt, by its monitor, makes up for a failed write.
 */
function write(context: PaymentContext, open: OpenPayment, emit: Emit): Promise<void> {
  return saveAttempt(context, open).catch(() => warn(open, emit));
}

function warn({ attempt }: OpenPayment, emit: Emit): void {
  const { payerSignature } = attempt.payment;
  const message = `The journal could not be written after payment ${payerSignature}.`;
  emit('warning', { message });
}

/**
 * Returns the callbacks for the end of an answer's body, which write whether it was delivered. The
 * claims until then say that a reader may still take the answer. They end with that write.
 */
function bodyEndOf(
  context: PaymentContext,
  open: OpenPayment,
  signal: AbortSignal | undefined,
  emit: Emit,
): BodyEnd {
  const { id } = open.attempt;
  const drop = [id, bodyClaim(id)];
  const end = (isDelivered: boolean, onWriteFailure: () => void): Promise<void> => {
    const written = saveDelivered(context, open, isDelivered, { drop }).catch(() => {
      onWriteFailure();
      return releaseClaims(context, open, drop);
    });
    // Do not keep a reader waiting if the caller has given up.
    return untilAborted(delayNextCall(context, written), signal).catch(() => undefined);
  };
  return {
    read: () => end(true, () => warn(open, emit)),
    lost: () => end(false, () => undefined),
  };
}

/** Notes at once whether the answer reached its caller, and writes it. */
function saveDelivered(
  context: PaymentContext,
  open: OpenPayment,
  delivered: boolean,
  along?: Along,
): Promise<void> {
  const change = (attempt: OpenPayment['attempt']) => ({ ...attempt, delivered });
  open.isDeliveredHere = delivered || undefined;
  open.isShared ||= !delivered;
  open.attempt = change(open.attempt);
  return saveAttempt(context, open, change, along);
}

async function send(
  context: PaymentContext,
  open: OpenPayment,
  { call, moved, emit }: Presentation,
  signal: AbortSignal,
): Promise<Response> {
  try {
    // The caller's fetch may ignore its signal.
    const { url, payment } = open.attempt;
    return await untilAborted(call.sendPaid(url, payment.header, signal), signal);
  } catch (cause) {
    // Reject at once if the caller has given up; the write goes on in the background.
    await untilAborted(noteDoubt(context, open, 'payment_uncertain', emit), call.signal);
    throw paymentUncertain(open, moved, cause);
  }
}

function paymentUncertain(
  open: OpenPayment,
  moved: readonly Moved[],
  cause: unknown,
): SettlementError<'payment_uncertain'> {
  const facts = factsOf(open, moved);
  return new SettlementError(
    'payment_uncertain',
    `The answer to the paid request was lost, and the payment ${stateText(facts)}. Repeat the same call until it answers or says already_spent.`,
    { ...facts, cause },
  );
}

/** Returns the facts of an error about a payment with a lost answer: it may have settled by now. */
export function factsOf(
  open: OpenPayment,
  moved: readonly Moved[],
): Required<Pick<ErrorInit<'payment_uncertain'>, 'details' | 'funds' | 'moved'>> {
  const funds = open.attempt.state === 'settled' ? 'spent' : 'uncertain';
  return { details: detailsOf(open), funds, moved: [...moved, ...movedByPayment(open)] };
}

export function stateText({ funds, details }: ReturnType<typeof factsOf>): string {
  return funds === 'spent'
    ? 'has settled'
    : `may still settle until block height ${details.lastValidBlockHeight} is final`;
}

/** Returns the payment as an entry of the error's `moved` if the chain shows it. */
export function movedByPayment({ attempt }: OpenPayment): Moved[] {
  const { signature } = attempt.receipt.payment;
  const { mint, amount } = attempt;
  return signature === undefined
    ? []
    : [{ kind: 'payment', signature, inputMint: mint, inAmount: amount }];
}

/** Emits and records that only the chain can decide the payment, unless it has decided. */
export async function noteDoubt(
  context: PaymentContext,
  open: OpenPayment,
  code: 'payment_rejected' | 'payment_uncertain',
  emit: Emit,
): Promise<void> {
  const { state, doubt } = open.attempt;
  if (state !== 'signed') return;
  emit('payment.uncertain', { ...detailsOf(open), code });
  // Only the first doubt is recorded.
  if (doubt !== undefined) return;
  const receipt: Receipt = { ...open.attempt.receipt, state: 'uncertain' };
  open.attempt = { ...open.attempt, doubt: code, receipt };
  // The caller gets a more important error; the next write of this attempt makes up for this.
  await saveAttempt(context, open).catch(() => undefined);
}

export function detailsOf({ attempt }: OpenPayment): {
  readonly payerSignature: string;
  readonly lastValidBlockHeight: string;
} {
  const { payerSignature, lastValidBlockHeight } = attempt.payment;
  return { payerSignature, lastValidBlockHeight };
}
