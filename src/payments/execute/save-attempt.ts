import type { PaymentContext } from '../context.js';
import type { OpenPayment } from '../reconcile/payment-monitor.js';

type Record = OpenPayment['attempt'];

/** The last write of each attempt, done or under way. */
const writes = new WeakMap<OpenPayment, Promise<unknown>>();

/**
 * Writes an attempt as it stands after a change, and makes the change once that is written. One write after the other: two at once may land
 * in the wrong order, and the older one would stand.
 */
export function saveAttempt(
  { journal }: PaymentContext,
  open: OpenPayment,
  change: (attempt: Record) => Record = (attempt) => attempt,
): Promise<void> {
  const write = (writes.get(open) ?? Promise.resolve()).then(async () => {
    await journal.put(change(open.attempt));
    // To what it is by now: others may have changed it while it was written.
    open.attempt = change(open.attempt);
  });
  writes.set(
    open,
    write.catch(() => undefined),
  );
  return write;
}

/** Resolves once what is being written of an attempt now is written, or is not. */
export async function savedSoFar(open: OpenPayment): Promise<void> {
  await writes.get(open);
}
