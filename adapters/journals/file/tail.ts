import type { Archive } from '../../../src/journal/store-types.js';
import { catchUp, readCurrent, type Current } from './current.js';
import type { Disk, OpenFile } from './disk.js';
import { encodeLine } from './line.js';
import type { ProcessId } from '../log/process-id.js';
import type { FileRecord } from '../log/records.js';
import { Damage } from './scan.js';
import type { LogLine } from '../log/snapshot.js';
import type { State } from '../log/state.js';

/** Follows the end of a file for this process, and writes there. */
export interface Tail {
  readonly state: State;
  readonly file: OpenFile;
  /** Bytes of the file. */
  readonly size: number;
  /** Bytes that the file had when it got its name. */
  readonly whole: number;
  /** Applies the lines of other processes. Throws {@link Damage}, or a disk error. */
  read(): void;
  /**
   * Writes a line after the last line that was read, and returns whether it counts. It does not
   * count if another process wrote a line meanwhile; that line is read then.
   */
  append(records: readonly FileRecord[]): boolean;
  /** Whether another file has the path. */
  isReplaced(): boolean;
  /** Starts or stops the collection of lines that count. */
  collect(isOn: boolean): void;
  /** Returns the lines that were collected since the last call. */
  collected(): LogLine[];
  /** Notes that the first `end` bytes of a file are on the disk. */
  synced(file: OpenFile, end: number): void;
  /** Byte at which the last line that counts ends. */
  readonly end: number;
  /** Reads another file and goes over to it. Returns the previous file. */
  goOver(file: OpenFile): Promise<OpenFile>;
}

/** How often a failing read is tried. */
const LOOKS = 3;

export async function tailOf(
  path: string,
  first: OpenFile,
  me: ProcessId,
  disk: Disk,
  archive: Omit<Archive, 'past'>,
  /** Called with the records of each line that counts, also of this process. */
  onRecords: (records: readonly FileRecord[]) => void = () => undefined,
): Promise<Tail> {
  let current: Current = await readCurrent(first, { ...archive, past: [] });
  /** Bytes known to be on the disk that no `synced` record tells yet; 0 if there are none. */
  let unsaidSynced = 0;
  let collecting: LogLine[] | undefined;

  const collect = (by: string, records: readonly FileRecord[]): void => {
    onRecords(records);
    // `synced` and `sealed` are about this file only, so the next file does not get them.
    const lasting = records.filter((record) => !('synced' in record) && !('sealed' in record));
    if (lasting.length > 0) collecting?.push([by, ...lasting]);
  };
  const read = (onLine: (by: string) => void = () => undefined): void =>
    catchUp(current, ({ by, records }) => {
      collect(by, records);
      onLine(by);
    });

  return {
    get state() {
      return current.state;
    },
    get file() {
      return current.file;
    },
    get size() {
      return current.scanner.size;
    },
    get whole() {
      return current.whole;
    },
    get end() {
      return current.scanner.end;
    },
    read: () => read(),
    append(records) {
      const { file, scanner, state } = current;
      const allRecords: readonly FileRecord[] = [
        // Without a seat, another process took this process for ended: take a seat again.
        ...(state.seats.has(me.id) || 'seat' in (records[0] ?? {}) ? [] : [{ seat: me }]),
        ...(unsaidSynced > 0 ? [{ synced: unsaidSynced }] : []),
        ...records,
      ];
      const line = encodeLine(scanner.end, JSON.stringify([me.id, ...allRecords]));
      const { size, seen } = scanner;
      file.append(line);
      // If the file grew by this line alone, the line directly follows the last line that counts.
      const isNext = seen === size && withRetries(() => file.size()) === size + line.length;
      if (!isNext) {
        let isRead = false;
        withRetries(() => read((by) => (isRead ||= by === me.id)));
        return isRead;
      }
      scanner.skip(line.length);
      state.apply(me.id, allRecords);
      collect(me.id, allRecords);
      unsaidSynced = 0;
      return true;
    },
    isReplaced() {
      const { device, inode } = disk.identify(path);
      return device !== current.id.device || inode !== current.id.inode;
    },
    collect: (isOn) => void (collecting = isOn ? [] : undefined),
    collected() {
      const found = collecting ?? [];
      collecting = [];
      return found;
    },
    synced(file, end) {
      if (file === current.file) unsaidSynced = end;
    },
    async goOver(file) {
      const { file: previous, state } = current;
      // A list, not a generator: a generator would keep every earlier state in memory.
      const past = [...state.attempts.past()];
      current = await readCurrent(file, { ...archive, past });
      [unsaidSynced, collecting] = [0, undefined];
      return previous;
    },
  };
}

/** Retries a failing read: after an error it is unknown if the written line counts. */
function withRetries<T>(look: () => T): T {
  for (let looks = 1; ; looks += 1) {
    try {
      return look();
    } catch (error) {
      if (looks === LOOKS || error instanceof Damage) throw error;
    }
  }
}
