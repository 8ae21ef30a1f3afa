import { untilAborted } from '../../internal/abort.js';
import type { OpenPayment } from '../../journal/open-payment.js';
import type { PaymentContext } from '../context.js';

/**
 * The claim on an attempt whose answer is on its way to its reader: a process that ends before
 * takes it back.
 */
export function bodyClaim(id: string): string {
  return `body of ${id}`;
}

/**
 * Lets go of an attempt, or of its answer, after all that is being written of it: a call that takes
 * it up then finds it as it is. A caller that has given up is not kept waiting; the next call at
 * this wallet is, or it would take the attempt for one that is still at work, and pay beside it.
 * Never rejects.
 */
export function releaseClaims(
  context: PaymentContext,
  open: OpenPayment,
  claims: readonly string[],
  signal?: AbortSignal,
): Promise<void> {
  const left = delayNextCall(
    context,
    Promise.resolve(open.lastWrite).then(() => context.claims.drop(claims)),
  );
  return untilAborted(left, signal).catch(() => undefined);
}

/** Has the next call at this wallet wait for work that is under way. Never rejects. */
export function delayNextCall({ wallet }: PaymentContext, work: Promise<unknown>): Promise<void> {
  const over: Promise<void> = work
    .then(
      () => undefined,
      () => undefined,
    )
    .finally(() => wallet.releasing.delete(over));
  wallet.releasing.add(over);
  return over;
}

/**
 * Waits until the calls that have ended at this wallet have let go. Rejects with the signal's
 * reason.
 */
export async function claimsReleased(
  { wallet }: PaymentContext,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (wallet.releasing.size > 0) await untilAborted(Promise.all([...wallet.releasing]), signal);
}
