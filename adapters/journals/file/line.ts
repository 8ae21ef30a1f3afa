import { hexCrc32 } from './crc32.js';

const NEWLINE = 0x0a;
const HEAD = /^([0-9a-f]{8}) ([0-9]{1,15}) ([0-9]{1,15}) /;
const PART_OF_HEAD =
  /^[0-9a-f]{0,8}$|^[0-9a-f]{8} [0-9]{0,15}$|^[0-9a-f]{8} [0-9]{1,15} [0-9]{0,15}$/;
const LONGEST_HEAD = 8 + 1 + 15 + 1 + 15 + 1;

/** 8 zero bytes in a row: JSON never has them, and a single damaged bit cannot make them. */
const HOLE = Buffer.alloc(8);

/** A line as FORMAT.md has it. */
export interface Line {
  /** Byte at which the last line ended that the writer had read. */
  readonly after: number;
  readonly json: string;
  /** Bytes of the line. */
  readonly length: number;
}

export type NoLine =
  /** The line is cut off: its writer was killed, or the disk was full. */
  | 'fragment'
  /** The line is cut off at the end of the file: its writer may still be writing. */
  | 'open'
  /** The bytes never came to the disk before the power was lost. */
  | 'hole'
  /** The bytes are not as they were written. */
  | 'damage';

/**
 * Returns a line feed, then `<crc> <length> <after> <json>`. The line feed comes first, so that a
 * line which another writer left half written does not spoil this line.
 */
export function encodeLine(after: number, json: string): Buffer {
  const body = Buffer.from(`${after} ${json}`);
  const length = body.length - String(after).length - 1;
  return Buffer.concat([Buffer.from(`\n${hexCrc32(body)} ${length} `), body]);
}

/**
 * Reads the line at the beginning of `bytes`.
 *
 * @param bytes - The bytes from a line feed up to the next line feed, or to the end of the file.
 * @param isLast - Whether the file ends with these bytes.
 */
export function readLine(bytes: Buffer, isLast: boolean): Line | NoLine {
  const text = bytes.toString('latin1', 1, 1 + LONGEST_HEAD);
  const [head, crc, length, after] = HEAD.exec(text) ?? [];
  const [cutOff, hole] = isLast ? (['open', 'open'] as const) : (['fragment', 'hole'] as const);
  if (bytes[0] !== NEWLINE) return bytes[0] === 0 ? hole : 'damage';
  if (head === undefined || after === undefined) {
    if (bytes.includes(HOLE)) return hole;
    return bytes.length <= LONGEST_HEAD && PART_OF_HEAD.test(text) ? cutOff : 'damage';
  }
  const from = 1 + head.length;
  const end = from + Number(length);
  const isWhole = (to: number) => hexCrc32(bytes.subarray(from - after.length - 1, to)) === crc;
  // A hole may follow directly after the line.
  if ((end === bytes.length || bytes[end] === 0) && isWhole(end))
    return { after: Number(after), json: bytes.toString('utf8', from, end), length: end };
  if (bytes.includes(HOLE)) return hole;
  // If the CRC fits all bytes, the line is whole and its length is damaged.
  if (end <= bytes.length || isWhole(bytes.length)) return 'damage';
  return cutOff;
}
