import { getPublicKey, hashes, sign as signWith, verify as verifyWith } from '@noble/ed25519';
import { sha512 } from '../internal/sha2.js';

/**
 * Returns the public key of a seed, if many keys are needed: the first call is slow, and each later
 * call is five times as fast as `publicKeyOf`.
 */
export function publicKeyByTable(seed: Uint8Array): Uint8Array {
  bringHash();
  return getPublicKey(seed);
}

export function sign(message: Uint8Array, seed: Uint8Array): Uint8Array {
  bringHash();
  return signWith(message, seed);
}

/** Verifies as strictly as the network: rejects a key or signature that is not canonical. */
export function verify(signature: Uint8Array, message: Uint8Array, key: Uint8Array): boolean {
  bringHash();
  try {
    return verifyWith(signature, message, key, { zip215: false });
  } catch {
    return false;
  }
}

/**
 * Sets the hash that the library needs. Call it before each use: bundlers drop a module that only
 * sets a global.
 */
function bringHash(): void {
  hashes.sha512 = sha512;
}
