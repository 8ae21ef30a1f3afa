import { isExactChangeError } from '../../errors.js';
import type { OpenPayment } from '../../journal/open-payment.js';
import type { Attempt, SignedPayment } from '../../journal/types.js';
import { capsFor, overBudget, takenOf } from '../../policy/caps.js';
import type { Receipt } from '../../receipt.js';
import type { PaymentContext } from '../context.js';
import { inProgress } from '../reconcile/earlier-errors.js';
import { endUnpaid } from '../reconcile/orphaned-attempts.js';
import { abandon, freeOrphanedBudget, resumeWithNextCall } from '../reconcile/resume.js';
import { withoutBound } from './swap-cost.js';

/**
 * An attempt from its claim to its signed payment, with all that counts against the caps for it.
 */
export interface Reservation {
  /** As it stands, with what its swaps have cost. */
  attempt: Attempt;
  /**
   * Reserves its price. Throws `budget_exhausted`, or `payment_in_progress` if another call has its
   * key.
   */
  reserve(): Promise<void>;
  /**
   * Puts the signed payment on record, before it leaves. Rejects if another process took the
   * attempt for an orphan and freed its budget.
   */
  sign(payment: SignedPayment, receipt: Receipt): Promise<OpenPayment>;
  /**
   * Frees the tokens, the price, the key and the claim, for no payment was signed. Never rejects.
   *
   * @param source - The token account that the payment would have left from.
   */
  rollBack(source: string, reason: unknown): Promise<void>;
}

/**
 * Claims an attempt for this call, before it is there for others to see: until its answer is there,
 * no process takes it for an orphan.
 */
export async function claimAttempt(
  context: PaymentContext,
  reserved: Attempt,
): Promise<Reservation> {
  const { claims, journal, ledger, config } = context;
  const { id } = reserved;
  await claims.take(id).catch((error: unknown) => {
    // It may have been taken all the same.
    claims.drop(id).catch(() => undefined);
    throw error;
  });
  let isReserved = false;
  const reservation: Reservation = {
    attempt: reserved,
    async reserve() {
      const { attempt } = reservation;
      const caps = capsFor(config.policy, attempt);
      const refused = await againWithoutOrphans(context, () => journal.reserve(attempt, caps));
      if (refused === undefined) isReserved = true;
      else if ('taken' in refused) throw inProgress({});
      else throw overBudget(refused.cap, refused.used, takenOf(refused.cap, attempt));
    },
    async sign(payment, receipt) {
      // It is spent from now on, however long it waited for a swap or an approval.
      const open = {
        ...withoutBound(reservation.attempt),
        state: 'signed' as const,
        at: config.runtime.now(),
        payment,
        receipt,
      };
      await journal.put(open);
      return { attempt: open };
    },
    async rollBack(source, reason) {
      const isUnwritten = isExactChangeError(reason, 'journal_unavailable');
      const undo = async () => {
        await ledger.release(source, id);
        // One whose answer was lost may be on record.
        if (isReserved || isUnwritten) await giveUp(context, reservation.attempt);
      };
      // What could not be undone now is freed with all other orphans, which are looked for again;
      // the reason of the failure says more.
      if (isUnwritten) resumeWithNextCall(context);
      await undo().catch(() => resumeWithNextCall(context));
      await claims.drop(id).catch(() => undefined);
    },
  };
  return reservation;
}

/**
 * Orphaned attempts must not consume budget or block a key: they are freed, and the journal is
 * asked once more.
 */
export async function againWithoutOrphans<T>(
  context: PaymentContext,
  ask: () => Promise<T | undefined>,
): Promise<T | undefined> {
  const refused = await ask();
  return refused !== undefined && (await freeOrphanedBudget(context)) ? ask() : refused;
}

/**
 * Frees the price and the key: no payment was signed. A swap that may still land stays on record,
 * and so does what swaps have cost.
 */
async function giveUp(context: PaymentContext, attempt: Attempt): Promise<void> {
  if (attempt.swap === undefined || attempt.swap.outcome !== undefined)
    await endUnpaid(context, withoutBound(attempt));
  else await abandon(context, attempt);
}
