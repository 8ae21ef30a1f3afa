import { ConfigError, isExactChangeError } from '../../errors.js';
import type { Emit } from '../../events.js';
import { throwIfAborted, untilAborted } from '../../internal/abort.js';
import { isPaid, saveAttempt, type OpenPayment } from '../../journal/open-payment.js';
import type { Attempt } from '../../journal/types.js';
import { isRefusedOffer, isRefusedPlace } from '../../policy/check-payment.js';
import { DAY_MS } from '../../policy/periods.js';
import { ownerOf, type PaymentContext } from '../context.js';
import { present } from '../execute/present.js';
import { mayRepeat } from '../execute/rejection.js';
import { bodyClaim, delayNextCall, untilGivenUp } from '../execute/release-claim.js';
import type { Buying, Task } from '../task.js';
import { alreadySpent, movedBySwap, earlierUncertain } from './earlier-errors.js';
import { isForgottenPayment } from './forgotten.js';
import { inProgress, throwUnread } from './key-errors.js';
import { decidePayment, openPaymentOf } from './payment-monitor.js';
import { inPaymentTime, sourceOf } from './fate.js';

/**
 * Lets the chain decide earlier attempts at the same request if their response did not reach the
 * caller. Presents the same payment again if the request may be repeated; else throws
 * `payment_uncertain` or `already_spent`. Returns undefined if a new attempt may start.
 */
export async function settleEarlier(
  context: PaymentContext,
  similar: readonly Attempt[],
  buying: Buying,
): Promise<Response | undefined> {
  const earlier = await findEarlier(context, similar, buying);
  if (earlier.length === 0) return undefined;
  // Deciding earlier attempts may take minutes, so no swap for several calls waits for this call.
  buying.onCounted();
  const { emit, signal, place, repeatable } = buying;
  const payments = earlier.map((attempt) => openPaymentOf(context, attempt));
  // The caller may have heard of newer changes than the cached answers show.
  for (const { attempt } of payments) context.histories.outdate(sourceOf(attempt.payment));
  for (const payment of payments)
    if (payment.attempt.state === 'signed') await askChain(context, payment, emit, signal);
  const undecidedPayments = payments.filter(({ attempt }) => attempt.state === 'signed');
  const forgotten = await Promise.all(
    undecidedPayments.map(({ attempt }) => isForgottenPayment(context, attempt)),
  );
  // A payment with an idempotency key is never forgotten: the caller has to give a new key.
  const signed = undecidedPayments.filter(
    (_, index) => place.idempotencyKey !== undefined || forgotten[index] !== true,
  );
  // Never present a payment that a later attempt `resigns`: the seller could take both.
  const settledIds = payments
    .filter(({ attempt }) => attempt.state === 'settled')
    .map(({ attempt }) => attempt.id);
  const isReplaced = (id: string) => payments.some(({ attempt }) => attempt.resigns === id);
  // Nor present a payment that `resigns` an attempt which has settled meanwhile. Once its caller was
  // told of that attempt, it counts like any other: the record of a payment that never left equals
  // the record of one that left before its process crashed.
  const current = signed.find(
    ({ attempt }) => !isReplaced(attempt.id) && !settledIds.some((id) => id === attempt.resigns),
  );
  if (current !== undefined) {
    if (mayRepeat(current, buying)) return presentAgain(context, current, buying);
    throw earlierUncertain(current);
  }
  const allSettled = payments.filter(({ attempt }) => attempt.state === 'settled');
  const untold = allSettled.filter(({ attempt }) => attempt.toldAt === undefined);
  // Each of several callers hears of a purchase that no other caller has heard of.
  const settled = untold.length > 0 ? untold : allSettled;
  const latest = settled[settled.length - 1];
  if (latest === undefined) {
    if (signed[0] !== undefined) throw earlierUncertain(signed[0]);
    return undefined;
  }
  // Present a settled payment only if the seller recognises its payment id or the caller allows
  // repeats: any other seller refuses it. The header of an old payment is no longer on record.
  const presentable = settled.find(
    ({ attempt: { payment } }) =>
      payment.header.value !== '' && (payment.hasPaymentId === true || repeatable),
  );
  const response =
    presentable === undefined
      ? Promise.reject(alreadySpent(latest))
      : presentAgain(context, presentable, buying);
  return response.catch(async (error: unknown) => {
    if (isExactChangeError(error, 'already_spent'))
      await tell(context, presentable ?? latest, signal);
    throw error;
  });
}

/** Retry windows for a caller that may not have heard, because the process ended while it told. */
const UNHEARD_WINDOWS = 10;
/** The least such window in milliseconds: no caller hears while its process is down. */
const LEAST_UNHEARD_MS = 60_000;

/**
 * Returns the attempts with a response that did not reach the caller. With an idempotency key, it
 * returns all attempts that paid under the key.
 *
 * @param first - The similar attempts, as they were read a moment ago.
 */
async function findEarlier(
  context: PaymentContext,
  first: readonly Attempt[],
  { place, signal }: Pick<Task, 'place' | 'signal'>,
): Promise<OpenPayment['attempt'][]> {
  const { fingerprint, idempotencyKey } = place;
  const { runtime, retryWindow } = context.config;
  const found: OpenPayment['attempt'][] = [];
  const reading = readSimilar(context, first, place);
  const { similar, isAtWork } = await untilAborted(reading, signal).catch(throwUnread);
  for (const attempt of similar) {
    if (idempotencyKey !== undefined && attempt.fingerprint !== fingerprint) throw mismatch();
    if (!isPaid(attempt) || attempt.state === 'unsettled') continue;
    if (idempotencyKey !== undefined && isAtWork(attempt.id))
      throw inProgress({ payerSignature: attempt.payment.payerSignature });
    // Without a key, parallel calls are separate purchases. So is a later call, once the response
    // arrived or the caller was told that the purchase is paid.
    const isUnderWay = isAtWork(attempt.id) || isAtWork(bodyClaim(attempt.id));
    const lost =
      !attempt.delivered &&
      !isUnderWay &&
      !similar.some((later) => later.resigns === attempt.id && later.delivered);
    const isSame = isSamePurchase(attempt, runtime.now(), retryWindow);
    if (idempotencyKey !== undefined || (lost && isSame)) found.push(attempt);
  }
  const isFound = (id: string) => found.some((attempt) => attempt.id === id);
  const replaces = ({ resigns, payment, state, id }: Attempt, replaced: string) =>
    resigns === replaced && payment !== undefined && state !== 'unsettled' && !isFound(id);
  // Leave out an attempt if a call works on its successor, or the caller knows of the successor.
  return found.filter(({ id }) => !similar.some((later) => replaces(later, id)));
}

interface SimilarAttempts {
  readonly similar: readonly Attempt[];
  isAtWork(claim: string): boolean;
}

async function readSimilar(
  context: PaymentContext,
  first: readonly Attempt[],
  { fingerprint, idempotencyKey }: Task['place'],
): Promise<SimilarAttempts> {
  const claims = first
    .filter(({ payment, delivered }) => payment && (idempotencyKey !== undefined || !delivered))
    .flatMap(({ id }) => [id, bodyClaim(id)]);
  if (claims.length === 0) return { similar: first, isAtWork: () => false };
  const live = await context.claims.live(claims);
  const ended = new Set(claims.filter((claim) => !live.has(claim)));
  const isAtWork = (claim: string) => !ended.has(claim);
  const isLeft = ({ id }: Attempt) =>
    !isAtWork(id) && (idempotencyKey !== undefined || !isAtWork(bodyClaim(id)));
  // Read again: an attempt without a claim may have been delivered after the first read. An
  // attempt that was signed in between counts as at work. A crowd of equal calls is at work, and
  // would read all its attempts twice for each of them.
  const similar = first.some(isLeft)
    ? await context.journal.similar(ownerOf(context), fingerprint, idempotencyKey)
    : first;
  return { similar, isAtWork };
}

/**
 * Returns whether the caller may not have heard that the purchase is paid, or has heard it so
 * lately that an equal call means the same purchase.
 */
function isSamePurchase({ toldAt, tellingAt }: Attempt, now: number, retryWindow: number): boolean {
  if (toldAt !== undefined) return now - toldAt <= retryWindow;
  const unheard = UNHEARD_WINDOWS * Math.max(retryWindow, LEAST_UNHEARD_MS);
  return tellingAt === undefined || now - tellingAt <= unheard;
}

/** Presents a payment again to the URL that asked for it, even if this call was redirected. */
async function presentAgain(
  context: PaymentContext,
  open: OpenPayment,
  buying: Buying,
): Promise<Response> {
  const { policy } = context.config;
  // The policy's lists may have changed since the payment was signed.
  if (
    isRefusedPlace(policy, open.attempt.host) ||
    isRefusedOffer(policy, { ...open.attempt, scheme: 'exact' })
  )
    throw open.attempt.state === 'settled' ? alreadySpent(open) : earlierUncertain(open);
  const claims = [open.attempt.id, bodyClaim(open.attempt.id)];
  await untilAborted(context.claims.take(claims), buying.signal).catch((cause: unknown) => {
    // The claims may exist despite the error. Drop them: the next call would think that this call
    // is at work, and pay again.
    void delayNextCall(context, context.claims.drop(claims));
    throwIfAborted(buying.signal);
    throw earlierUncertain(open, cause);
  });
  const shown = await present(context, open, { ...buying, moved: movedBySwap(open) });
  if ('response' in shown) return shown.response;
  throw open.attempt.state === 'settled'
    ? alreadySpent(open, shown.rejected.response)
    : shown.rejected;
}

/** Asks the chain once about a payment. Throws `payment_uncertain` if the question fails. */
async function askChain(
  context: PaymentContext,
  open: OpenPayment,
  emit: Emit,
  signal: AbortSignal | undefined,
): Promise<void> {
  try {
    await context.ready(signal);
    await inPaymentTime(context, signal ?? context.closing.signal, (within) =>
      decidePayment(context, open, emit, within),
    );
  } catch (error) {
    throwIfAborted(signal);
    if (!isExactChangeError(error)) throw error;
    // Whatever prevented the question, the payment may still land.
    throw earlierUncertain(open, error);
  }
}

/**
 * Records that the caller is about to be told, and after the error has reached it, that it was
 * told. If the process is killed between both writes, the caller may not have heard.
 *
 * Records only the purchase that the error names. Another caller may not have heard of the others.
 */
async function tell(
  context: PaymentContext,
  named: OpenPayment,
  signal: AbortSignal | undefined,
): Promise<void> {
  await untilGivenUp(context, noteTold(context, named, 'tellingAt'), signal);
  void delayNextCall(
    context,
    context.config.runtime.sleep(0).then(() => noteTold(context, named, 'toldAt')),
  );
}

/** Starts the retry window, in which repeated calls get the same error. */
async function noteTold(
  context: PaymentContext,
  open: OpenPayment,
  told: 'tellingAt' | 'toldAt',
): Promise<void> {
  const { attempt } = open;
  const now = context.config.runtime.now();
  // Over a day ahead, the time is from before a clock was set back: the window would last until
  // then. A smaller difference may be between processes, and must not end the window early.
  if ((attempt[told] ?? Infinity) <= now + DAY_MS) return;
  open.attempt = { ...attempt, [told]: now };
  // If the write fails, the caller is told more often than necessary, which is safe.
  await saveAttempt(context, open).catch(() => undefined);
}

function mismatch(): ConfigError {
  return new ConfigError(
    'idempotency_mismatch',
    'This idempotencyKey was used for another request. Use one key for one request (method, URL and body), and a new one for another.',
    { details: {} },
  );
}
