import { setImmediate } from 'node:timers/promises';
import type { Archive } from '../../../src/journal/store-types.js';
import type { FileId, OpenFile } from './disk.js';
import { readHeader, VERSION } from './header.js';
import { readRecords, type FileRecord } from '../log/records.js';
import { createScanner, Damage, type Scanner } from './scan.js';
import { createState, type State } from '../log/state.js';

/** A file that is open, and what it says as far as it was read. */
export interface Current {
  readonly file: OpenFile;
  readonly id: FileId;
  readonly scanner: Scanner;
  readonly state: State;
  /** Bytes that it began with. */
  readonly whole: number;
  /** What is wrong with it. */
  damage?: Damage;
}

/** What a line says that counts. */
export interface Said {
  readonly by: string;
  readonly records: readonly FileRecord[];
}

/** Reads a file to its end, part by part. Rejects with {@link Damage}, or as the disk does. */
export async function readCurrent(file: OpenFile, archive: Archive): Promise<Current> {
  const header = readHeader(file);
  if (header?.version !== VERSION) throw new Damage(0);
  const scanner = createScanner(header.length, header.whole);
  const { whole } = header;
  const current: Current = { file, id: file.id(), scanner, state: createState(archive), whole };
  while (!takeIn(current)) await setImmediate();
  return current;
}

/**
 * Takes in what the file says since it was read last. Throws {@link Damage}, or as the disk does.
 *
 * @param heard - Is told of each line that was taken in, also if a later one fails.
 */
export function catchUp(current: Current, heard: (said: Said) => void): void {
  const { file, scanner } = current;
  if (current.damage !== undefined) throw current.damage;
  const size = file.size();
  if (size === scanner.seen) return;
  // Cut off by another program.
  if (size < scanner.size) throw (current.damage = new Damage(size));
  while (!takeIn(current, heard));
}

/**
 * The next part of a file; whether it was the last. Once a file is damaged it stays that: what it
 * said then is not known.
 */
function takeIn(current: Current, heard?: (said: Said) => void): boolean {
  try {
    const { lines, isLast } = current.scanner.next(current.file);
    for (const { at, value } of lines) {
      const said = readRecords(value);
      if (said === undefined) throw new Damage(at);
      current.state.apply(said.by, said.records);
      heard?.(said);
    }
    return isLast;
  } catch (error) {
    if (error instanceof Damage) current.damage = error;
    throw error;
  }
}
