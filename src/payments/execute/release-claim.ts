import { untilAborted } from '../../internal/abort.js';
import type { OpenPayment } from '../../journal/open-payment.js';
import type { PaymentContext } from '../context.js';

/**
 * Returns the claim on an answer that is on its way to its reader. It ends with its process, so
 * that a later call sees that the answer did not arrive.
 */
export function bodyClaim(id: string): string {
  return `body of ${id}`;
}

/**
 * Releases claims on an attempt or its answer, after the last write of the attempt. A call that
 * takes it up then finds its latest state. A caller that has given up does not wait, but the next
 * call of this wallet does: if it found the attempt claimed, it would pay beside it. Never rejects.
 */
export function releaseClaims(
  context: PaymentContext,
  open: OpenPayment,
  claims: readonly string[],
  signal?: AbortSignal,
): Promise<void> {
  const released = delayNextCall(
    context,
    Promise.resolve(open.lastWrite).then(() => context.claims.drop(claims)),
  );
  return untilAborted(released, signal).catch(() => undefined);
}

/** Makes the next call of this wallet wait for work that is under way. Never rejects. */
export function delayNextCall({ wallet }: PaymentContext, work: Promise<unknown>): Promise<void> {
  const settled: Promise<void> = work
    .then(
      () => undefined,
      () => undefined,
    )
    .finally(() => wallet.releasing.delete(settled));
  wallet.releasing.add(settled);
  return settled;
}

/**
 * Settles as a call's work does, or rejects with the signal's reason if that comes first: a silent
 * journal must not hold up a caller that has given up. The next call of this wallet waits for the
 * end of the work, which may still have to free its budget.
 *
 * @param onLate - Gets the result of work that the caller did not wait for.
 */
export function untilGivenUp<T>(
  context: PaymentContext,
  work: Promise<T>,
  signal: AbortSignal | undefined,
  onLate: (result: T) => unknown = () => undefined,
): Promise<T> {
  return untilAborted(work, signal).catch((error: unknown) => {
    void delayNextCall(context, work.then(onLate));
    throw error;
  });
}

/**
 * Waits until the ended calls of this wallet have released their claims. Rejects with the signal's
 * reason.
 */
export async function claimsReleased(
  { wallet }: PaymentContext,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (wallet.releasing.size > 0) await untilAborted(Promise.all([...wallet.releasing]), signal);
}
