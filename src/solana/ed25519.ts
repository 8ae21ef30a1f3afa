import {
  getPublicKey,
  hashes,
  Point,
  sign as signWith,
  verify as verifyWith,
} from '@noble/ed25519';
import { sha512 } from '@noble/hashes/sha2';

/** The public key that belongs to a seed of 32 bytes: RFC 8032, 5.1.5. */
export function publicKeyOf(seed: Uint8Array): Uint8Array {
  const digest = sha512(seed).subarray(0, 32);
  const clamped = Uint8Array.from(digest, (byte, at) =>
    at === 0 ? byte & 248 : at === 31 ? (byte & 127) | 64 : byte,
  );
  const scalar = clamped.reduceRight((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
  // Half as much of twice the base point, which is the same: of the base point itself the library
  // makes tables for many keys first, which takes ten times as long as one key does.
  return Point.BASE.double()
    .multiply((scalar / 2n) % Point.CURVE().n)
    .toBytes();
}

/** As {@link publicKeyOf}, for many seeds: slow for the first, and five times as fast for others. */
export function publicKeyByTable(seed: Uint8Array): Uint8Array {
  bringHash();
  return getPublicKey(seed);
}

/** Whether 32 bytes are a point: then they may be the key of a wallet, and of no program. */
export function isOnCurve(key: Uint8Array): boolean {
  try {
    Point.fromBytes(key);
    return true;
  } catch {
    return false;
  }
}

/** Whether it is a point that has only its own signatures: some have those of any message. */
export function isStrictKey(key: Uint8Array): boolean {
  return isOnCurve(key) && !Point.fromBytes(key).isSmallOrder();
}

export function sign(message: Uint8Array, seed: Uint8Array): Uint8Array {
  bringHash();
  return signWith(message, seed);
}

/** As strictly as the network: a key or signature that is not in its one spelling is refused. */
export function verify(signature: Uint8Array, message: Uint8Array, key: Uint8Array): boolean {
  bringHash();
  try {
    return verifyWith(signature, message, key, { zip215: false });
  } catch {
    return false;
  }
}

/** The library has none. Before each use: a module that only sets something gets dropped by bundlers. */
function bringHash(): void {
  hashes.sha512 = (message) => Uint8Array.from(sha512(message));
}
