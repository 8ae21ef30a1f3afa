import { crypto } from '@noble/hashes/crypto';

/** From the runtime's own source. Node 16 and 18 have it, but no global crypto. */
export function randomBytes(length: number): Uint8Array<ArrayBuffer> {
  return (crypto as Crypto).getRandomValues(new Uint8Array(length)); // Declared as any.
}
