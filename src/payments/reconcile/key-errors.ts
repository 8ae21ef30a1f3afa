import {
  isExactChangeError,
  SettlementError,
  type ErrorDetails,
  type ExactChangeError,
} from '../../errors.js';
import { amendError } from '../../errors/amend.js';

export function inProgress(details: ErrorDetails['payment_in_progress']): SettlementError {
  return new SettlementError(
    'payment_in_progress',
    'A call with this idempotencyKey is being paid right now. Wait for its answer.',
    {
      details,
      funds: 'uncertain',
    },
  );
}

/**
 * Rethrows an error that prevented a call from reading earlier attempts. Turns an error of the
 * journal into one with `funds: 'uncertain'`, because the call may repeat a call that has paid.
 */
export function throwUnread(error: unknown): never {
  if (!isUnread(error) || error.funds !== 'untouched') throw error;
  // What repairs a damaged journal may leave an empty one, which finds no payment.
  const advice =
    error.code === 'journal_damaged'
      ? 'only a sound copy of the journal finds it. Without one, look at the transactions of the wallet before you repeat the call.'
      : 'once the journal works, repeat the same call, to find that payment.';
  const retry = error.retry === 'never' ? 'never' : 'same';
  const uncertain = amendError(error, { funds: 'uncertain', retry });
  uncertain.message += ` A payment for an equal call may be on record: ${advice}`;
  // Consoles show the stack, which begins with the message.
  if (uncertain.stack !== undefined)
    uncertain.stack = uncertain.stack.replace(error.message, () => uncertain.message);
  throw uncertain;
}

function isUnread(error: unknown): error is ExactChangeError {
  return (
    isExactChangeError(error) &&
    // `invalid_option`: a newer version wrote the journal.
    (error.code.startsWith('journal_') || error.code === 'invalid_option')
  );
}
