import { setImmediate } from 'node:timers/promises';
import { systemRuntime } from '../../../src/internal/runtime.js';
import { stopwatch } from '../../../src/internal/stopwatch.js';
import { removeFile, type Disk, type OpenFile } from './disk.js';
import { encodeHeader } from './header.js';
import type { History } from './history.js';
import { encodeLine } from './line.js';
import { linesOf, snapshotOf, type Says } from '../log/snapshot.js';
import { REWRITING, type State } from '../log/state.js';
import type { Tail } from './tail.js';

/**
 * How often what came meanwhile is written behind, before nothing more may come: if that is written
 * faster than it can be copied, each time would be longer than the one before.
 */
const ROUNDS = 2;
/**
 * How long lines are made before other work has its turn: for as long as that took the last time,
 * within these bounds, or a busy process would add lines faster than they are copied. Milliseconds.
 */
const [SHORT_TURN_MS, LONG_TURN_MS] = [10, 100];

/**
 * Writes a file anew, without what is over, and gives it the path. To be done by one process at a
 * time. What fails before the new file has the name leaves the old one as it is.
 * Resolves to the new file, which has all that counts in the old one, and nothing more can.
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
  const gone = new Set(snapshot.closed.map(({ attempt }) => attempt.id));
  tail.collect(true);
  /** What came since, but for attempts that the history has: no more happens to them. */
  const collected = (): Says[] =>
    tail
      .collected()
      .map(([by, ...all]) => [by, ...all.filter((one) => !('put' in one && gone.has(one.put.id)))]);
  let file: OpenFile | undefined;
  let isSealed = false;
  try {
    const { places, length } = await history.append(tail.state.history, snapshot.closed, now);
    removeFile(disk, draft);
    file = disk.create(draft);
    const writer = createWriter(file);
    await writer.write(linesOf(snapshot, places, length));
    for (let round = 1, rest = collected(); ; round += 1) {
      await writer.write(rest, isSealed);
      await file.sync();
      tail.read();
      rest = collected();
      if (isSealed && rest.length === 0) break;
      if (!isSealed && (rest.length === 0 || round >= ROUNDS)) {
        if (tail.state.locks.get(REWRITING) !== me) throw takenOver();
        isSealed = tail.append([{ sealed: true }]);
        rest = [...rest, ...collected()];
        if (isSealed && rest.length === 0) break;
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

/** This process was taken for ended, as its sign was taken away. */
function takenOver(): Error {
  return new Error('Another process may write the file anew by now.');
}

/** A file with what a state says, under another name. */
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
  await createWriter(file).write(linesOf(snapshot, places, length));
  await file.sync();
  return file;
}

/** Writes lines into a new file, each after the one before. */
function createWriter(file: OpenFile): {
  /** @param isUrgent - All processes wait for it. */
  write(lines: readonly Says[], isUrgent?: boolean): Promise<void>;
} {
  const put = (bytes: Buffer): void => {
    if (file.append(bytes) < bytes.length) throw new Error('ENOSPC: there is no room for it.');
  };
  let end = encodeHeader().length;
  let isFirst = true;
  return {
    async write(lines, isUrgent = false) {
      if (lines.length === 0) return;
      const parts: Buffer[] = [];
      let mine = stopwatch(systemRuntime);
      let turn = SHORT_TURN_MS;
      for (const line of lines) {
        const bytes = encodeLine(end, JSON.stringify(line));
        end += bytes.length;
        parts.push(bytes);
        if (isUrgent || mine() < turn) continue;
        const others = stopwatch(systemRuntime);
        await setImmediate();
        turn = Math.min(LONG_TURN_MS, Math.max(SHORT_TURN_MS, others()));
        mine = stopwatch(systemRuntime);
      }
      const bytes = Buffer.concat(parts);
      // It says how much was on the disk before the file got its name.
      if (isFirst) put(encodeHeader(bytes.length));
      isFirst = false;
      put(bytes);
    },
  };
}
