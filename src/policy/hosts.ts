import { refuse } from '../internal/options.js';

/** A host as `URL` gives it, without the trailing dot that names the same place. */
export function plainHost(host: string): string {
  return host.replace(/\.(?=:[0-9]+$|$)/, '');
}

/** A host as `URL` gives it, without dot and port. */
export function portless(host: string): string {
  return plainHost(host).replace(/:[0-9]+$/, '');
}

/**
 * Letters, digits, dots and a port; or an IPv6 address. Neither wildcards nor anything that is more
 * than a host.
 */
const HOST =
  /^(?:[\p{L}\p{N}\p{M}_-]+(?:\.[\p{L}\p{N}\p{M}_-]+)*\.?|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?$/iu;

/**
 * A host as the caller names it, in the form in which addresses show it. Throws `ConfigError`
 * (`invalid_option`).
 */
export function readHost(option: string, host: unknown): string {
  try {
    if (typeof host === 'string' && HOST.test(host))
      return plainHost(new URL(`https://${host}`).host);
  } catch {
    // refused below, with the option's name
  }
  throw refuse(option, 'must be named by a host such as "api.example.com".');
}

/**
 * As {@link readHost}, for a list: `*.example.com` is `.example.com`. Throws `ConfigError`
 * (`invalid_option`).
 */
export function readListedHost(option: string, host: unknown): string {
  const text = typeof host === 'string' ? host : '';
  // An address does not show the port of its scheme: such an entry would allow more, or deny less,
  // than it says.
  if (/:0*(?:80|443)$/.test(text))
    throw refuse(
      option,
      'must leave out the ports 80 and 443. Without a port a host stands for all its ports.',
    );
  return /^\*\../.test(text)
    ? readHost(option, `x${text.slice(1)}`).slice(1)
    : readHost(option, host);
}
