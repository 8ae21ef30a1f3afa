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
 * Rethrows an error that prevented a call from reading earlier attempts. Turns
 * `journal_unavailable` into an error with `funds: 'uncertain'`, because the call may repeat a call
 * that has paid.
 */
export function throwUnread(error: unknown): never {
  if (!isExactChangeError(error, 'journal_unavailable') || error.funds !== 'untouched') throw error;
  const { details, cause } = error;
  throw new TransportError(
    'journal_unavailable',
    'The journal could not be read, so nothing was signed or sent by this call; a payment for an equal one may be on record. Repair the journal, then repeat the same call: it never pays twice.',
    { details, funds: 'uncertain', retry: 'same', cause },
  );
}
