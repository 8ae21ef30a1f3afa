import { setTimeout } from 'node:timers/promises';
import { ConfigError } from '../../../src/errors.js';
import { hasCode, removeFile, type Disk, type OpenFile } from './disk.js';
import { encodeHeader } from './header.js';

/** Another process may look in the same moment whether the file can have a second name. */
const LOOKS = 20;
const LOOK_MS = 5;

/**
 * Opens the file at a path, or makes it. Another file takes its place when it is written anew: what
 * has a second path would be two files then, and is refused.
 *
 * @param draft - A name beside the path that no other process uses.
 */
export async function openOrCreate(path: string, draft: string, disk: Disk): Promise<OpenFile> {
  let file: OpenFile;
  try {
    file = disk.open(path);
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
    await create(path, draft, disk);
    return openOrCreate(path, draft, disk);
  }
  try {
    for (let looks = 1; file.names() > 1; looks += 1) {
      if (looks > LOOKS)
        throw secondPath(
          path,
          `It has ${file.names()} names (hard links): remove all but one, and back it up by copying it.`,
        );
      await setTimeout(LOOK_MS);
    }
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
