import { base64 } from '../../src/internal/bytes.js';
import { Webhook } from 'standardwebhooks';

const PREFIX = 'whsec_';
const MIN_KEY_BYTES = 24;
const MAX_KEY_BYTES = 64;
const MAX_SECRET = 128;

/**
 * Returns the signature of a message: the HMAC of its id, time in seconds and body, as in Standard
 * Webhooks (version `v1`).
 */
export function signatureOf(secret: string, id: string, seconds: number, body: string): string {
  return new Webhook(secret).sign(id, new Date(seconds * 1000), body);
}

/** Returns a key as the secret that callers see: `whsec_` and base64. */
export function secretOf(key: Uint8Array): string {
  return PREFIX + base64.encode(key);
}

/**
 * Whether a value is a secret that Standard Webhooks allow: 24 to 64 bytes in base64, with or
 * without the prefix.
 */
export function isSecret(secret: unknown): secret is string {
  if (typeof secret !== 'string' || secret.length > MAX_SECRET) return false;
  try {
    const { length } = base64.decode(
      secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret,
    );
    return length >= MIN_KEY_BYTES && length <= MAX_KEY_BYTES;
  } catch {
    return false;
  }
}

/** Whether two signatures are equal. It takes the same time wherever they differ. */
export function isSame(a: string, b: string): boolean {
  if (a.length !== b.length) return false;
  let difference = 0;
  for (let at = 0; at < a.length; at += 1) difference |= a.charCodeAt(at) ^ b.charCodeAt(at);
  return difference === 0;
}
