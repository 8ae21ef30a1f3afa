import { isRecord } from '../../../src/internal/record.js';
import type { OpenFile } from './disk.js';
import { readLine, type Line } from './line.js';

/** The file is not what was written. */
export class Damage extends Error {
  override readonly name = 'Damage';

  /** @param offset - Where it is not: bytes from its start. */
  constructor(
    readonly offset: number,
    readonly path?: string,
  ) {
    super(`It is damaged at byte ${offset}.`);
  }
}

/** Reads the lines of a file that count, as far as it goes by then, and again as it grows. */
export interface Scanner {
  /** Where the last line that counts ends. */
  readonly end: number;
  /** How long the file was when it was looked at last. */
  readonly size: number;
  /** How much of that was taken in: not half a line at its end. */
  readonly seen: number;
  /**
   * The lines that count in the next part of the file, each once. Throws {@link Damage}, or as the
   * disk does: then nothing was taken in.
   */
  next(file: OpenFile): Part;
  /** Takes down that a line that counts, of so many bytes, was written at the end of the file. */
  skip(length: number): void;
}

export interface Part {
  readonly lines: readonly Counted[];
  /** Whether there was no more. */
  readonly isLast: boolean;
}

/** A line that counts: where it begins, and what it says. */
export interface Counted {
  readonly at: number;
  readonly value: unknown;
}

const CHUNK = 256 * 1024;
const NEWLINE = 0x0a;

/**
 * @param start - Where the first line begins.
 * @param synced - How many bytes are known to be on the disk.
 */
export function createScanner(start: number, synced: number): Scanner {
  // What is at the end may be half a line: it is looked at again.
  let [end, at, size, chunk] = [start, start, start, CHUNK];
  /** Where something never came to the disk, if nothing was written since that counts. */
  let hole: number | undefined;

  const read = (file: OpenFile): Buffer => {
    size = file.size();
    const bytes = Buffer.allocUnsafe(Math.max(0, Math.min(chunk, size - at)));
    let length = 0;
    while (length < bytes.length) {
      const more = file.read(bytes.subarray(length), at + length);
      if (more === 0) break;
      length += more;
    }
    return bytes.subarray(0, length);
  };

  /** A line, if it counts: its writer knew of all that counts before it. */
  const judge = (place: number, { after, json, length }: Line): Counted[] => {
    // What was known to be on the disk cannot have got lost.
    if (hole !== undefined && syncedIn(parse(json, place)) > hole) throw new Damage(hole);
    // Its writer lost the race to the one before it.
    if (after < end) return [];
    if (after > end) {
      // Its writer knew a line that is not there any more.
      if (hole === undefined) throw new Damage(end);
      return [];
    }
    [end, hole] = [place + length, undefined];
    return [{ at: place, value: parse(json, place) }];
  };

  return {
    get end() {
      return end;
    },
    get size() {
      return size;
    },
    get seen() {
      return at;
    },
    next(file) {
      const bytes = read(file);
      const isAll = at + bytes.length >= size;
      const found: Counted[] = [];
      let from = 0;
      while (from < bytes.length) {
        const next = bytes.indexOf(NEWLINE, from + 1);
        if (next === -1 && !isAll) break;
        const isLast = next === -1;
        const piece = bytes.subarray(from, isLast ? bytes.length : next);
        const place = at + from;
        const line = readLine(piece, isLast);
        if (typeof line === 'object') {
          found.push(...judge(place, line));
          from += line.length;
          if (line.length === piece.length) continue;
        }
        // What follows a line without a line feed is a hole.
        const other = typeof line === 'object' ? (isLast ? 'open' : 'hole') : line;
        // Nothing is missing of what was on the disk before the file got its name.
        if (other === 'damage' || at + from < synced) throw new Damage(at + from);
        if (other === 'open') break;
        if (other === 'hole') hole ??= at + from;
        from = next;
      }
      at += from;
      // A line may be longer than what was read.
      chunk = from === 0 && !isAll ? 2 * chunk : CHUNK;
      return { lines: found, isLast: isAll };
    },
    skip(length) {
      size += length;
      [end, at] = [size, size];
    },
  };
}

/** How much of the file its writer knew to be on the disk; 0 if it does not say. */
function syncedIn(line: unknown): number {
  const records: readonly unknown[] = Array.isArray(line) ? line : [];
  const marks = records.map((record) => (isRecord(record) ? record['synced'] : undefined));
  return Math.max(0, ...marks.filter((mark) => typeof mark === 'number'));
}

function parse(json: string, place: number): unknown {
  try {
    return JSON.parse(json);
  } catch {
    throw new Damage(place);
  }
}
