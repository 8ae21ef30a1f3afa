import { isExactChangeError, type ExactChangeError } from '../../errors.js';

// Before anything was signed: what a token, its account or its market is to blame for.
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
 * Whether a swap that failed may well do from another token: nothing of it was signed, and only its
 * own token is to blame.
 */
export function concernsCandidate(error: unknown): error is ExactChangeError {
  return (
    isExactChangeError(error) && error.funds === 'untouched' && CANDIDATE_CODES.includes(error.code)
  );
}
