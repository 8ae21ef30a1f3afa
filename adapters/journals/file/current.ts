import { setImmediate } from 'node:timers/promises';
import type { Archive } from '../../../src/journal/attempt-store.js';
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
}

/** What a line says that counts. */
export interface Said {
  readonly by: string;
  readonly records: readonly FileRecord[];
}

const CHUNK = 256 * 1024;

/** Reads a file to its end, in steps. Rejects with {@link Damage}, or as the disk does. */
export async function readCurrent(file: OpenFile, archive: Archive): Promise<Current> {
  const header = readHeader(file);
  if (header?.version !== VERSION) throw new Damage(0);
  const scanner = createScanner(header.length, header.whole);
  const { whole } = header;
  const current = { file, id: file.id(), scanner, state: createState(archive), whole };
  for (let seen = -1; seen < scanner.seen;) {
    ({ seen } = scanner);
    catchUp(current, CHUNK);
    await setImmediate();
  }
  return current;
}

/** Takes in what the file says since it was read last. Throws {@link Damage}. */
export function catchUp({ file, scanner, state }: Current, most?: number): Said[] {
  const size = file.size();
  if (size === scanner.seen) return [];
  // Cut off by another program.
  if (size < scanner.size) throw new Damage(size);
  const said = scanner.next(file, most).map(({ at, value }) => {
    const line = readRecords(value);
    if (line === undefined) throw new Damage(at);
    return line;
  });
  for (const { by, records } of said) state.apply(by, records);
  return said;
}
