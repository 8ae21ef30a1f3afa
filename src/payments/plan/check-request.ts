import { isLoopback } from '../../internal/origin.js';
import type { Call } from '../../internal/request.js';
import { isRefusedPlace } from '../../policy/check-payment.js';
import type { ListRules } from '../../policy/lists.js';
import { reasons } from '../on-demand.js';

/**
 * Throws if no payment may be made for a call at the address that asks for it, whatever that asks.
 */
export async function checkRequest(
  policy: ListRules,
  call: Call,
  unpaid: Response | undefined,
  url: string,
): Promise<void> {
  const place = new URL(url);
  const isMoved = unpaid?.redirected === true && call.method !== 'GET' && call.method !== 'HEAD';
  if (!isSecure(place) || isMoved || isRefusedPlace(policy, place.host))
    throw (await reasons('untouched', call.signal)).requestProblem(policy, call, url);
}

/** Whether a payment header may go to a place. */
export function isSecure({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || isLoopback(hostname);
}
