import { isStream } from '../../internal/kept-body.js';
import { isLoopback, isRedirected } from '../../internal/origin.js';
import type { Call } from '../../internal/request.js';
import { isRefusedPlace } from '../../policy/check-payment.js';
import type { ListRules } from '../../policy/lists.js';
import { reasons } from '../on-demand.js';

/**
 * Throws if a call may not be paid at the URL that answered 402, whatever its terms are: the URL is
 * insecure, the policy refuses its host, a request with a body was redirected, or the body of the
 * 402 is no web stream.
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
  const isReadable = !unpaid?.body || isStream(unpaid.body);
  if (!mayPayAt(place) || isMoved || !isReadable || isRefusedPlace(policy, place.host))
    throw (await reasons(call.signal)).requestProblem(policy, call, url, isReadable);
}

/** Whether a payment may go to a URL. Bun and Deno take a password, which records would keep. */
export function mayPayAt({ protocol, hostname, username, password }: URL): boolean {
  return (protocol === 'https:' || isLoopback(hostname)) && username + password === '';
}
