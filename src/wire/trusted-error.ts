import type { ErrorCode, ExactChangeError } from '../errors.js';
import type { Signed } from '../transport.js';

// Only a party that signs and pays can know these errors.
const OF_A_PAYER: readonly ErrorCode[] = [
  'signing_failed',
  'self_check_failed',
  'payment_rejected',
  'payment_uncertain',
  'payment_in_progress',
  'already_spent',
];
// Only a party that sends the swap can know these errors.
const OF_A_SENDER: readonly ErrorCode[] = ['swap_failed', 'swap_expired', 'swap_uncertain'];

/**
 * Whether a service can know what its error claims about the funds. Such a service only quotes,
 * builds and plans for a client. `sent` is what this call gave it signed. Only after a swap it may
 * know the swap's end, because it sends swaps, and no payments.
 */
export function isTrustedError(
  code: ErrorCode,
  { funds, moved }: Pick<ExactChangeError, 'funds' | 'moved'>,
  sent?: Signed,
): boolean {
  if (OF_A_PAYER.includes(code)) return false;
  if (sent !== 'swap' && OF_A_SENDER.includes(code)) return false;
  if (sent === undefined) return funds === 'untouched' && moved.length === 0;
  return funds !== 'spent' && moved.every(({ kind }) => kind === 'swap');
}
