import { isRecord } from '../../../src/internal/record.js';
import { parseJson } from '../../../src/internal/parse.js';
import { hexCrc32 } from './crc32.js';
import type { OpenFile } from './disk.js';

const FORMAT = 'exact-change-journal';
export const VERSION = 2;
const DIGITS = 16;
const LONGEST = 4 * 1024;
const NEWLINE = 0x0a;

/** The content of the first line of a file. */
export interface Header {
  readonly version: unknown;
  /** Bytes of the header: the next line begins there. */
  readonly length: number;
  /** Bytes of the file that were on the disk before it got its name. */
  readonly whole: number;
}

/**
 * Returns `<CRC-32 of the JSON's bytes> <JSON>` and a line feed. The length is always the same.
 *
 * @param content - Bytes after the header that are on the disk before the file gets its name.
 */
export function encodeHeader(content = 0): Buffer {
  const whole = String(content).padStart(DIGITS, '0');
  const json = Buffer.from(JSON.stringify({ format: FORMAT, version: VERSION, whole }));
  return Buffer.from(`${hexCrc32(json)} ${json.toString()}\n`);
}

/** Returns the header of a file; undefined if it is damaged. */
export function readHeader(file: OpenFile): Header | undefined {
  const bytes = Buffer.alloc(LONGEST);
  const end = bytes.subarray(0, file.read(bytes, 0)).indexOf(NEWLINE);
  const value = end === -1 ? undefined : decodeHeader(bytes.subarray(0, end));
  if (!isRecord(value) || value['format'] !== FORMAT || value['version'] === undefined)
    return undefined;
  const length = end + 1;
  return { version: value['version'], length, whole: length + Number(value['whole'] ?? 0) };
}

/** Parses a line of version 1 (a checksum and JSON); undefined if the line is damaged. */
export function decodeHeader(line: Buffer): unknown {
  const json = line.subarray('00000000 '.length);
  if (`${hexCrc32(json)} ` !== line.toString('latin1', 0, 9)) return undefined;
  return parseJson(json.toString('utf8'));
}
