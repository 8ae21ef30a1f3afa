import fc from 'fast-check';
import { expect, it } from 'vitest';
import { decodeUtf8 } from '../../../src/internal/utf8.js';

/** Bytes that are UTF-8, nearly UTF-8, or any; some with a byte order mark. */
const bytes = fc
  .array(
    fc.oneof(
      fc.constantFrom('\ufffd', '\ufeff', 'a', '\u{1f512}').map((text) => Buffer.from(text)),
      fc.constantFrom([0xef], [0xbf], [0xbd], [0xbb], [0xc0, 0x80], [0xed, 0xa0, 0x80]),
      fc.uint8Array({ maxLength: 3 }),
    ),
    { maxLength: 6 },
  )
  .map((parts) => Uint8Array.from(parts.flatMap((part) => [...part])));

it('decodes as a fatal decoder does', () => {
  const fatal = new TextDecoder('utf-8', { fatal: true });
  fc.assert(
    fc.property(bytes, (some) => {
      let expected: string | undefined;
      try {
        expected = fatal.decode(some);
      } catch {
        expect(() => decodeUtf8(some)).toThrow(TypeError);
        return;
      }
      expect(decodeUtf8(some)).toBe(expected);
    }),
    { numRuns: 5_000 },
  );
});
