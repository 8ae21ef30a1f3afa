import fc from 'fast-check';

/**
 * Draws any code point, lone surrogates too. The unit `binary` of fast-check draws the same set,
 * but each process first builds a table of 1.1 million code points, which takes seconds.
 */
const codePoint = fc
  .integer({ min: 0, max: 0x10_ffff })
  .map((code) => String.fromCodePoint(code), codeOf);

function codeOf(unit: unknown): number {
  const code = typeof unit === 'string' ? unit.codePointAt(0) : undefined;
  if (code === undefined || String.fromCodePoint(code) !== unit)
    throw new Error('It is not one code point.');
  return code;
}

/** Draws text of any characters; fast-check adds names such as `__proto__`. */
export function anyText(
  lengths: Pick<fc.StringConstraints, 'minLength' | 'maxLength'> = {},
): fc.Arbitrary<string> {
  return fc.string({ ...lengths, unit: codePoint });
}
