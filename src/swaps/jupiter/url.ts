import { ConfigError } from '../../errors.js';
import { isLoopback } from '../../internal/loopback.js';

// Gone or being switched off; old examples still name them.
const DEAD_HOSTS: ReadonlySet<string> = new Set(['lite-api.jup.ag', 'quote-api.jup.ag']);

/**
 * The base address without a slash at its end. Throws `invalid_option` for hosts that are gone,
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

/** The header of an API key; none for a blank one, which Jupiter would answer with 401. */
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
