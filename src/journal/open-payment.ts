import type { Receipt } from '../receipt.js';
import type { Along, Attempt, Journal } from './types.js';

type SignedAttempt = Attempt & {
  readonly payment: NonNullable<Attempt['payment']>;
  readonly receipt: Receipt;
};

/** A payment that is signed, as this process knows it. */
export interface OpenPayment {
  attempt: SignedAttempt;
  /** What was signed, if this process did: the payment's header carries it too. */
  readonly message?: Uint8Array;
  /** Taken from the journal, so others may know more of it by now. */
  readonly isForeign?: boolean;
  /** The last write of it, done or under way; never rejects. */
  lastWrite?: Promise<unknown>;
  /** The transaction id that the seller claimed last, and whether it is this payment's. */
  claim?: { readonly id: string; readonly isProven: boolean };
}

/**
 * Writes an attempt as it stands after a change, and makes the change once that is written. One
 * write after the other: two at once may land in the wrong order, and the older one would stand.
 */
export function saveAttempt(
  { journal }: { readonly journal: Pick<Journal, 'put'> },
  open: OpenPayment,
  change: (attempt: SignedAttempt) => SignedAttempt = (attempt) => attempt,
  along?: Along,
): Promise<void> {
  const write = (open.lastWrite ?? Promise.resolve()).then(async () => {
    await journal.put(change(open.attempt), along);
    // To what it is by now: others may have changed it while it was written.
    open.attempt = change(open.attempt);
  });
  open.lastWrite = write.catch(() => undefined);
  return write;
}
