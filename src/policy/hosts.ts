import { refuse } from '../internal/options.js';
import { parseUrl } from '../internal/parse.js';

/** Returns a host, as `URL` gives it, without its trailing dot: with it, the host is the same. */
export function plainHost(host: string): string {
  return host.replace(/\.(?=:[0-9]+$|$)/, '');
}

/** Returns a host, as `URL` gives it, without its trailing dot and its port. */
export function portless(host: string): string {
  return plainHost(host).replace(/:[0-9]+$/, '');
}

/**
 * Letters, digits, dots and a port; or an IPv6 address. No wildcard, and no other part of an
 * address.
 */
const HOST =
  /^(?:[\p{L}\p{N}\p{M}_-]+(?:\.[\p{L}\p{N}\p{M}_-]+)*\.?|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?$/iu;

/**
 * Reads a host that the caller names, into the form that addresses show. Throws `ConfigError`
 * (`invalid_option`).
 */
export function readHost(option: string, host: unknown): string {
  const url = typeof host === 'string' && HOST.test(host) ? parseUrl(`https://${host}`) : undefined;
  if (url === undefined) throw refuse(option, 'must be named by a host such as "api.example.com".');
  return plainHost(url.host);
}

/**
 * As {@link readHost}, for a list: `*.example.com` becomes `.example.com`. Throws `ConfigError`
 * (`invalid_option`).
 */
export function readListedHost(option: string, host: unknown): string {
  const text = typeof host === 'string' ? host : '';
  // An address does not show the default port of its scheme, so such an entry would allow more, or
  // deny less, than it says.
  if (/:0*(?:80|443)$/.test(text))
    throw refuse(
      option,
      'must leave out the ports 80 and 443. Without a port a host stands for all its ports.',
    );
  return /^\*\../.test(text)
    ? readHost(option, `x${text.slice(1)}`).slice(1)
    : readHost(option, host);
}
