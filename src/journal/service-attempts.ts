import type { Attempt } from './types.js';

/**
 * What the fingerprints begin with of attempts that another program signed, and handed over: a
 * service sees their bytes, and no request.
 */
export const FROM_SERVICE = 'auto-pay ';

/**
 * Whether an attempt is known by the bytes that were handed over. Its answer goes from the seller
 * to the program that signed it: it is not asked for here.
 */
export function isFromService({ fingerprint }: Pick<Attempt, 'fingerprint'>): boolean {
  return fingerprint.startsWith(FROM_SERVICE);
}
