import { isRecord } from '../../../src/internal/record.js';
import type { OpenFile } from './disk.js';
import { readLine, type Line } from './line.js';

/** The file holds bytes that no journal wrote. */
export class Damage extends Error {
  override readonly name = 'Damage';

  /** @param offset - Where the damage begins: bytes from the start of the file. */
  constructor(
    readonly offset: number,
    readonly path?: string,
  ) {
    super(`It is damaged at byte ${offset}.`);
  }
}

/** Reads the lines of a growing file that count. */
export interface Scanner {
  /** Byte at which the last line that counts ends. */
  readonly end: number;
  /** Bytes of the file at the last look. */
  readonly size: number;
  /** Bytes that were read, without half a line at the end. */
  readonly seen: number;
  /**
   * Returns the lines that count in the next part of the file, each once. Throws {@link Damage} or
   * a disk error; then `seen` stays.
   */
  next(file: OpenFile): Part;
  /** Passes over a line of this process: `length` bytes that count, at the end of the file. */
  skip(length: number): void;
}

export interface Part {
  readonly lines: readonly Counted[];
  /** Whether the part goes to the end of the file. */
  readonly isLast: boolean;
}

/** A line that counts: the byte at which it begins, and its JSON. */
export interface Counted {
  readonly at: number;
  readonly value: unknown;
}

const CHUNK = 256 * 1024;
const NEWLINE = 0x0a;

/**
 * @param start - Byte at which the first line begins.
 * @param synced - Bytes that are known to be on the disk.
 */
export function createScanner(start: number, synced: number): Scanner {
  // `at` stays before half a line at the end of the file, so that it is read again.
  let [end, at, size, chunk] = [start, start, start, CHUNK];
  /** Byte at which the first hole begins, if no line after it counts. */
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

  /** Returns a line if it counts: its writer had read all lines that count before it. */
  const judge = (place: number, { after, json, length }: Line): Counted[] => {
    // A hole within bytes that were synced is damage: a power failure cannot lose them.
    if (hole !== undefined && syncedIn(parse(json, place)) > hole) throw new Damage(hole);
    // The line lost the race: another writer's line came first.
    if (after < end) return [];
    if (after > end) {
      // The writer had read a line that is missing now; only a hole explains that.
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
        // Bytes after a whole line without a line feed are a hole.
        const noLine = typeof line === 'object' ? (isLast ? 'open' : 'hole') : line;
        // The first `synced` bytes were on the disk before the file got its name: no holes there.
        if (noLine === 'damage' || at + from < synced) throw new Damage(at + from);
        if (noLine === 'open') break;
        if (noLine === 'hole') hole ??= at + from;
        from = next;
      }
      at += from;
      // A line may be longer than the chunk, so read more if no line was whole.
      chunk = from === 0 && !isAll ? 2 * chunk : CHUNK;
      return { lines: found, isLast: isAll };
    },
    skip(length) {
      size += length;
      [end, at] = [size, size];
    },
  };
}

/** Returns the bytes that a line says are on the disk; 0 if it has no `synced` record. */
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
