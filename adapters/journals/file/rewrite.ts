import { setImmediate } from 'node:timers/promises';
import { systemRuntime } from '../../../src/internal/runtime.js';
import { stopwatch } from '../../../src/internal/stopwatch.js';
import { orClose, removeFile, type Disk, type OpenFile } from './disk.js';
import { encodeHeader } from './header.js';
import type { History } from './history.js';
import { encodeLine } from './line.js';
import { linesOf, snapshotOf, type LogLine } from '../log/snapshot.js';
import { REWRITING, type State } from '../log/state.js';
import { spentNamesOf } from './spent-names.js';
import type { Tail } from './tail.js';

/**
 * Rounds that copy newly written lines before the old file is sealed. The number is fixed: if lines
 * come faster than they can be copied, each round would be longer than the round before.
 */
const ROUNDS = 2;
/**
 * Bounds on the time for which lines are encoded before other work has its turn. Milliseconds. A
 * turn is as long as the last turn of the other work. Otherwise a busy process would add lines
 * faster than they are copied.
 */
const [SHORT_TURN_MS, LONG_TURN_MS] = [10, 100];

/**
 * Writes a new file without finished records, and gives it the path. Only one process at a time may
 * call it. If it fails before the new file has the path, the old file stays as it is.
 * Resolves to the new file. It has all that counts in the old file, which is sealed.
 */
export async function writeAnew(
  path: string,
  tail: Tail,
  me: string,
  history: History,
  disk: Disk,
): Promise<OpenFile> {
  const draft = `${path}.compact`;
  const now = systemRuntime.now();
  const snapshot = snapshotOf(tail.state, now);
  const archived = new Set(snapshot.closed.map(({ attempt }) => attempt.id));
  tail.collect(true);
  /** Returns the new lines, without the attempts of the history: their states are final. */
  const collected = (): LogLine[] =>
    tail
      .collected()
      .map(([by, ...records]) => [
        by,
        ...records.filter((record) => !('put' in record && archived.has(record.put.id))),
      ]);
  let file: OpenFile | undefined;
  let isSealed = false;
  try {
    tail.read();
    if (tail.state.locks.get(REWRITING) !== me) throw takenOver();
    const { places, length } = await history.append(tail.state.history, snapshot.closed, now);
    removeFile(disk, draft);
    file = disk.create(draft);
    const writer = createWriter(file);
    await writer.write(linesOf(snapshot, spentNamesOf(snapshot.closed, places), length));
    for (let round = 1, added = collected(); ; round += 1) {
      await writer.write(added, isSealed);
      await file.sync();
      tail.read();
      added = collected();
      if (isSealed && added.length === 0) break;
      if (!isSealed && (added.length === 0 || round >= ROUNDS)) {
        if (tail.state.locks.get(REWRITING) !== me) throw takenOver();
        isSealed = tail.append([{ sealed: true }]);
        added = [...added, ...collected()];
        if (isSealed && added.length === 0) break;
      }
    }
    if (tail.state.sealedBy !== me) throw takenOver();
    disk.rename(draft, path);
    return file;
  } catch (error) {
    tail.collect(false);
    file?.close();
    removeFile(disk, draft);
    throw error;
  }
}

/** The error if another process took this process for ended, because its sign is missing. */
function takenOver(): Error {
  return new Error('Another process may write the file anew by now.');
}

/** Writes the records of a state into a new file at `draft`. */
export async function writeState(
  draft: string,
  state: State,
  history: History,
  disk: Disk,
): Promise<OpenFile> {
  const now = systemRuntime.now();
  const snapshot = snapshotOf(state, now);
  const { places, length } = await history.append(0, snapshot.closed, now);
  removeFile(disk, draft);
  const file = disk.create(draft);
  return orClose(file, async () => {
    const names = spentNamesOf(snapshot.closed, places);
    await createWriter(file).write(linesOf(snapshot, names, length));
    await file.sync();
    return file;
  });
}

function createWriter(file: OpenFile): {
  /** @param isUrgent - Whether all processes wait for these lines: it then makes no pauses. */
  write(lines: readonly LogLine[], isUrgent?: boolean): Promise<void>;
} {
  let end = encodeHeader().length;
  let isFirst = true;
  return {
    async write(lines, isUrgent = false) {
      if (lines.length === 0) return;
      const parts: Buffer[] = [];
      let turnTime = stopwatch(systemRuntime);
      let turn = SHORT_TURN_MS;
      for (const line of lines) {
        const bytes = encodeLine(end, JSON.stringify(line));
        end += bytes.length;
        parts.push(bytes);
        if (isUrgent || turnTime() < turn) continue;
        const pauseTime = stopwatch(systemRuntime);
        await setImmediate();
        turn = Math.min(LONG_TURN_MS, Math.max(SHORT_TURN_MS, pauseTime()));
        turnTime = stopwatch(systemRuntime);
      }
      const bytes = Buffer.concat(parts);
      // The header holds the number of bytes that are on the disk before the file gets its name.
      if (isFirst) file.append(encodeHeader(bytes.length));
      isFirst = false;
      file.append(bytes);
    },
  };
}
