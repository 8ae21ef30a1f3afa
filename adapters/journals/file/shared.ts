import { basename, dirname, join } from 'node:path';
import type { Share } from '../log/journal.js';
import { hasCode, type Disk } from './disk.js';
import { openLog, type FileLog, type LogParts } from './log.js';

/** A log that several journals of this process may use. */
interface Entry {
  readonly log: Promise<FileLog>;
  users: number;
  /** Set once the last user has left: the log can be opened again after it. */
  closing?: Promise<void>;
}

const LOGS: unique symbol = Symbol.for('exact-change.file-journals.3');

interface OpenFiles {
  [LOGS]?: Map<string, Entry> | undefined;
}

// One for the process: ES modules and CommonJS are two copies of this file, and would lock each
// other out.
function logs(): Map<string, Entry> {
  const place: typeof globalThis & OpenFiles = globalThis;
  return (place[LOGS] ??= new Map<string, Entry>());
}

/**
 * The log of a file for this process: one, by whatever path and from whatever copy of the package
 * it is asked for. The last to leave closes the file.
 */
export async function shareLog(path: string, parts: LogParts): Promise<Share> {
  const real = realPath(path, parts.disk);
  const all = logs();
  for (let before = all.get(real)?.closing; before !== undefined; before = all.get(real)?.closing)
    await before.catch(() => undefined);
  const entry: Entry = all.get(real) ?? { log: openLog(real, parts), users: 0 };
  all.set(real, entry);
  entry.users += 1;
  const remove = () => {
    if (all.get(real) === entry) all.delete(real);
  };
  const log = await entry.log.catch((error: unknown) => {
    // What kept it from opening may pass.
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

/** Where the file really is, or will be. */
function realPath(path: string, disk: Disk): string {
  try {
    return disk.realpath(path);
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
    return join(disk.realpath(dirname(path)), basename(path));
  }
}
