import { isLoopback, isRedirected } from '../../internal/origin.js';
import type { Call } from '../../internal/request.js';
import { isRefusedPlace } from '../../policy/check-payment.js';
import type { ListRules } from '../../policy/lists.js';
import { reasons } from '../on-demand.js';

/**
 * Throws if a call may not be paid at the URL that answered 402, whatever its terms are: the URL is
 * insecure, the policy refuses its host, or a request with a body was redirected.
 */
export async function checkRequest(
  policy: ListRules,
  call: Call,
  unpaid: Response | undefined,
  url: string,
): Promise<void> {
  const place = new URL(url);
  const isMoved =
    unpaid !== undefined &&
    isRedirected(unpaid, call.url) &&
    call.method !== 'GET' &&
    call.method !== 'HEAD';
  if (!isSecure(place) || isMoved || isRefusedPlace(policy, place.host))
    throw (await reasons(call.signal)).requestProblem(policy, call, url);
}

export function isSecure({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || isLoopback(hostname);
}
