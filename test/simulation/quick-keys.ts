import { createPublicKey, verify as verifyByNode } from 'node:crypto';

export { getPublicKey, hashes, Point, sign } from '@noble/ed25519';

const PREFIX = Buffer.from('302a300506032b6570032100', 'hex');

/** Checks signatures with `node:crypto`; the pure package provides the other exports. */
export function verify(signature: Uint8Array, message: Uint8Array, key: Uint8Array): boolean {
  return verifyByNode(
    null,
    message,
    createPublicKey({ key: Buffer.concat([PREFIX, key]), format: 'der', type: 'spki' }),
    signature,
  );
}
