import { basename, dirname, join, resolve } from 'node:path';
import { hasCode } from '../../../src/internal/error-code.js';
import type { SharedLog } from '../log/journal.js';
import type { Disk } from './disk.js';
import type { JournalLog } from '../log/port.js';
import { openLog, type LogParts } from './log.js';

/** A log that several journals of this process may use. */
interface Entry {
  readonly log: Promise<JournalLog>;
  users: number;
  /** Set once the last user has left. The log can be opened again once it resolves. */
  closing?: Promise<void>;
}

const LOGS: unique symbol = Symbol.for('exact-change.file-journals.3');

interface OpenFiles {
  [LOGS]?: Map<string, Entry> | undefined;
}

// One map for the process: the ES module and the CommonJS copy of this file would otherwise lock
// each other out.
function logs(): Map<string, Entry> {
  const place: typeof globalThis & OpenFiles = globalThis;
  return (place[LOGS] ??= new Map<string, Entry>());
}

/**
 * Returns the log of a file. This process has one log for a file, also if callers use different
 * paths or copies of the package. The last user that leaves closes the file.
 */
export async function shareLog(path: string, parts: LogParts): Promise<SharedLog> {
  const real = realPath(path, parts.disk);
  const open = logs();
  for (
    let closing = open.get(real)?.closing;
    closing !== undefined;
    closing = open.get(real)?.closing
  )
    await closing.catch(() => undefined);
  const entry: Entry = open.get(real) ?? { log: openLog(real, parts), users: 0 };
  open.set(real, entry);
  entry.users += 1;
  const remove = () => {
    if (open.get(real) === entry) open.delete(real);
  };
  const log = await entry.log.catch((error: unknown) => {
    // Forget the entry, so that the next call tries to open the file again.
    remove();
    throw error;
  });
  return {
    log,
    leave() {
      entry.users -= 1;
      if (entry.users > 0) return Promise.resolve();
      return (entry.closing = log.close().finally(remove));
    },
  };
}

/** Returns the path without symbolic links, also if the file does not exist yet. */
function realPath(path: string, disk: Disk): string {
  try {
    return disk.realpath(path);
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
    const folder = disk.realpath(dirname(path));
    const file = join(folder, basename(path));
    // A link to a missing file takes its own name, so no file could be made at that name.
    const target = disk.readlink(file);
    return target === undefined ? file : realPath(resolve(folder, target), disk);
  }
}
