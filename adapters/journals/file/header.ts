import { isRecord } from '../../../src/internal/record.js';
import { crc32 } from './crc32.js';
import type { OpenFile } from './disk.js';

const FORMAT = 'exact-change-journal';
export const VERSION = 2;
const DIGITS = 16;
const LONGEST = 4 * 1024;
const NEWLINE = 0x0a;

/** What the first line of a file says. */
export interface Header {
  readonly version: unknown;
  /** Bytes of it: where the next line begins. */
  readonly length: number;
  /** How many bytes of the file were on the disk before it got its name. */
  readonly whole: number;
}

/**
 * `<CRC-32 of the JSON's bytes> <JSON>` and a line feed, of one length always.
 *
 * @param content - Bytes that follow, and are on the disk before the file gets its name.
 */
export function encodeHeader(content = 0): Buffer {
  const whole = String(content).padStart(DIGITS, '0');
  const json = Buffer.from(JSON.stringify({ format: FORMAT, version: VERSION, whole }));
  return Buffer.from(`${crc32(json).toString(16).padStart(8, '0')} ${json.toString()}\n`);
}

/** Undefined if it is damaged. */
export function readHeader(file: OpenFile): Header | undefined {
  const bytes = Buffer.alloc(LONGEST);
  const end = bytes.subarray(0, file.read(bytes, 0)).indexOf(NEWLINE);
  const value = end === -1 ? undefined : decodeHeader(bytes.subarray(0, end));
  if (!isRecord(value) || value['format'] !== FORMAT || value['version'] === undefined)
    return undefined;
  const length = end + 1;
  return { version: value['version'], length, whole: length + Number(value['whole'] ?? 0) };
}

/** What a line of a checksum and JSON says, as version 1 has them; undefined if it is damaged. */
export function decodeHeader(line: Buffer): unknown {
  const json = line.subarray('00000000 '.length);
  if (`${crc32(json).toString(16).padStart(8, '0')} ` !== line.toString('latin1', 0, 9))
    return undefined;
  try {
    return JSON.parse(json.toString('utf8'));
  } catch {
    return undefined;
  }
}
