import {
  isExactChangeError,
  SettlementError,
  TransportError,
  type ErrorDetails,
} from '../../errors.js';

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
  const { code, message, details, retry, cause } = error;
  // What repairs a damaged journal may leave an empty one, which finds no payment.
  const advice =
    code === 'journal_damaged'
      ? 'only a sound copy of the journal finds it. Without one, look at the transactions of the wallet before you repeat the call.'
      : 'once the journal works, repeat the same call, to find that payment.';
  throw new TransportError(
    code,
    `${message} A payment for an equal call may be on record: ${advice}`,
    { details, funds: 'uncertain', retry: retry === 'never' ? retry : 'same', cause },
  );
}

function isUnread(error: unknown) {
  return (
    isExactChangeError(error, 'journal_unavailable') ||
    isExactChangeError(error, 'journal_damaged') ||
    isExactChangeError(error, 'journal_locked')
  );
}
