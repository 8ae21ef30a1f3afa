import { SettlementError, type ErrorInit, type Moved } from '../../errors.js';
import type { Emit } from '../../events.js';
import { onAbort, throwIfAborted, untilAborted } from '../../internal/abort.js';
import { dropBody } from '../../internal/drop-body.js';
import type { OpenPayment } from '../../journal/open-payment.js';
import type { PaymentContext } from '../context.js';
import { outdateOffers } from '../memory.js';
import { decidePayment } from '../reconcile/payment-monitor.js';
import { outcomeOf, outcomes } from './outcomes.js';
import {
  detailsOf,
  noteDoubt,
  presentOnce,
  movedByPayment,
  type Delivered,
  type Presentation,
  type Refused,
  type Rejected,
} from './present.js';

/**
 * Handles a 402 to the paid request. Presents the payment once more if the chain shows it settled
 * and the request may be repeated. Returns the new answer, or a rejection.
 */
export async function afterRefusal(
  context: PaymentContext,
  open: OpenPayment,
  showing: Presentation,
  first: Refused,
  within: AbortSignal,
): Promise<Delivered | Rejected> {
  const { call, emit } = showing;
  // If the client caused the refusal, outdated facts are the most likely cause.
  outdateOffers(context.memory);
  const forgotten = context.ledger.forget(open.attempt.payment.source).catch(() => undefined);
  await untilAborted(forgotten, call.signal);
  const { askFirst, resign } = outcomes[outcomeOf(402, first.word)];
  let mayResign = false;
  if (askFirst) await untilAborted(askUntilDecided(context, open, emit, within), call.signal);
  // Ask the chain once before a second signature, because the seller's word may be wrong.
  else if (resign && context.config.policy.resign > 0)
    mayResign = await untilAborted(
      decidePayment(context, open, emit, within).then(
        () => true,
        () => false,
      ),
      call.signal,
    );
  throwIfAborted(call.signal);
  const mayPresent = askFirst && open.attempt.state === 'settled' && mayRepeat(open, showing);
  if (mayPresent) dropBody(first.response);
  const shown = mayPresent ? await presentOnce(context, open, showing, within) : first;
  if ('isAwaited' in shown) return shown;
  await untilAborted(noteDoubt(context, open, 'payment_rejected', emit), call.signal);
  return {
    get rejected() {
      return rejection(open, shown, showing.moved);
    },
    mayResign,
  };
}

/** Whether the same bytes may be sent to the seller again: x402.md 5.3. */
export function mayRepeat(
  { attempt }: OpenPayment,
  { call, repeatable }: Pick<Presentation, 'call' | 'repeatable'>,
): boolean {
  return (
    repeatable ||
    attempt.payment.hasPaymentId === true ||
    call.method === 'GET' ||
    call.method === 'HEAD'
  );
}

function rejection(
  open: OpenPayment,
  { response, word: { reason } }: Refused,
  moved: readonly Moved[],
): SettlementError<'payment_rejected'> {
  const { attempt } = open;
  const { lastValidBlockHeight } = attempt.payment;
  const base = {
    details: { ...detailsOf(open), status: response.status },
    response,
    ...(reason === undefined ? {} : { untrusted: { reason } }),
  };
  const make = (
    message: string,
    more: Pick<ErrorInit<'payment_rejected'>, 'funds' | 'moved' | 'retry'>,
  ) => new SettlementError('payment_rejected', message, { ...base, ...more });
  if (attempt.state === 'settled') {
    return make(
      'The seller answered the paid request with 402, and the chain shows the payment. Ask the seller for its answer with the signature in moved.',
      {
        funds: 'spent',
        moved: [...moved, ...movedByPayment(open)],
        retry: 'never',
      },
    );
  }
  if (attempt.state === 'unsettled') {
    return make(
      'The seller answered the paid request with 402, and the payment can no longer land: nothing was paid. See untrusted.reason, then try again.',
      {
        funds: 'untouched',
        moved,
        retry: 'fresh',
      },
    );
  }
  return make(
    `The seller answered the paid request with 402 again. That is no proof that nothing was paid: the payment may still settle until block height ${lastValidBlockHeight} is final. ` +
      'See untrusted.reason, and repeat the call once the chain has decided.',
    { funds: 'uncertain', moved },
  );
}

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 2_000;

/** Asks the chain until it has decided, time is up, or the client closes. */
async function askUntilDecided(
  context: PaymentContext,
  open: OpenPayment,
  emit: Emit,
  within: AbortSignal,
): Promise<void> {
  const either = new AbortController();
  const forgets = [within, context.closing.signal].map((signal) =>
    onAbort(signal, () => either.abort(signal.reason)),
  );
  if (within.aborted || context.closing.signal.aborted) either.abort();
  const { signal } = either;
  for (let wait = FIRST_WAIT_MS; !signal.aborted; wait = Math.min(wait * 2, LONGEST_WAIT_MS)) {
    // A node that does not answer decides nothing, so it is asked again.
    if (await decidePayment(context, open, emit, signal).catch(() => false)) break;
    await context.config.runtime.sleep(wait, signal).catch(() => undefined);
  }
  for (const forget of forgets) forget();
}
