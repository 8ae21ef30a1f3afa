import { basename, dirname, join } from 'node:path';
import { ConfigError } from '../../../src/errors.js';
import { hasCode, removeFile, type Disk, type OpenFile } from './disk.js';
import { encodeHeader } from './header.js';

/**
 * Opens the file at a path, or makes it. Another file takes its place when it is written anew: what
 * has a second path would be two files then, and is refused.
 *
 * @param own - A name for this process that no other has.
 */
export async function openOrCreate(path: string, own: string, disk: Disk): Promise<OpenFile> {
  const draft = `${path}.${own}`;
  let file: OpenFile;
  try {
    file = disk.open(path);
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
    await create(path, draft, disk);
    return openOrCreate(path, own, disk);
  }
  try {
    if (file.names() > 1) removeDrafts(path, file, disk);
    const names = file.names();
    if (names > 1)
      throw secondPath(
        path,
        `It has ${names} names (hard links): remove all but one, and back it up by copying it.`,
      );
    // No file can get a name beside a place at which it is mounted. Renaming would fail there too.
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

/** Names that a process gave it for a moment, and may have ended before it took them away. */
function removeDrafts(path: string, file: OpenFile, disk: Disk): void {
  const { inode } = file.id();
  const prefix = `${basename(path)}.`;
  for (const name of disk.list(dirname(path))) {
    if (!name.startsWith(prefix) || !/^[0-9a-f]{32}$/.test(name.slice(prefix.length))) continue;
    const draft = join(dirname(path), name);
    if (disk.identify(draft).inode === inode) removeFile(disk, draft);
  }
}

async function create(path: string, draft: string, disk: Disk): Promise<void> {
  // Whole before it has its name: a file without a header is damage.
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
