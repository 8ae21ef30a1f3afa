import { TransportError } from '../../errors.js';
import { clusterOf } from '../../network.js';
import { PUBLIC, type Fault } from './fault.js';

/** Milliseconds to wait after a rate limit that does not say how long it lasts. */
const DEFAULT_RETRY_MS = 1_000;

// The limits for one address that the operator of the public nodes publishes (November 2026).
const PUBLIC_LIMITS =
  ' The public node serves one address about 100 requests in 10 seconds, 40 of them of one method: for more, set an rpcUrl of your own.';

/** Converts a fault to the caller's error. A service hides the host: see `wire/problem.ts`. */
export function toTransportError(fault: Fault, method: string, timeoutMs: number): TransportError {
  const node = fault.host === undefined ? 'The RPC node' : `The RPC node (${fault.host})`;
  const limits = PUBLIC.test(fault.host ?? '') ? PUBLIC_LIMITS : '';
  const { kind, reason, said, cause, networks, retryAfterMs = DEFAULT_RETRY_MS } = fault;
  const init = {
    ...(cause === undefined ? {} : { cause }),
    ...(said === undefined ? {} : { untrusted: { rpc: said } }),
  };
  switch (kind) {
    case 'rate_limited':
      return new TransportError(
        'rate_limited',
        `${node} limits how often it is asked (${method}); try again in ${retryAfterMs} ms, or set another rpcUrl.${limits}`,
        { ...init, details: { retryAfterMs } },
      );
    case 'timeout':
      return new TransportError(
        'timeout',
        `${node} did not answer ${method} within ${timeoutMs} ms; try again, or set another rpcUrl.`,
        {
          ...init,
          details: { step: method, timeoutMs },
        },
      );
    case 'invalid':
      return new TransportError(
        'invalid_response',
        `${node} gave an answer to ${method} that cannot be used: ${reason}; set another rpcUrl.`,
        {
          ...init,
          details: { service: 'rpc', reason },
        },
      );
    case 'foreign': {
      const { expected, actual } = networks ?? { expected: '', actual: '' };
      return wrongNetwork(expected, actual, node);
    }
    default:
      return new TransportError(
        'rpc_unavailable',
        `${node} did not serve ${method}: ${reason}; try again, or set another rpcUrl.${limits}`,
        {
          ...init,
          details: { method },
        },
      );
  }
}

export function wrongNetwork(
  expected: string,
  actual: string,
  node = 'The RPC node',
): TransportError {
  return new TransportError(
    'rpc_wrong_network',
    `${node} serves ${clusterOf(actual)}, but the client is set to ${clusterOf(expected)}. Correct rpcUrl or network.`,
    { details: { expected, actual } },
  );
}
