import { ConfigError, isExactChangeError } from '../../errors.js';
import type { Emit } from '../../events.js';
import { throwIfAborted, untilAborted } from '../../internal/abort.js';
import { saveAttempt, type OpenPayment } from '../../journal/open-payment.js';
import type { Attempt } from '../../journal/types.js';
import { refusing } from '../../policy/check-payment.js';
import { plainHost } from '../../policy/hosts.js';
import { ownerOf, type PaymentContext } from '../context.js';
import { present } from '../execute/present.js';
import { mayRepeat } from '../execute/rejection.js';
import { delayNextCall, bodyClaim } from '../execute/release-claim.js';
import { spent, swappedBy, undecided } from './earlier-errors.js';
import type { RepeatedCall } from './find-earlier.js';
import { isForgotten } from './forgotten.js';
import { inProgress, unread } from './key-errors.js';
import { decidePayment, openPaymentOf } from './payment-monitor.js';
import { inPaymentTime, sentPayment, sourceOf } from './fate.js';

/**
 * Lets the chain decide earlier attempts at the same request whose answer did not reach its caller:
 * the same payment presented again if the request may be repeated, `payment_uncertain`,
 * `already_spent`, or undefined if the way is free for a new one.
 */
export async function settleEarlier(
  context: PaymentContext,
  similar: readonly Attempt[],
  repeat: RepeatedCall,
): Promise<Response | undefined> {
  const earlier = await findEarlier(context, similar, repeat);
  if (earlier.length === 0) return undefined;
  repeat.onEarlier();
  const { call, emit } = repeat;
  const all = earlier.map((one) => openPaymentOf(context, one));
  // The caller may have heard more of them than was known a moment ago.
  for (const { attempt } of all) context.histories.outdate(sourceOf(attempt.payment));
  for (const open of all)
    if (open.attempt.state === 'signed') await ask(context, open, emit, call.signal);
  const undecidedOnes = all.filter(({ attempt }) => attempt.state === 'signed');
  const forgotten = await Promise.all(
    undecidedOnes.map(({ attempt }) =>
      isForgotten(context, attempt.at, sentPayment(attempt, attempt.payment)),
    ),
  );
  // A key is never free again: its caller has to give a new one.
  const signed = undecidedOnes.filter(
    (_, index) => repeat.idempotencyKey !== undefined || forgotten[index] !== true,
  );
  // One that another was signed after is presented no more: both would be paid.
  const settledIds = all
    .filter(({ attempt }) => attempt.state === 'settled')
    .map(({ attempt }) => attempt.id);
  const isReplaced = (id: string) => all.some(({ attempt }) => attempt.resigns === id);
  // Nor one that was signed after another which the chain has shown meanwhile.
  const current = signed.find(
    ({ attempt }) => !isReplaced(attempt.id) && !settledIds.some((id) => id === attempt.resigns),
  );
  if (current !== undefined) {
    if (mayRepeat(current, repeat)) return presentAgain(context, current, repeat);
    throw undecided(current);
  }
  const settled = all.filter(({ attempt }) => attempt.state === 'settled');
  const latest = settled[settled.length - 1];
  if (latest === undefined) {
    if (signed[0] !== undefined) throw undecided(signed[0]);
    return undefined;
  }
  // What is settled is refused by a seller that does not know the payment again, so only one that
  // does is asked. Of what is long over, the bytes are not there any more.
  const known = settled.find(
    ({ attempt: { payment } }) =>
      payment.header.value !== '' && (payment.hasPaymentId === true || repeat.repeatable),
  );
  const answering =
    known === undefined
      ? Promise.reject(spent(latest.attempt))
      : presentAgain(context, known, repeat);
  return answering.catch(async (error: unknown) => {
    if (isExactChangeError(error, 'already_spent')) await tell(context, settled);
    throw error;
  });
}

/** How many windows a caller has that was being told when its process ended. */
const UNHEARD_WINDOWS = 10;

/**
 * Those with an answer that did not reach their caller.
 *
 * @param first - All similar ones, as they were read a moment ago.
 */
async function findEarlier(
  context: PaymentContext,
  first: readonly Attempt[],
  repeat: RepeatedCall,
): Promise<OpenPayment['attempt'][]> {
  const { fingerprint, idempotencyKey } = repeat;
  const { runtime, retryWindow } = context.config;
  const found: OpenPayment['attempt'][] = [];
  const { similar, isAtWork } = await readSimilar(context, first, repeat).catch(unread);
  for (const attempt of similar) {
    const { payment, receipt, state, delivered } = attempt;
    if (idempotencyKey !== undefined && attempt.fingerprint !== fingerprint) throw mismatch();
    if (payment === undefined || receipt === undefined || state === 'unsettled') continue;
    if (idempotencyKey !== undefined && isAtWork(attempt.id))
      throw inProgress({ payerSignature: payment.payerSignature });
    // Parallel calls without a key are separate purchases, and so are later ones once the answer
    // arrived, or was told to be lost.
    const isUnderWay = isAtWork(attempt.id) || isAtWork(bodyClaim(attempt.id));
    const lost =
      !delivered &&
      !isUnderWay &&
      !similar.some((later) => later.resigns === attempt.id && later.delivered);
    const untold = isUntold(attempt, runtime.now(), retryWindow);
    if (idempotencyKey !== undefined || (lost && untold))
      found.push({ ...attempt, payment, receipt });
  }
  const isFound = (id: string) => found.some((one) => one.id === id);
  const replaces = ({ resigns, payment, state, id }: Attempt, replaced: string) =>
    resigns === replaced && payment !== undefined && state !== 'unsettled' && !isFound(id);
  // One is left alone if its successor is at work, or was told of.
  return found.filter(({ id }) => !similar.some((later) => replaces(later, id)));
}

interface SimilarAttempts {
  readonly similar: readonly Attempt[];
  /** Whether a call holds a claim. */
  isAtWork(claim: string): boolean;
}

async function readSimilar(
  context: PaymentContext,
  first: readonly Attempt[],
  { fingerprint, idempotencyKey }: RepeatedCall,
): Promise<SimilarAttempts> {
  const asked = first
    .filter(({ payment, delivered }) => payment && (idempotencyKey !== undefined || !delivered))
    .flatMap(({ id }) => [id, bodyClaim(id)]);
  if (asked.length === 0) return { similar: first, isAtWork: () => false };
  const live = await context.claims.live(asked);
  const over = new Set(asked.filter((claim) => !live.has(claim)));
  // Again: one may have ended its claim by now, and be on record as delivered, which the first
  // reading was too early for. What was signed in between is at work.
  const similar =
    over.size === 0
      ? first
      : await context.journal.similar(ownerOf(context), fingerprint, idempotencyKey);
  return { similar, isAtWork: (claim) => !over.has(claim) };
}

/**
 * Whether a caller may not have heard that it is paid, or so lately that an equal call means the
 * same purchase.
 */
function isUntold({ toldAt, tellingAt }: Attempt, now: number, retryWindow: number): boolean {
  if (toldAt !== undefined) return now - toldAt <= retryWindow;
  return tellingAt === undefined || now - tellingAt <= retryWindow * UNHEARD_WINDOWS;
}

/** To the address that asked for it, wherever this call was led. */
async function presentAgain(
  context: PaymentContext,
  open: OpenPayment,
  { call, repeatable, emit, startedAt }: RepeatedCall,
): Promise<Response> {
  const { host, payTo, mint, network } = open.attempt;
  const named = { hosts: plainHost(host), payees: payTo, mints: mint, networks: network };
  // The caller's lists may have changed since it was signed.
  if (refusing(context.config.policy, named) !== undefined)
    throw open.attempt.state === 'settled' ? spent(open.attempt) : undecided(open);
  const claims = [open.attempt.id, bodyClaim(open.attempt.id)];
  await context.claims.take(claims).catch((cause: unknown) => {
    // It may have been taken all the same: the next call would take this one to be at work, and pay.
    void delayNextCall(context, context.claims.drop(claims));
    throw undecided(open, cause);
  });
  const shown = await present(context, open, {
    call,
    url: open.attempt.url,
    repeatable,
    moved: swappedBy(open),
    emit,
    startedAt,
  });
  if ('response' in shown) return shown.response;
  throw open.attempt.state === 'settled'
    ? spent(open.attempt, shown.rejected.response)
    : shown.rejected;
}

async function ask(
  context: PaymentContext,
  open: OpenPayment,
  emit: Emit,
  signal: AbortSignal | undefined,
): Promise<void> {
  try {
    await untilAborted(context.ready(), signal);
    await inPaymentTime(context, signal ?? context.closing.signal, (within) =>
      decidePayment(context, open, emit, within),
    );
  } catch (error) {
    throwIfAborted(signal);
    if (!isExactChangeError(error)) throw error;
    // Whatever kept us from asking, that payment is out there.
    throw undecided(open, error);
  }
}

/**
 * Notes that the caller is being told, and once it has been, that it was: if the process is killed
 * in between, it may not have heard, and if its caller ends it, it has. All at once, or each of
 * them would keep the way closed for a window of its own.
 */
async function tell(context: PaymentContext, settled: readonly OpenPayment[]): Promise<void> {
  const { runtime } = context.config;
  const note = (told: 'tellingAt' | 'toldAt') =>
    Promise.all(settled.map((open) => noteTold(context, open, told)));
  await note('tellingAt');
  void delayNextCall(
    context,
    runtime.sleep(0).then(() => note('toldAt')),
  );
}

/** From now on, for as long as the window lasts, repeats are told the same. */
async function noteTold(
  context: PaymentContext,
  open: OpenPayment,
  told: 'tellingAt' | 'toldAt',
): Promise<void> {
  const { attempt } = open;
  if (attempt[told] !== undefined) return;
  open.attempt = { ...attempt, [told]: context.config.runtime.now() };
  // Not written down, it is told once more than it had to be.
  await saveAttempt(context, open).catch(() => undefined);
}

/** The refusal of a call with the key of another request. */
function mismatch(): ConfigError {
  return new ConfigError(
    'idempotency_mismatch',
    'This idempotencyKey was used for another request. Use one key for one request (method, URL and body), and a new one for another.',
    { details: {} },
  );
}
