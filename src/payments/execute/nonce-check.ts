import { hex } from '../../internal/bytes.js';
import { commitment, RANDOM_BYTES, type Purpose } from './sign-payment.js';

/**
 * Whether a memo may belong to a purchase. A memo that looks like a nonce of this library must
 * commit to the URL and the key of the purchase. Any other memo may belong to it.
 */
export function mayBeFor(memo: string | undefined, { url, idempotencyKey }: Purpose): boolean {
  if (memo === undefined || idempotencyKey === undefined || !isNonce(memo)) return true;
  const nonce = hex.decode(memo);
  return (
    hex.encode(nonce.subarray(RANDOM_BYTES)) ===
    hex.encode(commitment(nonce.subarray(0, RANDOM_BYTES), url, idempotencyKey))
  );
}

function isNonce(memo: string): boolean {
  return /^[0-9a-f]{32}$/.test(memo);
}
