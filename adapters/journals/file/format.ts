import { isRecord } from '../../../src/internal/record.js';
import { isAttempt } from '../../../src/journal/attempt-json.js';
import type { Carried, StoreContent } from '../../../src/journal/attempt-store.js';
import type { Attempt } from '../../../src/journal/types.js';
import { isEndpoint, isOutboxJob } from '../../../src/outbox/json.js';
import type { OutboxContent, OutboxRecord } from '../../../src/outbox/store.js';
import { PAYMENTS, USD } from '../../../src/policy/units.js';
import { crc32 } from './crc32.js';

/** One thing that happened. FORMAT.md says it for other languages. */
export type FileRecord =
  | { readonly put: Attempt }
  /** The id of the attempt that was released. */
  | { readonly release: string }
  /** What forgotten attempts took. */
  | { readonly carry: Carried }
  /** The widest window, in ms, that was ever asked for. */
  | { readonly widest: number }
  | OutboxRecord;

/** All that a file says. */
export type FileContent = StoreContent & Partial<OutboxContent>;

/** What a file holds. */
export interface Decoded {
  readonly records: readonly FileRecord[];
  /**
   * How many bytes of it are whole lines; what follows was being written when its writer ended, and
   * was promised to no caller.
   */
  readonly length: number;
}

/** Where a file is not what was written. */
export interface Damage {
  /** Bytes from its start. */
  readonly damagedAt: number;
}

/** A journal that this version cannot read. */
export interface Foreign {
  readonly version: unknown;
}

const FORMAT = 'exact-change-journal';
const VERSION = 1;
const NEWLINE = 0x0a;
// 8 digits and a space.
const JSON_AT = 9;
// The least that a file system writes or fails to write at once.
const SECTOR = 512;
// Long enough that its line costs little, short enough that damage can be found.
const RECORDS_A_LINE = 100;

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** `<CRC-32 of the JSON's bytes, 8 hex digits> <JSON>` and a line feed. */
export function encodeLine(value: unknown): Uint8Array {
  const json = encoder.encode(JSON.stringify(value));
  const line = new Uint8Array(JSON_AT + json.length + 1);
  line.set(encoder.encode(`${crc32(json).toString(16).padStart(8, '0')} `));
  line.set(json, JSON_AT);
  line[line.length - 1] = NEWLINE;
  return line;
}

/** Records that stand or fall together: a line is there as a whole or not at all. */
export function encodeRecords(records: readonly FileRecord[]): Uint8Array {
  return encodeLine(
    records.map((record) => ('carry' in record ? { carry: carryJson(record.carry) } : record)),
  );
}

export function encodeHeader(): Uint8Array {
  return encodeLine({ format: FORMAT, version: VERSION });
}

/**
 * A whole file that says what its stores know. Of attempts that are over, what could be presented
 * is left out.
 */
export function encodeContent({
  attempts,
  carried,
  widestMs,
  jobs = [],
  endpoints = [],
}: FileContent): Uint8Array {
  const records: FileRecord[] = [
    { widest: widestMs },
    ...carried.map((carry) => ({ carry })),
    ...attempts.map((put) => ({ put })),
    ...endpoints.map((endpoint) => ({ endpoint })),
    ...jobs.map((job) => ({ job })),
  ];
  const lines = [encodeHeader()];
  for (let at = 0; at < records.length; at += RECORDS_A_LINE)
    lines.push(encodeRecords(records.slice(at, at + RECORDS_A_LINE)));
  return joined(lines);
}

/**
 * Reads a file. Only the end of it may be torn; anything else that is not as it was written is
 * damage, and nothing of the file counts.
 */
export function decode(bytes: Uint8Array): Decoded | Damage | Foreign {
  const records: FileRecord[] = [];
  let at = 0;
  for (;;) {
    const end = bytes.indexOf(NEWLINE, at);
    const line = bytes.subarray(at, end === -1 ? bytes.length : end);
    if (line.length === 0 && end === -1 && at > 0) return { records, length: at };
    const value = end === -1 ? undefined : decodeLine(line);
    const found = at === 0 ? readHeader(value) : readRecords(value);
    if (found === undefined) {
      const last = at > 0 && (end === -1 || end === bytes.length - 1);
      return last && value === undefined && isTorn(line, end === -1)
        ? { records, length: at }
        : { damagedAt: at };
    }
    if ('version' in found) return found;
    for (const record of found) records.push(record);
    at = end + 1;
  }
}

/** What a line says; undefined if it is not as it was written. */
function decodeLine(line: Uint8Array): unknown {
  const json = line.subarray(JSON_AT);
  try {
    if (
      decoder.decode(line.subarray(0, JSON_AT)) !== `${crc32(json).toString(16).padStart(8, '0')} `
    )
      return undefined;
    return JSON.parse(decoder.decode(json));
  } catch {
    return undefined;
  }
}

/**
 * Whether the last line, which does not read, was cut off while it was written: it has no end, or a
 * hole that never reached the disk.
 * A line that is whole up to some place was promised to a caller: what follows it then is damage.
 */
function isTorn(line: Uint8Array, open: boolean): boolean {
  if (!open) return hasHole(line);
  const crc = Number.parseInt(String.fromCharCode(...line.subarray(0, JSON_AT - 1)), 16);
  let sum = 0;
  for (let end = JSON_AT; end < line.length - 1; end += 1) {
    sum = crc32(line.subarray(end, end + 1), sum);
    if (sum === crc && decodeLine(line.subarray(0, end + 1)) !== undefined) return false;
  }
  return true;
}

function hasHole(line: Uint8Array): boolean {
  let zeros = 0;
  for (const byte of line) {
    zeros = byte === 0 ? zeros + 1 : 0;
    if (zeros === SECTOR) return true;
  }
  return false;
}

function readHeader(value: unknown): readonly FileRecord[] | Foreign | undefined {
  if (!isRecord(value) || value['format'] !== FORMAT || value['version'] === undefined)
    return undefined;
  return value['version'] === VERSION ? [] : { version: value['version'] };
}

function readRecords(value: unknown): readonly FileRecord[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const records = value.map(readRecord);
  return records.every((record): record is FileRecord => record !== undefined)
    ? records
    : undefined;
}

function readRecord(value: unknown): FileRecord | undefined {
  if (!isRecord(value) || Object.keys(value).length !== 1) return undefined;
  const { put, release, carry, widest, job, jobDone, endpoint, endpointGone } = value;
  if (isAttempt(put)) return { put };
  if (typeof release === 'string') return { release };
  if (typeof widest === 'number') return { widest };
  if (isOutboxJob(job)) return { job };
  if (typeof jobDone === 'string') return { jobDone };
  if (isEndpoint(endpoint)) return { endpoint };
  if (typeof endpointGone === 'string') return { endpointGone };
  const carried = readCarry(carry);
  return carried === undefined ? undefined : { carry: carried };
}

function carryJson({ cost, ...rest }: Carried): object {
  return {
    ...rest,
    cost: Object.fromEntries([...cost].map(([unit, value]) => [unit, value.toString()])),
  };
}

function readCarry(value: unknown): Carried | undefined {
  if (!isRecord(value)) return undefined;
  const { wallet, network, host, payTo, mint, until, cost } = value;
  if (typeof wallet !== 'string' || typeof network !== 'string' || typeof host !== 'string')
    return undefined;
  if (typeof payTo !== 'string' || typeof mint !== 'string' || typeof until !== 'number')
    return undefined;
  // Before costs had units of their own, a carry had the three that there were.
  const sums = readCost(
    cost ?? { [mint]: value['amount'], [USD]: value['microUsd'], [PAYMENTS]: value['payments'] },
  );
  return sums === undefined ? undefined : { wallet, network, host, payTo, mint, cost: sums, until };
}

function readCost(value: unknown): Map<string, bigint> | undefined {
  if (!isRecord(value)) return undefined;
  const cost = new Map<string, bigint>();
  for (const [unit, text] of Object.entries(value)) {
    const sum = toSum(text);
    if (sum === undefined) return undefined;
    cost.set(unit, sum);
  }
  return cost;
}

function toSum(value: unknown): bigint | undefined {
  return typeof value === 'string' && /^[0-9]+$/.test(value) ? BigInt(value) : undefined;
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
