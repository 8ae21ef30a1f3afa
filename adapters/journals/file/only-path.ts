import { ConfigError } from '../../../src/errors.js';
import { hasCode, removeFile, type Disk, type OpenFile } from './disk.js';
import { encodeHeader } from './format.js';

/**
 * Opens the file at a path, or makes it. The lock is beside a path, so a file that has a second
 * path has a second lock: it is refused.
 *
 * @param draft - A name beside the path that is free.
 */
export async function openOrCreate(path: string, draft: string, disk: Disk): Promise<OpenFile> {
  let file: OpenFile;
  try {
    file = await disk.open(path);
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
    return create(path, draft, disk);
  }
  try {
    const names = await file.names();
    if (names > 1)
      throw secondPath(
        path,
        `It has ${names} names (hard links): remove all but one, and back it up by copying it.`,
      );
    // No file can get a name beside a place at which it is mounted. Rewriting would fail there too.
    await disk.link(path, draft);
    await removeFile(disk, draft);
    return file;
  } catch (error) {
    await file.close();
    throw hasCode(error, 'EXDEV')
      ? secondPath(path, 'The file itself is mounted there: mount its directory instead.')
      : error;
  }
}

async function create(path: string, draft: string, disk: Disk): Promise<OpenFile> {
  // Whole before it has its name: a file without a header is damage.
  const file = await disk.create(draft);
  try {
    await file.write(encodeHeader(), 0);
    await file.sync();
    await disk.link(draft, path);
    await removeFile(disk, draft);
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

function secondPath(path: string, why: string): ConfigError<'invalid_option'> {
  return new ConfigError(
    'invalid_option',
    `The journal at ${path} can be reached by a second path, past its lock. ${why}`,
    {
      details: { option: 'journal' },
    },
  );
}
