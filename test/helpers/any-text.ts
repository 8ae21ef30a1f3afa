import fc from 'fast-check';

/**
 * Any code point, half surrogate pairs too. The unit `binary` of fast-check draws the same, but it
 * first makes a table of all 1.1 million in each process, which takes seconds.
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

/** Text of any characters, with names such as `__proto__` among them. */
export function anyText(
  lengths: Pick<fc.StringConstraints, 'minLength' | 'maxLength'> = {},
): fc.Arbitrary<string> {
  return fc.string({ ...lengths, unit: codePoint });
}
