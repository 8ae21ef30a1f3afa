import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { crc32, plainCrc32 } from '../../../adapters/journals/file/crc32.js';
import { encodeHeader, readHeader } from '../../../adapters/journals/file/header.js';
import { encodeLine } from '../../../adapters/journals/file/line.js';
import { createScanner, Damage } from '../../../adapters/journals/file/scan.js';
import { attemptOf } from '../../helpers/attempts.js';
import { MemoryDisk } from '../../helpers/memory-disk.js';

const bytesOf = (text: string) => new TextEncoder().encode(text);
const join = (...parts: readonly Uint8Array[]) => Buffer.concat(parts);
const START = encodeHeader().length;

const fileOf = (bytes: Uint8Array) => {
  const disk = new MemoryDisk();
  disk.put('/file', bytes);
  return disk.port().open('/file');
};
/** Returns the lines that count in a file, or the offset of the damage. */
function read(
  bytes: Uint8Array,
  synced = START,
): { readonly says: unknown[]; readonly end: number } | number {
  const scanner = createScanner(START, synced);
  try {
    const says = scanner.next(fileOf(bytes)).lines.map(({ value }) => value);
    return { says, end: scanner.end };
  } catch (error) {
    if (error instanceof Damage) return error.offset;
    throw error;
  }
}
/** A header and lines with these values, each written after the line before it. */
function linesOf(...values: readonly unknown[]): Buffer[] {
  const lines: Buffer[] = [encodeHeader()];
  for (const value of values) lines.push(encodeLine(join(...lines).length, JSON.stringify(value)));
  return lines;
}

const values = [
  ['a', { put: attemptOf({ id: 'one' }) }],
  ['b', { put: attemptOf({ id: 'two', host: 'ü.test' }) }, { release: 'one' }],
  ['a', { gone: 'b' }],
];
const lines = linesOf(...values);
const file = join(...lines);
/** The whole lines in the first `length` bytes. */
function within(length: number) {
  let [end, count] = [START, 0];
  for (const line of lines.slice(1)) {
    if (end + line.length > length) break;
    end += line.length;
    count += 1;
  }
  return { says: values.slice(0, count), end };
}

describe('the checksum', () => {
  it.each([
    ['', 0],
    ['123456789', 0xcbf43926],
    ['The quick brown fox jumps over the lazy dog', 0x414fa339],
  ])('equals the checksum of zlib for "%s" on any system', (text, sum) => {
    for (const crc of [crc32, plainCrc32]) {
      expect(crc(bytesOf(text))).toBe(sum);
      const half = text.length >> 1;
      expect(crc(bytesOf(text.slice(half)), crc(bytesOf(text.slice(0, half))))).toBe(sum);
    }
  });
});

describe('a journal file', () => {
  it('consists of lines that begin with a line feed, as FORMAT.md describes', () => {
    const json = '["a",{"release":"ü"}]';
    const [header, line] = join(encodeHeader(), encodeLine(START, json)).toString().split('\n\n');
    expect(header).toMatch(
      /^[0-9a-f]{8} \{"format":"exact-change-journal","version":2,"whole":"0{16}"\}$/,
    );
    const crc = crc32(bytesOf(`${START} ${json}`))
      .toString(16)
      .padStart(8, '0');
    expect(line).toBe(`${crc} 22 ${START} ${json}`);
  });

  it('returns what was written', () => {
    expect(read(file)).toEqual({ says: values, end: file.length });
    expect(readHeader(fileOf(encodeHeader(77)))).toEqual({
      version: 2,
      length: START,
      whole: START + 77,
    });
  });

  it('returns all whole lines when it is cut off anywhere', () => {
    for (let length = START; length <= file.length; length += 1)
      expect(read(file.subarray(0, length)), `cut at ${length}`).toEqual(within(length));
  });

  it('reports damage when any single bit is flipped', () => {
    for (let at = START; at < file.length; at += 1) {
      for (let bit = 0; bit < 8; bit += 1) {
        const flipped = Uint8Array.from(file);
        flipped[at]! ^= 1 << bit;
        expect(read(flipped), `bit ${bit} of byte ${at}`).toEqual(expect.any(Number));
      }
    }
  });

  it.each([
    ['cut off', (line: Buffer) => line.subarray(0, -1)],
    ['cut off in its head', (line: Buffer) => line.subarray(0, 12)],
    ['cut off after its line feed', (line: Buffer) => line.subarray(0, 1)],
  ])('goes on after a line that was %s, from the same writer or another', (_, cut) => {
    const half = cut(encodeLine(file.length, '["c",{"release":"two"}]'));
    const next = encodeLine(file.length, '["b",{"release":"two"}]');
    expect(read(join(file, half))).toEqual({ says: values, end: file.length });
    expect(read(join(file, half, next))).toEqual({
      says: [...values, ['b', { release: 'two' }]],
      end: file.length + half.length + next.length,
    });
  });

  it('counts only the first of several lines that were written after the same line', () => {
    const rivals = ['b', 'c', 'd'].map((by) => encodeLine(file.length, `["${by}"]`));
    const end = file.length + rivals[0]!.length;
    expect(read(join(file, ...rivals))).toEqual({ says: [...values, ['b']], end });
    const after = encodeLine(end, '["c"]');
    expect(read(join(file, ...rivals, after))).toMatchObject({ says: [...values, ['b'], ['c']] });
  });

  describe('that lost bytes before they reached the disk', () => {
    const later = linesOf(...values, ['c', { release: 'x'.repeat(40) }], ['c', { release: 'y' }]);
    const [lost, last] = [later[4]!, later[5]!];
    const hole = (from: number, to = lost.length) => Buffer.from(lost).fill(0, from, to);

    it.each([
      ['all of a line', hole(0)],
      ['the end of a line', hole(20)],
      ['the middle of a line', hole(20, 40)],
      ['the beginning of a line', hole(0, 30)],
      ['more than a line', Buffer.alloc(5_000)],
    ])('returns the lines before the loss when it lost %s', (_, torn) => {
      const before = { says: values, end: file.length };
      expect(read(join(file, torn))).toEqual(before);
      // Later lines may have reached the disk.
      expect(read(join(file, torn, last))).toEqual(before);
      const next = encodeLine(file.length, '["b"]');
      expect(read(join(file, torn, last, next))).toMatchObject({ says: [...values, ['b']] });
    });

    it('is damaged if a later line or the header shows that the lost bytes were on the disk', () => {
      const marked = (synced: number) =>
        encodeLine(file.length + lost.length, JSON.stringify(['c', { synced }]));
      for (const torn of [hole(0), hole(20)]) {
        expect(read(join(file, torn, marked(file.length + 1)))).toBe(file.length);
        expect(read(join(file, torn, marked(file.length)))).toMatchObject({ says: values });
        expect(read(join(file, torn), file.length + 1)).toBe(file.length);
      }
    });
  });

  it('is damaged if a line is missing before a later line', () => {
    expect(read(join(lines[0]!, lines[2]!, lines[3]!))).toBe(START);
    expect(read(join(lines[0]!, lines[1]!, lines[3]!))).toBe(START + lines[1]!.length);
  });

  it('is read on as it grows, also after half a line', () => {
    const disk = new MemoryDisk();
    disk.put('/file', file.subarray(0, 0));
    const port = disk.port().open('/file');
    port.append(lines[0]!);
    const scanner = createScanner(START, START);
    const rest = join(...lines.slice(1));
    const seen: unknown[] = [];
    for (let at = 0; at < rest.length; at += 7) {
      port.append(rest.subarray(at, at + 7));
      seen.push(...scanner.next(port).lines.map(({ value }) => value));
    }
    expect(seen).toEqual(values);
  });

  it('causes no error but damage, whatever bytes it holds', () => {
    const any = fc.uint8Array({ maxLength: 300 });
    fc.assert(fc.property(any, (bytes) => void read(join(encodeHeader(), bytes))));
    fc.assert(fc.property(any, (bytes) => void readHeader(fileOf(bytes))));
    fc.assert(fc.property(any, (bytes) => void read(join(file, bytes))));
  });

  it.each([
    ['nothing', ''],
    ['something else', '{"format":"exact-change-journal","version":2}\n'],
    ['zeros', '\0'.repeat(5_000)],
  ])('has no header when it holds %s', (_, text) => {
    expect(readHeader(fileOf(bytesOf(text)))).toBeUndefined();
  });
});
