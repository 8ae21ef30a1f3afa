import { ProtocolError, type ExactChangeError } from '../../errors.js';
import { refuse } from '../../internal/options.js';
import type { Call } from '../../internal/request.js';
import type { ListRules } from '../../policy/lists.js';
import { checkPlace } from '../../policy/refusals.js';
import { mayPayAt } from './check-request.js';

/**
 * Parses a URL. Throws `insecure_origin` if no payment header may be sent to it. The message leaves
 * the origin out, because a redirecting seller may have chosen it.
 */
export function checkOrigin(url: string): URL {
  const place = new URL(url);
  if (mayPayAt(place)) return place;
  const { origin, username, password } = place;
  if (username + password !== '') throw refuse('url', 'must hold no user name or password.');
  throw new ProtocolError(
    'insecure_origin',
    "The place that asks for payment is not https, so a payment sent there could be stolen. Use the seller's https address; details.origin is the one that asked.",
    { details: { origin } },
  );
}

/**
 * @param isReadable - Whether the answer's body is a web stream. Of a stream of Node, as of
 *   node-fetch, the client could not tell when it is delivered, nor read the answers of a node.
 */
export function requestProblem(
  policy: ListRules,
  { method }: Call,
  url: string,
  isReadable: boolean,
): ExactChangeError {
  if (!isReadable)
    return refuse(
      'fetch',
      'or the global fetch gives bodies that are no web streams, as node-fetch does. Use the fetch of the runtime, or of undici.',
    );
  return (
    checkPlace(policy, checkOrigin(url).host) ??
    new ProtocolError(
      'unsupported_offer',
      `The ${method} was redirected before it was answered with 402, and its method may have changed on the way. Send it to its final address directly.`,
      { details: { reason: 'redirected with a body' } },
    )
  );
}
