import { ProtocolError } from '../../errors.js';
import { isLoopback } from '../../internal/origin.js';
import type { Call } from '../../internal/request.js';
import { checkPlace } from '../../policy/check-payment.js';
import type { ListRules } from '../../policy/lists.js';

/**
 * Throws `insecure_origin` for a place that no payment header may go to. It may be a redirecting
 * seller's, so it is in no message.
 */
export function checkOrigin(url: string): URL {
  const place = new URL(url);
  const { protocol, hostname, origin } = place;
  if (protocol === 'https:' || isLoopback(hostname)) return place;
  throw new ProtocolError(
    'insecure_origin',
    "The place that asks for payment is not https, so a payment sent there could be stolen. Use the seller's https address; details.origin is the one that asked.",
    { details: { origin } },
  );
}

/**
 * Throws if no payment may be made for a call at the address that asks for it, whatever that asks.
 */
export function checkRequest(
  policy: ListRules,
  call: Call,
  unpaid: Response | undefined,
  url: string,
): void {
  const misplaced = checkPlace(policy, checkOrigin(url).host);
  if (misplaced !== undefined) throw misplaced;
  if (unpaid?.redirected === true && call.method !== 'GET' && call.method !== 'HEAD') {
    throw new ProtocolError(
      'unsupported_offer',
      `The ${call.method} was redirected before it was answered with 402, and its method may have changed on the way. Send it to its final address directly.`,
      { details: { reason: 'redirected with a body' } },
    );
  }
}
