import { ed25519 } from '@noble/curves/ed25519.js';
import { sha512 } from '@noble/hashes/sha2';

/**
 * Signs a message with another nonce than Ed25519 prescribes. The result is a second valid
 * signature of the same key for the same message.
 *
 * @param secret - The 64 bytes of the key.
 */
export function signAnew(message: Uint8Array, secret: Uint8Array): Uint8Array {
  const { scalar, pointBytes } = ed25519.utils.getExtendedPublicKey(secret.subarray(0, 32));
  const n = ed25519.Point.Fn.ORDER;
  const nonce = 12_345_678_901_234_567_890n;
  const point = ed25519.Point.BASE.multiply(nonce).toBytes();
  const digest = sha512(Buffer.concat([point, pointBytes, message]));
  const challenge = BigInt(`0x${Buffer.from(digest).reverse().toString('hex')}`) % n;
  const s = (nonce + challenge * scalar) % n;
  const bytes = Buffer.from(s.toString(16).padStart(64, '0'), 'hex').reverse();
  return Uint8Array.from(Buffer.concat([point, bytes]));
}
