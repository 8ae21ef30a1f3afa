import { basename, dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { ConfigError } from '../../../src/errors.js';
import { hasCode } from '../../../src/internal/error-code.js';
import { idAt, orClose, removeFile, type Disk, type OpenFile } from './disk.js';
import { encodeHeader, readHeader, VERSION } from './header.js';
import type { History } from './history.js';
import type { ProcessId } from '../log/process-id.js';
import type { Processes } from './processes.js';
import { Damage } from './scan.js';
import { convert } from './version1.js';

/** Another process that converts the file is soon done. Milliseconds. */
const WAIT_MS = 20;

/** Opens the file at a path, or makes it. Converts a file of version 1 first. */
export async function openFile(
  path: string,
  parts: { readonly disk: Disk; readonly processes: Processes },
  history: History,
  me: ProcessId,
): Promise<OpenFile> {
  for (;;) {
    const file = await openOrCreate(path, me.id, parts.disk);
    const header = await orClose(file, () => {
      const found = readHeader(file);
      // Only a journal: the path may be wrong, and lead to a device or to another program's file.
      if (found?.version === VERSION) file.makePrivate();
      return found;
    });
    if (header?.version === VERSION) return file;
    file.close();
    if (header === undefined) throw new Damage(0);
    if (header.version !== 1) throw newer(path, header.version);
    if (!(await convert(path, parts, history, me))) await setTimeout(WAIT_MS);
  }
}

function newer(path: string, version: unknown): ConfigError<'invalid_option'> {
  return new ConfigError(
    'invalid_option',
    `The journal at ${path} has version ${JSON.stringify(version)} of its format, and this release reads versions 1 and ${VERSION}: update exact-change.`,
    { details: { option: 'journal' } },
  );
}

/**
 * Opens the file at a path, or makes it. Rejects if the file has a second path: a rewrite puts a
 * new file at this path, and the second path would still lead to the old file.
 *
 * @param id - The id of this process.
 */
async function openOrCreate(path: string, id: string, disk: Disk): Promise<OpenFile> {
  const draft = `${path}.${id}`;
  let file: OpenFile;
  try {
    file = disk.open(path);
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
    await create(path, draft, disk);
    return openOrCreate(path, id, disk);
  }
  try {
    const names = namesOf(path, file, disk);
    if (names > 1)
      throw secondPath(
        path,
        `It has ${names} names (hard links): remove all but one, and back it up by copying it.`,
      );
    // A file that is mounted at the path cannot get a link beside it, and cannot be renamed.
    disk.link(path, draft);
    removeFile(disk, draft);
    return file;
  } catch (error) {
    file.close();
    throw hasCode(error, 'EXDEV')
      ? secondPath(path, 'The file itself is mounted there: mount its directory instead.')
      : error;
  }
}

/** How often the names of a file are counted. */
const LOOKS = 10;

/**
 * Counts the names of a file, without draft names. It looks again, because each process that opens
 * the file gives it a draft name for a moment.
 */
function namesOf(path: string, file: OpenFile, disk: Disk): number {
  for (let looks = 1; ; looks += 1) {
    const names = file.names();
    if (names === 1 || looks === LOOKS) return names;
    removeDrafts(path, file, disk);
  }
}

/** Removes the draft names of a file, which a process may have left behind when it ended. */
function removeDrafts(path: string, file: OpenFile, disk: Disk): void {
  const { inode } = file.id();
  const prefix = `${basename(path)}.`;
  for (const name of disk.list(dirname(path))) {
    if (!name.startsWith(prefix) || !/^[0-9a-f]{32}$/.test(name.slice(prefix.length))) continue;
    const draft = join(dirname(path), name);
    if (idAt(disk, draft)?.inode === inode) removeFile(disk, draft);
  }
}

async function create(path: string, draft: string, disk: Disk): Promise<void> {
  // Write the header before the file gets its name: a file without a header is damage.
  const file = disk.create(draft);
  try {
    file.append(encodeHeader());
    await file.sync();
    disk.link(draft, path);
  } catch (error) {
    // Another process was first.
    if (!hasCode(error, 'EEXIST')) throw error;
  } finally {
    file.close();
    removeFile(disk, draft);
  }
}

function secondPath(path: string, why: string): ConfigError<'invalid_option'> {
  return new ConfigError(
    'invalid_option',
    `The journal at ${path} can be reached by a second path, which would be another file when it is written anew. ${why}`,
    {
      details: { option: 'journal' },
    },
  );
}
