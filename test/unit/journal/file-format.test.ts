import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { crc32 } from '../../../adapters/journals/file/crc32.js';
import {
  decode,
  encodeContent,
  encodeHeader,
  encodeLine,
  encodeRecords,
  type FileRecord,
} from '../../../adapters/journals/file/format.js';
import { attemptOf, fullAttemptOf, NOW } from '../../helpers/attempts.js';

const bytesOf = (text: string) => new TextEncoder().encode(text);
const join = (...parts: Uint8Array[]) => Uint8Array.from(parts.flatMap((part) => [...part]));

const carry = {
  wallet: 'wallet',
  network: 'network',
  host: 'a.test',
  payTo: 'payee',
  mint: 'mint',
  cost: new Map([
    ['mint', 10n ** 30n],
    ['USD', 5n],
    ['payments', 2n],
  ]),
  until: NOW,
};
const batches: readonly (readonly FileRecord[])[] = [
  [{ widest: 86_400_000 }, { carry }],
  [{ put: attemptOf({ id: 'one' }) }],
  [{ put: attemptOf({ id: 'two', state: 'signed', host: 'ü.test' }) }, { release: 'one' }],
];
const lines = [encodeHeader(), ...batches.map(encodeRecords)];
const file = join(...lines);
/** What is in the first so many bytes. */
function within(length: number) {
  let [at, count] = [0, 0];
  for (const line of lines) {
    if (at + line.length > length) break;
    at += line.length;
    count += 1;
  }
  return count === 0 ? undefined : { records: batches.slice(0, count - 1).flat(), length: at };
}

describe('the checksum', () => {
  it.each([
    ['', 0],
    ['123456789', 0xcbf43926],
    ['The quick brown fox jumps over the lazy dog', 0x414fa339],
  ])('of "%s" is that of zlib', (text, sum) => {
    expect(crc32(bytesOf(text))).toBe(sum);
    const half = text.length >> 1;
    expect(crc32(bytesOf(text.slice(half)), crc32(bytesOf(text.slice(0, half))))).toBe(sum);
  });
});

describe('a file', () => {
  it('is lines of a checksum and JSON, as FORMAT.md has it', () => {
    const [header, records] = new TextDecoder()
      .decode(join(encodeHeader(), encodeRecords([{ release: 'ü' }])))
      .split('\n');
    expect(header).toBe('3339b863 {"format":"exact-change-journal","version":1}');
    expect(records).toBe(
      `${crc32(bytesOf('[{"release":"ü"}]')).toString(16).padStart(8, '0')} [{"release":"ü"}]`,
    );
  });

  it('gives back what was written', () => {
    expect(decode(file)).toEqual({ records: batches.flat(), length: file.length });
    const content = {
      attempts: Array.from({ length: 250 }, (_, index) => fullAttemptOf({ id: `${index}` })),
      carried: [carry],
      widestMs: 7,
    };
    const found = decode(encodeContent(content));
    expect(found).toMatchObject({
      records: [{ widest: 7 }, { carry }, ...content.attempts.map((put) => ({ put }))],
    });
  });

  it('that is cut off anywhere has what was whole by then, and is damage without its first line', () => {
    for (let length = 0; length <= file.length; length += 1)
      expect(decode(file.subarray(0, length)), `cut at ${length}`).toEqual(
        within(length) ?? { damagedAt: 0 },
      );
  });

  it('is damage wherever a single bit is another: no flip makes it forget', () => {
    for (let at = 0; at < file.length; at += 1) {
      for (let bit = 0; bit < 8; bit += 1) {
        const flipped = file.slice();
        flipped[at]! ^= 1 << bit;
        expect(decode(flipped), `bit ${bit} of byte ${at}`).toEqual({
          damagedAt: expect.any(Number),
        });
      }
    }
  });

  it.each([
    ['a hole that goes to the end', (whole: Uint8Array) => whole.fill(0, 20)],
    ['a hole before its last bytes', (whole: Uint8Array) => whole.fill(0, 100, 612)],
    ['an end that was never written', (whole: Uint8Array) => whole.subarray(0, 700)],
  ])('whose last line has %s has what was before it', (_what, tear) => {
    const torn = tear(encodeRecords([{ put: fullAttemptOf() }]));
    expect(decode(join(file, torn))).toEqual({ records: batches.flat(), length: file.length });
  });

  it.each([
    ['nothing', bytesOf('')],
    ['something else', bytesOf('{"format":"exact-change-journal","version":1}\n')],
    ['zeros', new Uint8Array(5_000)],
    ['another header', encodeLine({ format: 'other', version: 1 })],
    ['no version', encodeLine({ format: 'exact-change-journal' })],
    ['no header', encodeRecords([{ release: 'id' }])],
  ])('of %s is damaged', (_what, bytes) => {
    expect(decode(bytes)).toEqual({ damagedAt: 0 });
  });

  it.each([
    ['no list', { release: 'id' }],
    ['what this version does not know', [{ other: 1 }]],
    ['a record that says two things', [{ release: 'id', widest: 5 }]],
    ['no attempt', [{ put: { ...attemptOf(), amount: '-1' } }]],
    ['an attempt in no known state', [{ put: { ...attemptOf(), state: 'toString' } }]],
    ['sums that are no amounts', [{ carry: { ...carry, cost: { USD: 1 } } }]],
    [
      'older sums that are no amounts',
      [{ carry: { ...carry, cost: undefined, amount: 1, microUsd: '1', payments: '1' } }],
    ],
    ['nothing', null],
  ])('is damaged where a line that is whole has %s', (_what, value) => {
    expect(decode(join(file, encodeLine(value)))).toEqual({ damagedAt: file.length });
    expect(decode(join(file, encodeLine(value), encodeRecords([])))).toEqual({
      damagedAt: file.length,
    });
  });

  it.each([2, 0, '1', null])('of version %j is for another release', (version) => {
    expect(
      decode(join(encodeLine({ format: 'exact-change-journal', version }), bytesOf('whatever'))),
    ).toEqual({ version });
  });

  it('never throws, whatever it is', () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => void decode(bytes)));
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 300 }),
        (bytes) => void decode(join(encodeHeader(), bytes)),
      ),
    );
  });
});
