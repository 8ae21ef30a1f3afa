import { TransportError, type ErrorInit } from '../../src/errors.js';
import type { HttpPeer } from '../../src/internal/http.js';
import type { Signed } from '../../src/transport.js';
import { errorOf, unusable } from '../../src/wire/problem.js';
import { problemOf } from './answer.js';

/**
 * Returns the errors for failures of a service. `sent` is what the request had signed: unless the
 * service tells a swap's end, it may still land.
 */
export function servicePeer(sent: Signed | undefined): HttpPeer {
  const isSent = sent !== undefined;
  const open = isSent ? ({ funds: 'uncertain', retry: 'same' } as const) : {};
  const advice = isSent ? 'What was signed may still land: send the same again' : 'Try again';
  const unavailable = (said: string, init: ErrorInit<'service_unavailable'>) =>
    new TransportError(
      'service_unavailable',
      `The service ${said}. ${advice}, and check its address.`,
      { ...init, ...open },
    );
  return {
    async failing(response, { attempts, retryAfterMs }) {
      const problem = await problemOf(response);
      if (problem !== undefined) return errorOf(problem, { sent });
      const { status } = response;
      if (status !== 429)
        return unavailable(`answered ${status} in ${times(attempts)}`, { details: { status } });
      const message = `The service is rate limiting this client. ${advice} in ${retryAfterMs} ms.`;
      return new TransportError('rate_limited', message, { details: { retryAfterMs }, ...open });
    },
    lost: (cause, attempts) =>
      unavailable(`gave no answer, or a redirect, in ${times(attempts)}`, {
        details: { status: 0 },
        cause,
      }),
    late(timeoutMs) {
      const message = `The service did not answer within ${timeoutMs} ms. ${advice}, or give it more time.`;
      return new TransportError('timeout', message, {
        details: { step: 'service', timeoutMs },
        ...open,
      });
    },
    tooLong: (limitBytes) => unusable(`it is longer than ${limitBytes} bytes`, sent),
    async isLasting(response) {
      const problem = await problemOf(response);
      return problem !== undefined && errorOf(problem, { sent }).retry === 'never';
    },
  };
}

function times(attempts: number): string {
  return attempts === 1 ? 'one attempt' : `${attempts} attempts`;
}
