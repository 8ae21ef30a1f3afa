import { ConfigError, SettlementError, type ErrorDetails } from '../../errors.js';

/** The refusal of a call whose key was another request's. */
export function mismatch(): ConfigError {
  return new ConfigError(
    'idempotency_mismatch',
    'This idempotencyKey was used for another request. Use one key for one request (method, URL and body), and a new one for another.',
    { details: {} },
  );
}

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
