import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeHeader, encodeHeader } from '../../../../src/protocols/x402/json.js';
import { anyText } from '../../../helpers/any-text.js';

const object = fc.dictionary(
  anyText({ maxLength: 8 }).filter(
    (name) => !['__proto__', 'constructor', 'prototype'].includes(name),
  ),
  anyText({ maxLength: 60 }),
  { noNullPrototype: true },
);
const urlSafe = (value: string) => value.replace(/\+/g, '-').replace(/\//g, '_');

describe('decodeHeader', () => {
  it('decodes the output of encodeHeader in every tolerated spelling', () => {
    fc.assert(
      fc.property(object, (value) => {
        const header = encodeHeader(value);
        const spellings = [
          header,
          urlSafe(header),
          header.replace(/=+$/, ''),
          urlSafe(header).replace(/=+$/, ''),
          ` ${header}\t`,
        ];
        for (const spelling of spellings) expect(decodeHeader(spelling)).toStrictEqual(value);
        expect(decodeHeader(Buffer.from(JSON.stringify(value)).toString('latin1'))).toStrictEqual(
          value,
        );
      }),
    );
  });

  it('decodes raw JSON that is text and not bytes', () => {
    expect(decodeHeader('{"a":"支払い"}')).toEqual({ a: '支払い' });
    expect(decodeHeader('{"a":"é"}')).toEqual({ a: 'é' });
  });

  it('rejects two headers that were joined', () => {
    fc.assert(
      fc.property(object, object, (a, b) => {
        expect(decodeHeader(`${encodeHeader(a)}, ${encodeHeader(b)}`)).toBeUndefined();
      }),
    );
  });

  it('never throws, and returns only objects', () => {
    fc.assert(
      fc.property(fc.oneof(anyText(), fc.base64String()), (value) => {
        const decoded = decodeHeader(value);
        expect(
          decoded === undefined || (typeof decoded === 'object' && !Array.isArray(decoded)),
        ).toBe(true);
      }),
    );
  });

  it('rejects megabytes without decoding them', () => {
    expect(decodeHeader('A'.repeat(10_000_000))).toBeUndefined();
    expect(decodeHeader(`{"a":"${'x'.repeat(10_000_000)}"}`)).toBeUndefined();
  });
});

describe('encodeHeader', () => {
  it('returns padded standard base64 of UTF-8', () => {
    fc.assert(
      fc.property(object, (value) => {
        expect(encodeHeader(value)).toBe(Buffer.from(JSON.stringify(value)).toString('base64'));
        expect(encodeHeader(value)).toMatch(/^[A-Za-z0-9+/]*={0,2}$/);
      }),
    );
  });
});
