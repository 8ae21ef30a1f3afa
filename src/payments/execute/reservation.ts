import { isExactChangeError } from '../../errors.js';
import { bounded } from '../../internal/abort.js';
import type { Taken } from '../../journal/balance-ledger.js';
import type { OpenPayment } from '../../journal/open-payment.js';
import type { Attempt, Hold, SignedPayment } from '../../journal/types.js';
import { capsFor, takenOf } from '../../policy/caps.js';
import type { Receipt } from '../../receipt.js';
import type { PaymentContext } from '../context.js';
import { reasons, recovery } from '../on-demand.js';
import { inProgress } from '../reconcile/key-errors.js';
import { resumeWithNextCall } from '../reconcile/resume-once.js';
import { bodyClaim } from './release-claim.js';

/**
 * An attempt from its claim to its signed payment, with all that counts against the caps for it.
 */
export interface Reservation {
  /** As it stands, with what its swaps have cost. */
  attempt: Attempt;
  /**
   * Claims it for this call, and reserves its price: until its answer is there, no process takes it
   * for an orphan. Throws `budget_exhausted`, or `payment_in_progress` if another call has its key.
   *
   * @param hold - What to hold for it, if that takes no step of its own. Returns what was taken.
   */
  reserve(hold?: Hold): Promise<Taken | undefined>;
  /**
   * Puts the signed payment on record, before it leaves, and claims its answer. Rejects if another
   * process took the attempt for an orphan and freed its budget.
   */
  sign(payment: SignedPayment, receipt: Receipt): Promise<OpenPayment>;
  /**
   * Frees the tokens, the price, the key and the claim, for no payment was signed. Never rejects.
   *
   * @param source - The token account that the payment would have left from, if one was held.
   */
  rollBack(source: string | undefined, reason: unknown): Promise<void>;
}

/**
 * An attempt that is about to be made.
 *
 * @param signal - Of the call, which waits no longer for files of the library.
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
      const caps = capsFor(config.policy, attempt);
      const done = await againWithoutOrphans(
        context,
        signal,
        () => journal.reserve(attempt, caps, { claim: [id] }, hold),
        (result) => result === undefined || 'before' in result,
      );
      if (done !== undefined && 'taken' in done) throw inProgress({});
      if (done !== undefined && 'cap' in done)
        throw (await reasons('untouched', signal)).overBudget(
          done.cap,
          done.used,
          takenOf(done.cap, attempt),
        );
      isReserved = true;
      return done;
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
      await journal.put(open, { claim: [bodyClaim(id)] });
      return { attempt: open };
    },
    async rollBack(source, reason) {
      const isUnwritten = isExactChangeError(reason, 'journal_unavailable');
      const drop = [id, bodyClaim(id)];
      const undo = async () => {
        // One whose answer was lost may be on record.
        if (!isReserved && !isUnwritten) return;
        // A caller that has given up still lets go of what is reserved, if a file comes in time.
        const { giveUp } = await bounded(config.timeouts.journal, late, [], () => recovery());
        const free = source === undefined ? [] : [source];
        await giveUp(context, reservation.attempt, { drop, free });
      };
      // What could not be undone now is freed with all other orphans, which are looked for again;
      // the reason of the failure says more.
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
 * Orphaned attempts must not consume budget or block a key: they are freed, and the journal is
 * asked once more.
 */
export async function againWithoutOrphans<T>(
  context: PaymentContext,
  signal: AbortSignal | undefined,
  ask: () => Promise<T>,
  isDone: (result: T) => boolean = (result) => result === undefined,
): Promise<T> {
  const result = await ask();
  if (isDone(result)) return result;
  const { freeOrphanedBudget } = await recovery('untouched', signal);
  return (await freeOrphanedBudget(context)) ? ask() : result;
}

function late(): Error {
  return new Error('A part of exact-change did not come in time.');
}

/** An attempt without the bound of a swap that was never signed, or can never land. */
export function withoutBound({ swapping: _bound, ...attempt }: Attempt): Attempt {
  return attempt;
}
