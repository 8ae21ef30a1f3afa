import { isExactChangeError, type ExactChangeError } from '../../errors.js';

// Errors that the token, its account or its market causes.
const CANDIDATE_CODES: readonly string[] = [
  'account_unusable',
  'unknown_mint',
  'mint_not_supported',
  'unsafe_swap',
  'transaction_too_large',
  'simulation_failed',
  'no_route',
  'price_impact_too_high',
  'swap_overhead_too_high',
  'price_unknown',
  'quote_mismatch',
  'amount_over_limit',
];

/**
 * Returns whether a swap from a different token may succeed: the failed swap signed nothing, and
 * only its own input token caused the error.
 */
export function concernsCandidate(error: unknown): error is ExactChangeError {
  return (
    isExactChangeError(error) && error.funds === 'untouched' && CANDIDATE_CODES.includes(error.code)
  );
}
