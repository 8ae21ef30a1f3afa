import { isExactChangeError } from '../../errors.js';
import type { Emit } from '../../events.js';
import { throwIfAborted, untilAborted } from '../../internal/abort.js';
import { saveAttempt, type OpenPayment } from '../../journal/open-payment.js';
import type { PaymentContext } from '../context.js';
import { mayRepeat, present } from '../execute/present.js';
import { delayNextCall, bodyClaim } from '../execute/release-claim.js';
import { spent, swappedBy, undecided } from './earlier-errors.js';
import type { RepeatedCall } from './find-earlier.js';
import { decidePayment, openPaymentOf } from './payment-monitor.js';
import { sourceOf } from './fate.js';

// A blockhash lasts for a minute or two; after a day only history is left to be asked about.
const FORGOTTEN_MS = 24 * 60 * 60_000;

/** A day of blocks, and of slots. */
const FORGOTTEN_BLOCKS = 216_000;

/**
 * Lets the chain decide earlier attempts at the same request whose answer did not reach its caller:
 * the same payment presented again if the request may be repeated, `payment_uncertain`,
 * `already_spent`, or undefined if the way is free for a new one.
 */
export async function settleEarlier(
  context: PaymentContext,
  earlier: readonly OpenPayment['attempt'][],
  repeat: RepeatedCall,
): Promise<Response | undefined> {
  const { call, emit } = repeat;
  const all = earlier.map((one) => openPaymentOf(context, one));
  // The caller may have heard more of them than was known a moment ago.
  for (const { attempt } of all) context.histories.outdate(sourceOf(attempt.payment));
  for (const open of all)
    if (open.attempt.state === 'signed') await ask(context, open, emit, call.signal);
  const undecidedOnes = all.filter(({ attempt }) => attempt.state === 'signed');
  const forgotten = await Promise.all(undecidedOnes.map((open) => isForgotten(context, open)));
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

/** To the address that asked for it, wherever this call was led. */
async function presentAgain(
  context: PaymentContext,
  open: OpenPayment,
  { call, repeatable, emit, startedAt }: RepeatedCall,
): Promise<Response> {
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

/**
 * Whether no node can be expected to remember it, and nothing of it can still land: clocks jump,
 * and a node may be wrong in a number, but not in two.
 */
async function isForgotten(
  { rpc, config, closing }: PaymentContext,
  { attempt }: OpenPayment,
): Promise<boolean> {
  if (config.runtime.now() - attempt.at <= FORGOTTEN_MS) return false;
  const { lastValidBlockHeight, slot } = attempt.payment;
  const height = BigInt(lastValidBlockHeight) + BigInt(FORGOTTEN_BLOCKS);
  const tips = await Promise.all(
    rpc
      .alone()
      .map((node) => node.tip('finalized', { signal: closing.signal }).catch(() => undefined)),
  );
  return tips.every(
    (tip) => tip !== undefined && tip.height > height && tip.slot > slot + FORGOTTEN_BLOCKS,
  );
}

async function ask(
  context: PaymentContext,
  open: OpenPayment,
  emit: Emit,
  signal: AbortSignal | undefined,
): Promise<void> {
  try {
    await untilAborted(context.ready(), signal);
    await decidePayment(context, open, emit, signal ?? context.closing.signal);
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
