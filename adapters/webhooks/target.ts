import { refuse } from '../../src/internal/options.js';
import { parseUrl } from '../../src/internal/parse.js';
import { readAddress, whyNotPublic } from './addresses.js';

/** Rules for the addresses of endpoints. */
export interface TargetRules {
  /** Allows loopback, private addresses, `http:` and every port, for tests. */
  readonly allowPrivate: boolean;
  readonly ports: readonly number[];
}

const MAX_URL = 2_048;
const LABEL = /^(?!-)[a-z0-9_-]{1,63}(?<!-)$/;

/** Last labels of host names that are never public, and why. */
const PRIVATE_NAMES: readonly (readonly [end: string, why: string])[] = [
  ['localhost', 'this machine (RFC 6761)'],
  ['local', 'the network at hand (RFC 6762)'],
  ['internal', 'private use (ICANN, 2024); metadata of Google Cloud'],
  ['home.arpa', 'home networks (RFC 8375)'],
  ['lan', 'routers call what is behind them so'],
  ['home', 'never given out for public use'],
  ['corp', 'never given out for public use'],
  ['mail', 'never given out for public use'],
  ['intranet', 'networks of companies'],
  ['private', 'networks of companies'],
  ['test', 'tests (RFC 6761)'],
  ['example', 'documentation (RFC 6761)'],
  ['invalid', 'never there (RFC 6761)'],
  ['onion', 'not in DNS (RFC 7686)'],
  ['alt', 'not in DNS (RFC 9476)'],
];

/**
 * Reads the URL of an endpoint. Each delivery checks the addresses that its host name resolves to.
 * Throws `ConfigError` (`invalid_option`, `url`).
 */
export function readTarget(text: unknown, { allowPrivate, ports }: TargetRules): URL {
  if (typeof text !== 'string' || text.length > MAX_URL)
    throw refuse('url', `must be an address of at most ${MAX_URL} characters.`);
  // `URL` would drop some of these characters, or treat them as a slash.
  if (/[\s\p{Cc}\\]/u.test(text))
    throw refuse('url', 'must not hold spaces, control characters or backslashes.');
  const url = parseUrl(text);
  if (
    url === undefined ||
    !(url.protocol === 'https:' || (allowPrivate && url.protocol === 'http:'))
  )
    throw refuse('url', 'must be an absolute https: address.');
  // Match any number of slashes, because `URL` adds missing slashes.
  if (/^[a-z]+:\/*[^/?#]*@/i.test(text))
    throw refuse(
      'url',
      'must not hold a name or a password. Put a token into its path, or check the signature.',
    );
  if (text.includes('#')) throw refuse('url', 'must not have a fragment: it would not be sent.');
  if (!allowPrivate && !ports.includes(portOf(url)))
    throw refuse('url', `must be of port ${ports.join(' or ')}.`);
  // Each delivery reads the escaped form, which may be longer than the text.
  if (url.href.length > MAX_URL)
    throw refuse('url', `must be an address of at most ${MAX_URL} characters, with its escapes.`);
  const why = allowPrivate ? undefined : whyNotPublicHost(url.hostname);
  if (why !== undefined)
    throw refuse('url', `must lead outside, to a public name or address. Its host is not: ${why}.`);
  return url;
}

/** Returns the numeric address of a URL's host; undefined if the host is a name. */
export function literalOf({ hostname }: URL): string | undefined {
  const text = hostname.replace(/^\[(.*)\]$/, '$1');
  return readAddress(text) === undefined ? undefined : text;
}

/**
 * Returns why a host is not public; undefined if it may be. `URL` has already normalized every
 * notation: decimal, octal and hexadecimal numbers, full-width letters, escapes.
 */
function whyNotPublicHost(hostname: string): string | undefined {
  if (hostname.startsWith('[') || readAddress(hostname) !== undefined)
    return whyNotPublic(hostname.replace(/^\[(.*)\]$/, '$1'));
  const labels = hostname.split('.');
  if (labels.length < 2) return 'a name without a dot is one of the network at hand';
  if (hostname.length > 253 || !labels.every((label) => LABEL.test(label)))
    return 'no name of the internet is spelt like that';
  return PRIVATE_NAMES.find(([end]) => hostname === end || hostname.endsWith(`.${end}`))?.[1];
}

function portOf({ port, protocol }: URL): number {
  return port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port);
}
