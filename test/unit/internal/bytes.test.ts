import * as scure from '@scure/base';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { base58, base64, base64url, hex } from '../../../src/internal/bytes.js';

/** Bytes with zeros and 255 at both ends, where carries and padding occur. */
const bytes = fc
  .tuple(
    fc.array(fc.constantFrom(0, 255), { maxLength: 4 }),
    fc.array(fc.integer({ min: 0, max: 255 }), { maxLength: 80 }),
    fc.array(fc.constantFrom(0, 255), { maxLength: 4 }),
  )
  .map((parts) => Uint8Array.from(parts.flat()));

describe.each([
  ['base58', base58, scure.base58],
  ['base64', base64, scure.base64],
  ['base64url', base64url, scure.base64url],
  ['hex', hex, scure.hex],
])('the encoding %s', (_, ours, theirs) => {
  it('encodes as @scure/base does, and decodes its own text', () => {
    fc.assert(
      fc.property(bytes, (value) => {
        const text = ours.encode(value);
        expect(text).toBe(theirs.encode(value));
        expect(ours.decode(text)).toEqual(value);
      }),
      { numRuns: 1_000 },
    );
  });

  it('refuses every text that it does not write, as @scure/base does', () => {
    const text = fc.string({ unit: fc.constantFrom(...'0ABab1+/=-_zlIO \u00e9'), maxLength: 13 });
    const read = (decode: (text: string) => Uint8Array, value: string) => {
      try {
        return [...decode(value)];
      } catch {
        return 'refused';
      }
    };
    fc.assert(
      fc.property(text, (value) => {
        // Hex is written in lower case only.
        const expected =
          ours === hex && /[A-F]/.test(value) ? 'refused' : read(theirs.decode, value);
        expect(read(ours.decode, value)).toEqual(expected);
      }),
      { numRuns: 1_000 },
    );
  });
});
