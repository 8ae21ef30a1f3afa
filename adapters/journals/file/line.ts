import { crc32 } from './crc32.js';

const NEWLINE = 0x0a;
const HEAD = /^([0-9a-f]{8}) ([0-9]{1,15}) ([0-9]{1,15}) /;
const PART_OF_HEAD =
  /^[0-9a-f]{0,8}$|^[0-9a-f]{8} [0-9]{0,15}$|^[0-9a-f]{8} [0-9]{1,15} [0-9]{0,15}$/;
const LONGEST_HEAD = 8 + 1 + 15 + 1 + 15 + 1;

/** So many zero bytes in a row are no letters of JSON, and no single damaged bit. */
const HOLE = Buffer.alloc(8);

/** A line as FORMAT.md has it. */
export interface Line {
  /** Where the line ended that its writer took for the last one. */
  readonly after: number;
  readonly json: string;
  /** Bytes of it. */
  readonly length: number;
}

/** What is no line. */
export type NoLine =
  /** Not written to its end: the writer was ended, or the disk was full. */
  | 'fragment'
  /** At the end of the file, where it may be going on. */
  | 'open'
  /** It never came to the disk before the power was lost. */
  | 'hole'
  /** Not as it was written. */
  | 'damage';

/**
 * A line feed, then `<crc> <length> <after> <json>`. It begins with its line feed, so that what
 * another writer left half written does not take it along.
 */
export function encodeLine(after: number, json: string): Buffer {
  const body = Buffer.from(`${after} ${json}`);
  const length = body.length - String(after).length - 1;
  return Buffer.concat([Buffer.from(`\n${hexCrc(body)} ${length} `), body]);
}

/**
 * Reads the line that some bytes begin with.
 *
 * @param bytes - From a line feed up to the next one, or up to the end of the file.
 * @param isLast - Whether the file ends with them.
 */
export function readLine(bytes: Buffer, isLast: boolean): Line | NoLine {
  const text = bytes.toString('latin1', 1, 1 + LONGEST_HEAD);
  const [head, crc, length, after] = HEAD.exec(text) ?? [];
  const [part, hole] = isLast ? (['open', 'open'] as const) : (['fragment', 'hole'] as const);
  if (bytes[0] !== NEWLINE) return bytes[0] === 0 ? hole : 'damage';
  if (head === undefined || after === undefined) {
    if (bytes.includes(HOLE)) return hole;
    return bytes.length <= LONGEST_HEAD && PART_OF_HEAD.test(text) ? part : 'damage';
  }
  const from = 1 + head.length;
  const end = from + Number(length);
  const isWhole = (to: number) => hexCrc(bytes.subarray(from - after.length - 1, to)) === crc;
  // A hole may follow right after it.
  if ((end === bytes.length || bytes[end] === 0) && isWhole(end))
    return { after: Number(after), json: bytes.toString('utf8', from, end), length: end };
  if (bytes.includes(HOLE)) return hole;
  // Whole as it stands, it had another length: that was damaged.
  if (end <= bytes.length || isWhole(bytes.length)) return 'damage';
  return part;
}

function hexCrc(bytes: Uint8Array): string {
  return crc32(bytes).toString(16).padStart(8, '0');
}
