import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { sha256, sha512 } from '../../../src/internal/sha2.js';

const hashes = [
  ['sha256', sha256],
  ['sha512', sha512],
] as const;

it.each(hashes)('computes %s as Node does, around each end of a block', (name, hash) => {
  for (let length = 0; length <= 300; length += 1) {
    const message = Uint8Array.from({ length }, (_, at) => (at * 151 + length) & 255);
    expect(Buffer.from(hash(message))).toEqual(createHash(name).update(message).digest());
  }
});

it.each(hashes)('computes %s as Node does for any message', (name, hash) => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 5_000 }), (message) => {
      const copy = message.slice();
      expect(Buffer.from(hash(message))).toEqual(createHash(name).update(message).digest());
      expect(message).toEqual(copy);
    }),
  );
});

it('hashes only its part of a larger buffer', () => {
  const message = Uint8Array.from({ length: 200 }, (_, at) => at).subarray(50, 150);
  expect(Buffer.from(sha256(message))).toEqual(createHash('sha256').update(message).digest());
});

it('hashes a body of several megabytes', () => {
  const message = new Uint8Array(2 ** 22).fill(7);
  expect(Buffer.from(sha256(message))).toEqual(createHash('sha256').update(message).digest());
});
