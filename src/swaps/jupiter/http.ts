import { TransportError } from '../../errors.js';
import { createHttp, type HttpOptions, type HttpPeer } from '../../internal/http.js';
import { invalidAnswer } from './answer.js';

const JUPITER: HttpPeer = {
  failing({ status }, { attempts, retryAfterMs }) {
    if (status !== 429)
      return unavailable(
        `Jupiter answered ${status} in ${attempts} attempts. Try again later.`,
        status,
      );
    return rateLimited(retryAfterMs);
  },
  lost: (cause, attempts) =>
    unavailable(
      `Jupiter could not be reached in ${attempts} attempts. Try again, and check jupiterUrl.`,
      0,
      { cause },
    ),
  late(timeoutMs, attempts) {
    const message = `Jupiter did not answer within ${timeoutMs} ms, ${attempts} times. Try again, or raise timeouts.jupiter.`;
    return new TransportError('timeout', message, { details: { step: 'jupiter', timeoutMs } });
  },
  tooLong: (limitBytes) => invalidAnswer(`the answer is longer than ${limitBytes} bytes`),
};

/**
 * Creates a fetch for Jupiter: see {@link createHttp}. Only for requests that change nothing,
 * because it repeats them. Rejects with `rate_limited`, `jupiter_unavailable`, `timeout` or
 * `invalid_response`, or with the reason of the caller's signal.
 */
export function createJupiterHttp(options: Omit<HttpOptions, 'peer'>): typeof fetch {
  return createHttp({ ...options, peer: JUPITER });
}

export function rateLimited(retryAfterMs: number): TransportError<'rate_limited'> {
  const message = `Jupiter is rate limiting this client. Wait ${retryAfterMs} ms, or set jupiterApiKey.`;
  return new TransportError('rate_limited', message, { details: { retryAfterMs } });
}

function unavailable(
  message: string,
  status: number,
  more: { readonly cause?: unknown } = {},
): TransportError<'jupiter_unavailable'> {
  return new TransportError('jupiter_unavailable', message, { details: { status }, ...more });
}

export function keyHeader(apiKey: string | undefined): Record<string, string> {
  return apiKey === undefined ? {} : { 'x-api-key': apiKey };
}
