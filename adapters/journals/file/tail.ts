import type { Archive } from '../../../src/journal/store-types.js';
import { catchUp, readCurrent, type Current } from './current.js';
import type { Disk, OpenFile } from './disk.js';
import { encodeLine } from './line.js';
import type { ProcessId } from '../log/process-id.js';
import type { FileRecord } from '../log/records.js';
import { Damage } from './scan.js';
import type { Says } from '../log/snapshot.js';
import type { State } from '../log/state.js';

/** The end of a file, as one of the processes that write there follows it. */
export interface Tail {
  readonly state: State;
  readonly file: OpenFile;
  /** Bytes of the file, and those that it began with. */
  readonly size: number;
  readonly whole: number;
  /** Takes in what others wrote. Throws {@link Damage}, or as the disk does. */
  read(): void;
  /**
   * Writes a line after the last one that was read; whether it counts: not if another was written
   * meanwhile, which is read then.
   */
  append(records: readonly FileRecord[]): boolean;
  /** Whether another file has the path. */
  isReplaced(): boolean;
  /** Whether from now on what counts is collected. */
  collect(isOn: boolean): void;
  /** What was collected since it was asked last. */
  collected(): Says[];
  /** Notes that all of a file that was written by now is on the disk. */
  synced(file: OpenFile, end: number): void;
  readonly end: number;
  /** Goes over to another file, once that is read. Returns the one before. */
  goOver(file: OpenFile): Promise<OpenFile>;
}

/** How often a look at a file is tried. */
const LOOKS = 3;

/** @param me - The process that writes. */
export async function tailOf(
  path: string,
  first: OpenFile,
  me: ProcessId,
  disk: Disk,
  archive: Omit<Archive, 'past'>,
): Promise<Tail> {
  let current: Current = await readCurrent(first, { ...archive, past: [] });
  /** How much of it is known to be on the disk, if that is yet to be said. */
  let known = 0;
  let collecting: Says[] | undefined;

  const collect = (by: string, records: readonly FileRecord[]): void => {
    // Where things are in this file means nothing in another.
    const rest = records.filter((record) => !('synced' in record) && !('sealed' in record));
    if (rest.length > 0) collecting?.push([by, ...rest]);
  };
  const read = (heard: (by: string) => void = () => undefined): void =>
    catchUp(current, ({ by, records }) => {
      collect(by, records);
      heard(by);
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
      const all: readonly FileRecord[] = [
        // Another process took it for ended, as its sign was taken away.
        ...(state.seats.has(me.id) || 'seat' in (records[0] ?? {}) ? [] : [{ seat: me }]),
        ...(known > 0 ? [{ synced: known }] : []),
        ...records,
      ];
      const line = encodeLine(scanner.end, JSON.stringify([me.id, ...all]));
      const { size, seen } = scanner;
      if (file.append(line) < line.length) throw new Error('ENOSPC: there is no room for a line.');
      // Nothing else was written: it is where it was meant to be.
      const isNext = seen === size && again(() => file.size()) === size + line.length;
      if (!isNext) {
        let isRead = false;
        again(() => read((by) => (isRead ||= by === me.id)));
        return isRead;
      }
      scanner.skip(line.length);
      state.apply(me.id, all);
      collect(me.id, all);
      known = 0;
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
      if (file === current.file) known = end;
    },
    async goOver(file) {
      const { file: last, state } = current;
      // A list: a generator would hold the state that it comes from, and that the one before.
      const past = [...state.attempts.past()];
      current = await readCurrent(file, { ...archive, past });
      [known, collecting] = [0, undefined];
      return last;
    },
  };
}

/** A look that fails is no answer: the line may count. */
function again<T>(look: () => T): T {
  for (let looks = 1; ; looks += 1) {
    try {
      return look();
    } catch (error) {
      if (looks === LOOKS || error instanceof Damage) throw error;
    }
  }
}
