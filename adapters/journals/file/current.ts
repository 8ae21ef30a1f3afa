import { setImmediate } from 'node:timers/promises';
import type { Archive } from '../../../src/journal/store-types.js';
import { orClose, type FileId, type OpenFile } from './disk.js';
import { readHeader, VERSION } from './header.js';
import { readRecords, type FileRecord } from '../log/records.js';
import { createScanner, Damage, type Scanner } from './scan.js';
import { createState, type State } from '../log/state.js';
import { createSpentNames } from './spent-names.js';

/** An open file, and the state that its lines give as far as they were read. */
export interface Current {
  readonly file: OpenFile;
  readonly id: FileId;
  readonly scanner: Scanner;
  readonly state: State;
  /** Bytes that the file had when it got its name. */
  readonly whole: number;
  /** Set once the file is found damaged. */
  damage?: Damage;
}

/** The writer's process id and the records of a line that counts. */
export interface CountedLine {
  readonly by: string;
  readonly records: readonly FileRecord[];
}

/**
 * Reads a file to its end, part by part. Closes it and rejects, with {@link Damage} or a disk error,
 * if it cannot be read.
 */
export function readCurrent(file: OpenFile, archive: Archive): Promise<Current> {
  return orClose(file, () => readAll(file, archive));
}

async function readAll(file: OpenFile, archive: Archive): Promise<Current> {
  const header = readHeader(file);
  if (header?.version !== VERSION) throw new Damage(0);
  const scanner = createScanner(header.length, header.whole);
  const state = createState(archive, createSpentNames());
  const { whole } = header;
  const current: Current = { file, id: file.id(), scanner, state, whole };
  while (!readPart(current)) await setImmediate();
  return current;
}

/**
 * Applies the lines that were added since the last read. Throws {@link Damage}, or a disk error.
 *
 * @param onLine - Called with each applied line, also if a later line fails.
 */
export function catchUp(current: Current, onLine: (line: CountedLine) => void): void {
  const { file, scanner } = current;
  if (current.damage !== undefined) throw current.damage;
  const size = file.size();
  if (size === scanner.seen) return;
  // Another program cut the file off.
  if (size < scanner.size) throw (current.damage = new Damage(size));
  while (!readPart(current, onLine));
}

/**
 * Applies the lines of the next part of a file, and returns whether that was the last part. A
 * damaged file stays damaged, because its state is unknown from then on.
 */
function readPart(current: Current, onLine?: (line: CountedLine) => void): boolean {
  try {
    const { lines, isLast } = current.scanner.next(current.file);
    for (const { at, value } of lines) {
      const line = readRecords(value);
      if (line === undefined) throw new Damage(at);
      current.state.apply(line.by, line.records);
      onLine?.(line);
    }
    return isLast;
  } catch (error) {
    if (error instanceof Damage) current.damage = error;
    throw error;
  }
}
