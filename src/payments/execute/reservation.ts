import { isExactChangeError } from '../../errors.js';
import { bounded } from '../../internal/abort.js';
import type { Taken } from '../../journal/account-balance.js';
import type { OpenPayment } from '../../journal/open-payment.js';
import type { Attempt, Hold, SignedPayment } from '../../journal/types.js';
import { capsFor } from '../../policy/caps.js';
import type { Receipt } from '../../receipt.js';
import type { PaymentContext } from '../context.js';
import { reasons, recovery } from '../on-demand.js';
import { resumeWithNextCall } from '../reconcile/resume-once.js';
import { bodyClaim, claimsReleased } from './release-claim.js';

/** An attempt until its payment is signed, with the amounts that it counts against the caps. */
export interface Reservation {
  /** The attempt in its present state, with the cost of its swaps. */
  attempt: Attempt;
  /**
   * Claims the attempt for this call, and reserves its price. The claim keeps other processes from
   * taking the attempt for an orphan. Throws `budget_exhausted`, or `payment_in_progress` if
   * another call has its key.
   *
   * @param hold - Hold to take in the same step, if the tokens are there and the journal can do it.
   * @returns The tokens, if they are held now.
   */
  reserve(hold?: Hold): Promise<Taken | undefined>;
  /**
   * Writes the signed payment to the journal before it leaves, and claims its answer. Rejects if
   * another process took the attempt for an orphan and freed its budget.
   */
  sign(payment: SignedPayment, receipt: Receipt): Promise<OpenPayment>;
  /**
   * Frees the tokens, the price, the key and the claim, because no payment was signed. Never
   * rejects.
   *
   * @param source - Token account that may have a hold for the payment; undefined if none has.
   * @param reason - Why no payment was signed.
   */
  rollBack(source: string | undefined, reason: unknown): Promise<void>;
}

/**
 * Returns the reservation of an attempt. Nothing is written before `reserve`.
 *
 * @param signal - Signal of the call: when it fires, the call waits for no file of the library.
 */
export function reservationFor(
  context: PaymentContext,
  reserved: Attempt,
  signal: AbortSignal | undefined,
): Reservation {
  const { claims, journal, config } = context;
  const { id } = reserved;
  let isReserved = false;
  const reservation: Reservation = {
    attempt: reserved,
    async reserve(hold) {
      const { attempt } = reservation;
      // A caller may have given up a call that has yet to free its budget.
      await claimsReleased(context, signal);
      const caps = capsFor(config.policy, attempt);
      const done = await againWithoutOrphans(context, signal, () =>
        journal.reserve(attempt, caps, { claim: [id] }, hold),
      );
      if (done !== undefined && 'taken' in done)
        throw (await recovery(signal, 'uncertain')).inProgress({});
      if (done !== undefined && 'cap' in done)
        throw (await reasons(signal)).blockedBy(done, attempt);
      isReserved = true;
      return done;
    },
    async sign(payment, receipt) {
      // Caps count the payment from now on, however long it waited for a swap or an approval.
      const signed = {
        ...withoutBound(reservation.attempt),
        state: 'signed' as const,
        at: config.runtime.now(),
        payment,
        receipt,
      };
      await journal.put(signed, { claim: [bodyClaim(id)] });
      return { attempt: signed };
    },
    async rollBack(source, reason) {
      const isUnwritten = isExactChangeError(reason, 'journal_unavailable');
      const drop = [id, bodyClaim(id)];
      const undo = async () => {
        // The attempt may be on record even if the journal's answer was lost.
        if (!isReserved && !isUnwritten) return;
        // Wait for the file even if the caller has given up, because the budget must become free.
        const { giveUp } = await bounded(config.timeouts.journal, Error, [], () => recovery());
        const free = source === undefined ? [] : [source];
        await giveUp(context, reservation.attempt, { drop, free });
      };
      // If the attempt cannot be freed now, the next call frees it with the orphaned attempts. This
      // error is dropped, because the reason of the failure says more.
      if (isUnwritten) resumeWithNextCall(context);
      await undo().catch(async () => {
        resumeWithNextCall(context);
        await claims.drop(drop).catch(() => undefined);
      });
    },
  };
  return reservation;
}

/**
 * Asks the journal for budget. If it refuses, frees orphaned attempts and asks once more, because
 * they must not consume budget or block a key.
 */
export async function againWithoutOrphans<T extends object | undefined>(
  context: PaymentContext,
  signal: AbortSignal | undefined,
  ask: () => Promise<T>,
): Promise<T> {
  const result = await ask();
  // Undefined: reserved. With `before`: reserved, and the tokens are held. All else is a refusal.
  if (result === undefined || 'before' in result) return result;
  const { freeOrphanedBudget } = await recovery(signal);
  return (await freeOrphanedBudget(context)) ? ask() : result;
}

/** Returns an attempt without the bound of a swap that was never signed, or can never land. */
export function withoutBound({ swapping: _bound, ...attempt }: Attempt): Attempt {
  return attempt;
}
