import { randomBytes } from 'node:crypto';
import { dirname } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { isAttempt } from '../../../src/journal/attempt-json.js';
import { belongsTo } from '../../../src/journal/attempt-names.js';
import { hasCode } from '../../../src/internal/error-code.js';
import type { Made } from '../../../src/journal/store-types.js';
import type { Attempt } from '../../../src/journal/types.js';
import { orClose, removeFile, type Disk, type OpenFile } from './disk.js';
import { closedError } from './failures.js';
import { encodeLine, readLine } from './line.js';
import type { Past } from '../log/port.js';
import { Damage } from './scan.js';

const CHUNK = 256 * 1024;
/** Bytes. An attempt is rarely longer. */
const LINE = 8 * 1024;
const NEWLINE = 0x0a;
/** The beginning of a line that holds an attempt: the number of attempts made before it. */
const MADE = /^\n[0-9a-f]{8} [0-9]+ [0-9]+ \[([0-9]+),/;
const HEAD = 64;
/** Attempts that are read before other work has its turn. */
const TURN = 64;

/** The file beside a journal that keeps the closed attempts which the journal dropped. */
export interface History extends Past {
  /** Returns the attempt on the line that begins at a place. */
  recall(place: number): Attempt;
  /**
   * Writes attempts at `length`, over any bytes that follow there; at 0 into a new file. Once the
   * attempts are on the disk, it resolves to the place of each attempt and to the new length.
   */
  append(
    length: number,
    closed: readonly Made[],
    now: number,
  ): Promise<{ readonly places: readonly number[]; readonly length: number }>;
  close(): void;
}

/** The last line of a batch: attempts that were written together. */
interface Batch {
  readonly from: number;
  /**
   * When the batch was written, in milliseconds since the epoch; not before the batch before it or
   * its attempts, even if the clock was set back. So a reader can stop at the first older batch.
   */
  readonly at: number;
}

export function historyAt(path: string, disk: Disk): History {
  let file: OpenFile | undefined;
  let isClosed = false;
  const open = (): OpenFile => {
    // A reader may still be at work, and nothing would close a file that it opens now.
    if (isClosed) throw closedError();
    if (file !== undefined) return file;
    file = disk.open(path);
    file.makePrivate();
    return file;
  };

  const read = (place: number, most: number, from = open()): Buffer => {
    const bytes = Buffer.allocUnsafe(most);
    return bytes.subarray(0, from.read(bytes, place));
  };
  /** Returns the JSON of the line that begins at a place, and where the line ends. */
  const lineAt = (
    place: number,
    most = LINE,
    from = open(),
  ): { readonly value: unknown; readonly end: number } => {
    const bytes = read(place, most, from);
    const next = bytes.indexOf(NEWLINE, 1);
    if (next === -1 && bytes.length === most) return lineAt(place, 2 * most, from);
    const line = readLine(next === -1 ? bytes : bytes.subarray(0, next), next === -1);
    if (typeof line !== 'object') throw new Damage(place, path);
    return { value: JSON.parse(line.json), end: place + line.length };
  };
  const madeAt = (place: number, from = open()): Made => {
    const { value } = lineAt(place, LINE, from);
    const [made, attempt] = (Array.isArray(value) ? value : []) as readonly unknown[];
    if (typeof made !== 'number' || !isAttempt(attempt)) throw new Damage(place, path);
    return { made, attempt };
  };
  /** Returns the batch that ends at a place. */
  const batchTo = (end: number): Batch => {
    const tail = read(Math.max(0, end - LINE), Math.min(LINE, end));
    const { value } = lineAt(end - tail.length + tail.lastIndexOf(NEWLINE));
    return (value as { readonly batch: Batch }).batch;
  };
  /** Returns where the first batch begins that was written at or after a time. */
  const beginOf = (length: number, since: number): number => {
    let begin = length;
    while (begin > 0) {
      const batch = batchTo(begin);
      if (batch.at < since) break;
      begin = batch.from;
    }
    return begin;
  };

  /**
   * Whether a failed first rewrite of this journal left the file that is there, if any: until a
   * rewrite succeeds, the next one has all of its attempts to write. Else it is another journal's.
   */
  const isLeft = (closed: readonly Made[]): boolean => {
    const ids = new Set(closed.map(({ attempt }) => attempt.id));
    let there: OpenFile;
    try {
      there = disk.open(path);
    } catch (error) {
      return hasCode(error, 'ENOENT');
    }
    let place = 0;
    try {
      for (const size = there.size(); place < size;) {
        const { value, end } = lineAt(place, LINE, there);
        if (Array.isArray(value) && !ids.has(madeAt(place, there).attempt.id)) return false;
        place = end;
      }
      return true;
    } catch (error) {
      if (error instanceof Damage) return place > 0; // The process was killed while it wrote.
      throw error;
    } finally {
      there.close();
    }
  };
  /** Makes an empty file. Keeps the file of another journal, which was moved away without it. */
  const begin = async (closed: readonly Made[]): Promise<OpenFile> => {
    // Not emptied: a process that lost the rewrite may still write to the file that it began.
    if (isLeft(closed)) removeFile(disk, path);
    else disk.rename(path, `${path}.${randomBytes(16).toString('hex')}`);
    const to = disk.create(path);
    return orClose(to, async () => {
      await disk.syncDirectory(dirname(path));
      return to;
    });
  };
  const openAt = (length: number): OpenFile => {
    const to = open();
    if (to.size() < length) throw new Damage(to.size(), path);
    // A process that ended wrote these bytes, and no journal refers to them.
    if (to.size() > length) to.truncate(length);
    return to;
  };

  return {
    recall: (place) => madeAt(place).attempt,
    async append(length, closed, now) {
      if (closed.length === 0) return { places: [], length };
      const to = length === 0 ? await begin(closed) : openAt(length);
      try {
        const places: number[] = [];
        let end = length;
        let at = length === 0 ? now : Math.max(now, batchTo(length).at);
        const write = (value: unknown) => {
          const line = encodeLine(end, JSON.stringify(value));
          to.append(line);
          end += line.length;
        };
        for (const { made, attempt } of closed) {
          places.push(end);
          at = Math.max(at, attempt.at);
          write([made, attempt]);
        }
        write({ batch: { from: length, at } satisfies Batch });
        await to.sync();
        return { places, length: end };
      } finally {
        // If the rewrite fails, another file may get the path.
        if (to !== file) to.close();
      }
    },
    async *attempts(length, owner, since) {
      if (length === 0) return;
      const found: { readonly made: number; readonly place: number }[] = [];
      let chunk = CHUNK;
      for (let at = beginOf(length, since); at < length;) {
        const bytes = read(at, Math.min(chunk, length - at));
        const isLast = at + bytes.length >= length;
        if (bytes.length === 0) throw new Damage(at, path);
        let from = 0;
        while (from < bytes.length) {
          const next = bytes.indexOf(NEWLINE, from + 1);
          if (next === -1 && !isLast) break;
          const made = MADE.exec(bytes.toString('latin1', from, from + HEAD))?.[1];
          if (made !== undefined) found.push({ made: Number(made), place: at + from });
          from = next === -1 ? bytes.length : next;
        }
        at += from;
        // A line may be longer than the chunk, so read more if no line was whole.
        chunk = from === 0 ? 2 * chunk : CHUNK;
        await setImmediate();
      }
      for (const [index, { place }] of found.sort((a, b) => a.made - b.made).entries()) {
        if (index % TURN === TURN - 1) await setImmediate();
        const made = madeAt(place);
        if (owner === undefined || belongsTo(made.attempt, owner)) yield made;
      }
    },
    close() {
      isClosed = true;
      file?.close();
    },
  };
}
