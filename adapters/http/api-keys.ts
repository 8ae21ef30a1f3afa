import { sha256 } from '../../src/internal/sha2.js';
import { refuse } from '../../src/internal/options.js';

const KEY = /^[\x21-\x7e]{16,256}$/;
const BEARER = /^bearer +/i;

/**
 * Creates an `authorize` hook for a list of API keys, sent as `Authorization: Bearer <key>` or
 * `x-api-key: <key>`. The hook compares all bytes of the digests of all keys, so that the time tells
 * nothing about a key.
 *
 * Throws `ConfigError` (`invalid_option`) if there is no key, or if a key is not 16 to 256
 * characters of visible ASCII.
 *
 * @example
 * const handler = createHandler(local(), { authorize: apiKeys([process.env.API_KEY ?? '']) });
 */
export function apiKeys(keys: readonly string[]): (request: Request) => boolean {
  if (!Array.isArray(keys) || keys.length === 0)
    throw refuse('apiKeys', 'must be a list of at least one key.');
  if (!keys.every((key: unknown) => typeof key === 'string' && KEY.test(key))) {
    throw refuse('apiKeys', 'must hold keys of 16 to 256 visible ASCII characters.');
  }
  const knownDigests = keys.map(digest);
  return ({ headers }) => {
    const sentKey = headers.get('x-api-key') ?? bearer(headers.get('authorization'));
    if (sentKey === undefined || sentKey.length > 256) return false;
    const sentDigest = digest(sentKey);
    return knownDigests.map((known) => isEqual(known, sentDigest)).includes(true);
  };
}

function bearer(authorization: string | null): string | undefined {
  return authorization !== null && BEARER.test(authorization)
    ? authorization.replace(BEARER, '').trim()
    : undefined;
}

function digest(key: string): Uint8Array {
  return sha256(new TextEncoder().encode(key));
}

/** Compares two digests in constant time. */
function isEqual(a: Uint8Array, b: Uint8Array): boolean {
  return a.reduce((difference, byte, index) => difference | (byte ^ (b[index] ?? 0)), 0) === 0;
}
