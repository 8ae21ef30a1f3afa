import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { copyJson, fieldsOf, JSON_LIMITS, readJson } from '../../../../src/protocols/x402/json.js';
import { anyText } from '../../../helpers/any-text.js';

const FORBIDDEN = ['__proto__', 'constructor', 'prototype'];
const MONEY = ['amount', 'maxAmountRequired'];
const key = fc.oneof(
  anyText({ maxLength: 8 }).filter((text) => ![...FORBIDDEN, 'accepts'].includes(text)),
  fc.constantFrom(...MONEY),
);
const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', maxDepth: 6 },
    fc.constantFrom(null, true, false),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.integer(),
    anyText(),
    tie('list'),
    tie('object'),
  ),
  list: fc.array(tie('value'), { maxLength: 5 }),
  object: fc.dictionary(key, tie('value'), { maxKeys: 5, noNullPrototype: true }),
})).value;

const valueOf = (text: string) => {
  const read = readJson(text);
  return read.ok ? read.value : undefined;
};
const isDeeplyFrozen = (value: unknown): boolean =>
  typeof value !== 'object' ||
  value === null ||
  (Object.isFrozen(value) && Object.values(value).every(isDeeplyFrozen));

describe('readJson', () => {
  it('agrees with JSON.parse on all JSON within the bounds, and freezes the value', () => {
    fc.assert(
      fc.property(json, fc.constantFrom('', ' ', '\t', '\n  '), (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        expect(valueOf(text)).toStrictEqual(JSON.parse(text));
        expect(isDeeplyFrozen(valueOf(text))).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  it('accepts only JSON within the bounds without repeated or prototype keys, and keeps prices as written', () => {
    const anyKey = fc.oneof(
      { weight: 5, arbitrary: fc.constantFrom('accepts', ...MONEY, 'a', '1') },
      fc.constantFrom(...FORBIDDEN),
    );
    const number = fc.oneof(fc.integer(), fc.double(), fc.constantFrom(1e21, 2 ** 53, -1, 0.1));
    const text = fc.oneof(anyText(), fc.constantFrom('a'.repeat(4_097), '"amount":1.5', '\\":'));
    const deep = fc.letrec((tie) => ({
      value: fc.oneof({ maxDepth: 18 }, number, text, tie('list'), tie('object')),
      list: fc.array(tie('value'), { maxLength: 2 }),
      object: fc.record({
        members: fc.array(fc.tuple(anyKey, fc.boolean(), tie('value')), {
          minLength: 1,
          maxLength: 3,
        }),
      }),
    })).value;
    type Member = readonly [key: string, isEscaped: boolean, value: unknown];
    // An object is a list of members, so that a key may repeat.
    const membersOf = (value: unknown): readonly Member[] | undefined =>
      typeof value === 'object' && value !== null && 'members' in value
        ? (value.members as readonly Member[]) // as it is made above
        : undefined;
    const escaped = (key: string) =>
      `"${[...key].map((letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')}"`;
    const write = (value: unknown, space: string): string => {
      const members = membersOf(value)?.map(
        ([key, isEscaped, member]) =>
          `${isEscaped ? escaped(key) : JSON.stringify(key)}${space}:${space}${write(member, space)}`,
      );
      if (members !== undefined) return `{${members.join(`${space},`)}${space}}`;
      return Array.isArray(value)
        ? `[${value.map((item) => write(item, space)).join(`,${space}`)}]`
        : JSON.stringify(value);
    };
    /** The value that must be read; throws if the text must be refused. */
    const meaning = (value: unknown, path = '$'): unknown => {
      const depth = path.split('.').length;
      if (typeof value === 'object' && depth > JSON_LIMITS.depth) throw new Error('too deep');
      const members = membersOf(value);
      if (members !== undefined) {
        const keys = members.map(([name]) => name);
        if (new Set(keys).size < keys.length || keys.some((name) => FORBIDDEN.includes(name)))
          throw new Error('a key');
        return Object.fromEntries(
          members.map(([name, , member]) => [name, meaning(member, `${path}.${name}`)]),
        );
      }
      if (Array.isArray(value)) return value.map((item) => meaning(item, `${path}.[]`));
      const written = JSON.stringify(value);
      const isPrice = MONEY.some((name) => path === `$.accepts.[].${name}`);
      if (typeof value === 'number' && isPrice && written !== 'null')
        return /^(?:0|[1-9][0-9]*)$/.test(written) ? Number(written) : written;
      if (typeof value === 'string' && value.length > JSON_LIMITS.string) throw new Error('long');
      return JSON.parse(written) as unknown;
    };
    fc.assert(
      fc.property(deep, fc.constantFrom('', ' ', '\n\t'), (value, space) => {
        const reading = readJson(write(value, space));
        let expected: unknown;
        try {
          expected = { ok: true, value: meaning(value) };
        } catch {
          expected = { ok: false, reason: expect.any(String) as unknown };
        }
        expect(reading).toEqual(expected);
      }),
      { numRuns: 2_000 },
    );
  });

  it('rejects every text that JSON.parse rejects', () => {
    const scrap = fc.array(
      fc.constantFrom(
        '{',
        '}',
        '[',
        ']',
        ',',
        ':',
        '"',
        '"a"',
        '"b"',
        '\\',
        '1',
        '-',
        '0',
        '.',
        'e',
        '+',
        ' ',
        'true',
        'null',
        '\u00a0',
        '\u0000',
        '\n',
      ),
      { maxLength: 12 },
    );
    fc.assert(
      fc.property(scrap, (parts) => {
        const text = parts.join('');
        const read = readJson(text);
        if (read.ok) expect(read.value).toStrictEqual(JSON.parse(text));
      }),
      { numRuns: 3_000 },
    );
  });

  it('agrees with JSON.parse after any character of real terms is removed or doubled', () => {
    const text =
      '{"x402Version":2,"accepts":[{"amount":"10","extra":{"a":[1,-2.5e+3,null]}}],"error":"caf\\u00e9 \\n"}';
    for (let at = 0; at < text.length; at += 1) {
      for (const changed of [
        text.slice(0, at) + text.slice(at + 1),
        text.slice(0, at + 1) + text.slice(at),
      ]) {
        let expected: unknown;
        try {
          expected = JSON.parse(changed);
        } catch {
          expected = undefined;
        }
        expect(valueOf(changed)).toStrictEqual(expected);
      }
    }
  });

  it('keeps its bounds to the character', () => {
    const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
    expect(readJson(nested(JSON_LIMITS.depth)).ok).toBe(true);
    expect(readJson(nested(JSON_LIMITS.depth + 1))).toEqual({
      ok: false,
      reason: 'it is nested too deeply',
    });
    expect(readJson(`"${'x'.repeat(JSON_LIMITS.string)}"`).ok).toBe(true);
    expect(readJson(`"${'x'.repeat(JSON_LIMITS.string + 1)}"`)).toEqual({
      ok: false,
      reason: 'it holds a text that is too long',
    });
    expect(readJson(`[${' '.repeat(JSON_LIMITS.characters - 2)}]`).ok).toBe(true);
    expect(readJson(`[${' '.repeat(JSON_LIMITS.characters - 1)}]`)).toEqual({
      ok: false,
      reason: 'it is too large',
    });
  });

  it('rejects a repeated key and prototype keys in any spelling', () => {
    expect(readJson('{"a":1,"a":1}')).toEqual({ ok: false, reason: 'it names a key twice' });
    expect(readJson('{"a":1,"\\u0061":1}')).toEqual({ ok: false, reason: 'it names a key twice' });
    expect(readJson('{"a":1,"b":{"a":1}}').ok).toBe(true);
    for (const name of FORBIDDEN)
      expect(readJson(`[{"${name}":1}]`)).toEqual({
        ok: false,
        reason: 'it holds a forbidden key',
      });
    expect(readJson('{"toString":1,"hasOwnProperty":2}').ok).toBe(true);
  });

  it('returns a price that is a number as text unless it is a plain integer', () => {
    const price = (name: string, written: string) =>
      valueOf(
        `{"accepts":[null,{"\\u00${name.charCodeAt(0).toString(16)}${name.slice(1)}"\n: ${written} }]}`,
      );
    for (const name of MONEY) {
      for (const written of ['1e3', '1000.00000000000000001', '-1.50', '-0', '1000.0', '1e999'])
        expect(price(name, written)).toEqual({ accepts: [null, { [name]: written }] });
      for (const written of ['0', '1000', '9007199254740993'])
        expect(price(name, written)).toEqual({ accepts: [null, { [name]: Number(written) }] });
    }
    expect(valueOf('{"accepts":[{"amount":"1","note":"\\"amount\\":1e3"}]}')).toEqual({
      accepts: [{ amount: '1', note: '"amount":1e3' }],
    });
  });

  it('returns every number that is no price as JSON.parse does, because a payment echoes it', () => {
    for (const written of ['12.5', '1.10', '1e3', '1000.0', '1e21', '-0', '9007199254740993']) {
      const other = `{"amount":${written},"maxAmountRequired":[${written}],"n":${written}}`;
      const text = `{"x402Version":2,"amount":${written},"accepts":[{"amount":"1","extra":${other}},[${other}]],"extensions":{"accepts":[${other}]}}`;
      expect(valueOf(text)).toStrictEqual(JSON.parse(text));
    }
    // Of a version 2 offer, only `amount` is a price.
    const both = '{"x402Version":2,"accepts":[{"amount":"1","maxAmountRequired":1.0}]}';
    expect(valueOf(both)).toStrictEqual(JSON.parse(both));
    expect(readJson('{"extra":{"amount":1e999}}')).toEqual({
      ok: false,
      reason: 'it holds a number out of range',
    });
  });

  it('rejects hostile nesting and hostile strings without delay', () => {
    for (const text of [
      '['.repeat(60_000),
      '{"a":'.repeat(12_000),
      `"${'\\'.repeat(60_000)}`,
      `"${'\\u0061'.repeat(10_000)}"`,
      '"'.repeat(60_001),
    ]) {
      expect(readJson(text).ok).toBe(false);
    }
  });
});

describe('copyJson', () => {
  it('returns a frozen copy of every value that readJson returns', () => {
    fc.assert(
      fc.property(json, (value) => {
        const plain: unknown = JSON.parse(JSON.stringify(value));
        const copied = copyJson(plain);
        expect(copied).toStrictEqual({ ok: true, value: plain });
        expect(copied.ok && isDeeplyFrozen(copied.value)).toBe(true);
      }),
    );
  });

  it('leaves the original unfrozen', () => {
    const original = { accepts: [{ extra: {} }] };
    copyJson(original);
    expect(Object.isFrozen(original.accepts)).toBe(false);
  });

  it('rejects values that are not plain JSON, and never throws', () => {
    const cycle: Record<string, unknown> = {};
    cycle['self'] = cycle;
    const getter = {
      get accepts(): never {
        throw new Error('gotcha');
      },
    };
    const sparse: unknown[] = [];
    sparse.length = 4_000_000_000;
    const odd = [
      cycle,
      getter,
      sparse,
      [undefined],
      [() => 1],
      { a: 10n },
      { a: Symbol('x') },
      [NaN],
      [Infinity],
      JSON.parse('{"__proto__":1}'),
      new Array(3),
    ];
    for (const value of odd) expect(copyJson(value).ok).toBe(false);
    expect(copyJson({ a: 'x'.repeat(JSON_LIMITS.string + 1) }).ok).toBe(false);
    expect(copyJson(Array.from({ length: 40 }, () => 'x'.repeat(4_000)))).toEqual({
      ok: false,
      reason: 'it is too large',
    });
  });
});

describe('fieldsOf', () => {
  it('returns only own properties', () => {
    expect(fieldsOf({})['toString']).toBeUndefined();
    expect(fieldsOf({ toString: 'own' })['toString']).toBe('own');
  });
});
