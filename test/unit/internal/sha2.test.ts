import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { sha256, sha512 } from '../../../src/internal/sha2.js';

// As text, because a comparison of bytes takes longer than the hash.
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
const hashes = [
  ['sha256', sha256],
  ['sha512', sha512],
] as const;

it.each(hashes)('computes %s as Node does, around each end of a block', (name, hash) => {
  for (let length = 0; length <= 300; length += 1) {
    const message = Uint8Array.from({ length }, (_, at) => (at * 151 + length) & 255);
    expect(hex(hash(message))).toBe(createHash(name).update(message).digest('hex'));
  }
});

it.each(hashes)('computes %s as Node does for any message', (name, hash) => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 5_000 }), (message) => {
      const copy = message.slice();
      expect(hex(hash(message))).toBe(createHash(name).update(message).digest('hex'));
      expect(message).toEqual(copy);
    }),
  );
});

it('hashes only its part of a larger buffer', () => {
  const message = Uint8Array.from({ length: 200 }, (_, at) => at).subarray(50, 150);
  expect(hex(sha256(message))).toBe(createHash('sha256').update(message).digest('hex'));
});

it('hashes a body of several megabytes', () => {
  const message = new Uint8Array(2 ** 22).fill(7);
  expect(hex(sha256(message))).toBe(createHash('sha256').update(message).digest('hex'));
});
