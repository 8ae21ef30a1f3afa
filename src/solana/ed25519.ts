import { getPublicKey, hashes, sign as signWith, verify as verifyWith } from '@noble/ed25519';
import { sha512 } from '../internal/sha2.js';

/**
 * The public key that belongs to a seed, for many seeds: slow for the first, and five times as fast
 * as `publicKeyOf` for others.
 */
export function publicKeyByTable(seed: Uint8Array): Uint8Array {
  bringHash();
  return getPublicKey(seed);
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
  hashes.sha512 = sha512;
}
