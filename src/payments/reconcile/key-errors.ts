import {
  isExactChangeError,
  SettlementError,
  TransportError,
  type ErrorDetails,
} from '../../errors.js';

/** The refusal of a call whose key another call is under way with. */
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
 * Throws what kept a call from reading whether it is paid already: one that repeats a lost call
 * must not be told that nothing was paid.
 */
export function unread(error: unknown): never {
  if (!isExactChangeError(error, 'journal_unavailable') || error.funds !== 'untouched') throw error;
  const { details, cause } = error;
  throw new TransportError(
    'journal_unavailable',
    'The journal could not be read, so nothing was signed or sent by this call; a payment for an equal one may be on record. Repair the journal, then repeat the same call: it never pays twice.',
    { details, funds: 'uncertain', retry: 'same', cause },
  );
}
