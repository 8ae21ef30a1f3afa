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
  it('reads back what encodeHeader writes, in every spelling that is tolerated', () => {
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

  it('reads raw JSON that was never bytes', () => {
    expect(decodeHeader('{"a":"支払い"}')).toEqual({ a: '支払い' });
    expect(decodeHeader('{"a":"é"}')).toEqual({ a: 'é' });
  });

  it('refuses joined duplicates', () => {
    fc.assert(
      fc.property(object, object, (a, b) => {
        expect(decodeHeader(`${encodeHeader(a)}, ${encodeHeader(b)}`)).toBeUndefined();
      }),
    );
  });

  it('never throws, and gives objects alone', () => {
    fc.assert(
      fc.property(fc.oneof(anyText(), fc.base64String()), (value) => {
        const decoded = decodeHeader(value);
        expect(
          decoded === undefined || (typeof decoded === 'object' && !Array.isArray(decoded)),
        ).toBe(true);
      }),
    );
  });

  it('refuses megabytes without decoding them', () => {
    expect(decodeHeader('A'.repeat(10_000_000))).toBeUndefined();
    expect(decodeHeader(`{"a":"${'x'.repeat(10_000_000)}"}`)).toBeUndefined();
  });
});

describe('encodeHeader', () => {
  it('writes padded standard base64 of UTF-8', () => {
    fc.assert(
      fc.property(object, (value) => {
        expect(encodeHeader(value)).toBe(Buffer.from(JSON.stringify(value)).toString('base64'));
        expect(encodeHeader(value)).toMatch(/^[A-Za-z0-9+/]*={0,2}$/);
      }),
    );
  });
});
