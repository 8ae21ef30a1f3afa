import type { ErrorCode, ExactChangeError } from '../errors.js';

// Only a party that signs and pays can know of these,
const OF_A_PAYER: readonly ErrorCode[] = [
  'signing_failed',
  'self_check_failed',
  'payment_rejected',
  'payment_uncertain',
  'payment_in_progress',
  'already_spent',
];
// and of these only one that sends.
const OF_A_SENDER: readonly ErrorCode[] = ['swap_failed', 'swap_expired', 'swap_uncertain'];

/**
 * Whether a service that quotes, builds and plans for a client can know what its error says of
 * money, which would be taken for true. `sent`: it was handed a signed swap by this call, and may
 * have sent it.
 */
export function isTrustedError(
  code: ErrorCode,
  { funds, moved }: Pick<ExactChangeError, 'funds' | 'moved'>,
  sent: boolean,
): boolean {
  if (OF_A_PAYER.includes(code)) return false;
  if (!sent) return funds === 'untouched' && moved.length === 0 && !OF_A_SENDER.includes(code);
  return funds !== 'spent' && moved.every(({ kind }) => kind === 'swap');
}
