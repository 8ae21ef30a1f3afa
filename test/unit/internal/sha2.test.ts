import fc from 'fast-check';
import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { sha512 } from '../../../src/internal/sha512.js';
import { sha256 } from '../../../src/internal/sha256.js';

const hashOf = (name: string, message: Uint8Array) =>
  createHash(name).update(message).digest('hex');
const text = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

it.each([
  ['sha256', sha256],
  ['sha512', sha512],
])("%s is Node's, for each length around a block and any message", (name, hash) => {
  for (let length = 0; length < 300; length += 1) {
    const message = Uint8Array.from({ length }, (_, at) => (at * 151 + length) & 0xff);
    expect(text(hash(message))).toBe(hashOf(name, message));
  }
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 600, size: 'max' }), (message) => {
      expect(text(hash(message))).toBe(hashOf(name, message));
    }),
    { numRuns: 500 },
  );
});

it('a megabyte has the hash that Node gives it', () => {
  const message = Uint8Array.from({ length: 2 ** 20 + 5 }, (_, at) => (at * at) & 0xff);
  expect(text(sha256(message))).toBe(hashOf('sha256', message));
});
