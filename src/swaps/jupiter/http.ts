import { ConfigError, TransportError } from '../../errors.js';
import { createHttp, type HttpOptions, type HttpPeer } from '../../internal/http.js';
import { isLoopback } from '../../internal/origin.js';
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

// Hosts that are switched off or soon will be; old examples still name them.
const DEAD_HOSTS: ReadonlySet<string> = new Set(['lite-api.jup.ag', 'quote-api.jup.ag']);

/**
 * Returns the base address without a slash at its end. Throws `invalid_option` for retired hosts,
 * plain http and addresses with a query.
 */
export function jupiterBase(baseUrl: string): string {
  let url: URL;
  try {
    url = new URL(baseUrl);
  } catch (cause) {
    throw refused('is not an address.', cause);
  }
  if (DEAD_HOSTS.has(url.hostname))
    throw refused(`names ${url.hostname}, which is being switched off. Use https://api.jup.ag.`);
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopback(url.hostname)))
    throw refused('must be an https address.');
  if (url.search !== '' || url.hash !== '')
    throw refused('must be a base address, without a query.');
  return url.href.replace(/\/+$/, '');
}

/** Returns the header of an API key; no header for a blank key, which Jupiter answers with 401. */
export function keyHeader(apiKey: string | undefined): Record<string, string> {
  const key = apiKey?.trim() ?? '';
  return key === '' ? {} : { 'x-api-key': key };
}

function refused(rule: string, cause?: unknown): ConfigError<'invalid_option'> {
  return new ConfigError('invalid_option', `Option jupiterUrl ${rule}`, {
    details: { option: 'jupiterUrl' },
    ...(cause === undefined ? {} : { cause }),
  });
}
