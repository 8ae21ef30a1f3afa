import type { Along, Attempt, Journal } from './types.js';

export type SignedAttempt = Attempt & Required<Pick<Attempt, 'payment' | 'receipt'>>;

export function isPaid(attempt: Attempt): attempt is SignedAttempt {
  return attempt.payment !== undefined && attempt.receipt !== undefined;
}

export interface OpenPayment {
  attempt: SignedAttempt;
  /** The signed message, if this process signed it: the payment's header carries it too. */
  readonly message?: Uint8Array;
  /**
   * Whether other processes may know more of it by now: it comes from the journal, or its answer
   * did not arrive here.
   */
  isShared?: boolean;
  /**
   * Whether its answer has reached its caller in this process. False if that was noted and taken
   * back, which the journal may not know; undefined if only the journal can tell.
   */
  isDeliveredHere?: boolean | undefined;
  /** The last write of the attempt, done or under way; never rejects. */
  lastWrite?: Promise<unknown>;
  /** The transaction id that the seller claimed last, and whether it is this payment's. */
  claim?: { readonly id: string; readonly isProven: boolean };
}

/**
 * Writes a changed attempt, and changes it in memory once it is written. Each write waits for the
 * write before, because two at once may land in the wrong order.
 */
export function saveAttempt(
  { journal }: { readonly journal: Pick<Journal, 'put'> },
  open: OpenPayment,
  change: (attempt: SignedAttempt) => SignedAttempt = (attempt) => attempt,
  along?: Along,
): Promise<void> {
  const write = (open.lastWrite ?? Promise.resolve()).then(async () => {
    await journal.put(change(open.attempt), along);
    // Change the attempt as it is now, because other calls may have changed it during the write.
    open.attempt = change(open.attempt);
  });
  open.lastWrite = write.catch(() => undefined);
  return write;
}
