import { SettlementError, type ErrorDetails } from '../../errors.js';

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
