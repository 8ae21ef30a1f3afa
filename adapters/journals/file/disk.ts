import { link, open, realpath, rename, stat, unlink, type FileHandle } from 'node:fs/promises';
import { platform } from 'node:process';

/** Which file it is, whatever it is called. */
export interface FileId {
  readonly device: bigint;
  readonly inode: bigint;
}

/** An open file. */
export interface OpenFile {
  id(): Promise<FileId>;
  /** How many names it has. */
  names(): Promise<number>;
  size(): Promise<number>;
  read(): Promise<Uint8Array>;
  /** Writes all of it. */
  write(bytes: Uint8Array, position: number): Promise<void>;
  truncate(length: number): Promise<void>;
  /** Resolves once what was written is on the disk itself. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** What the journal asks of a file system. Rejects as `node:fs` does. */
export interface Disk {
  /**
   * For reading and writing, from now on for its owner's eyes only; rejects with `ENOENT` if it
   * is not there.
   */
  open(path: string): Promise<OpenFile>;
  /** A new file, for its owner's eyes only; rejects with `EEXIST` if one is there. */
  create(path: string): Promise<OpenFile>;
  /**
   * Gives a file another name, if that name is free: `EEXIST` if it is not. `EXDEV` if the
   * file is mounted at `from`.
   */
  link(from: string, to: string): Promise<void>;
  /** Gives a file another name, in place of the file that had it. */
  rename(from: string, to: string): Promise<void>;
  unlink(path: string): Promise<void>;
  identify(path: string): Promise<FileId>;
  realpath(path: string): Promise<string>;
  /** Resolves once the names in a directory are on the disk itself. */
  syncDirectory(path: string): Promise<void>;
}

const OWNER_ONLY = 0o600;

export const nodeDisk: Disk = onPlatform(platform, {
  open: async (path) => openFile(await madePrivate(await open(path, 'r+'))),
  create: async (path) => openFile(await open(path, 'wx+', OWNER_ONLY)),
  link,
  rename,
  unlink,
  identify: async (path) => idOf(await stat(path, { bigint: true })),
  realpath: (path) => realpath(path),
  async syncDirectory(path) {
    const directory = await open(path, 'r');
    try {
      await directory.sync();
    } finally {
      await directory.close();
    }
  },
});

/** A disk as a platform has it: Windows cannot sync a directory, and writes its names by itself. */
export function onPlatform(name: string, disk: Disk): Disk {
  if (name !== 'win32') return disk;
  return {
    ...disk,
    syncDirectory: (path) =>
      disk.syncDirectory(path).catch((error: unknown) => {
        if (!hasCode(error, 'EPERM', 'EISDIR', 'EACCES')) throw error;
      }),
  };
}

/**
 * The file may be older than this release, or from a copy: what it holds is secret all the same.
 */
async function madePrivate(handle: FileHandle): Promise<FileHandle> {
  try {
    const { mode } = await handle.stat();
    if (platform !== 'win32' && (mode & 0o777) !== OWNER_ONLY) await handle.chmod(OWNER_ONLY);
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

function openFile(handle: FileHandle): OpenFile {
  return {
    id: async () => idOf(await handle.stat({ bigint: true })),
    names: async () => (await handle.stat()).nlink,
    size: async () => (await handle.stat()).size,
    async read() {
      const bytes = new Uint8Array((await handle.stat()).size);
      let length = 0;
      while (length < bytes.length) {
        const { bytesRead } = await handle.read(bytes, length, bytes.length - length, length);
        if (bytesRead === 0) break;
        length += bytesRead;
      }
      return bytes.subarray(0, length);
    },
    async write(bytes, position) {
      // A disk that is nearly full takes a part.
      for (let done = 0; done < bytes.length;) {
        const { bytesWritten } = await handle.write(
          bytes,
          done,
          bytes.length - done,
          position + done,
        );
        done += bytesWritten;
      }
    },
    truncate: (length) => handle.truncate(length),
    sync: () => handle.datasync(),
    close: () => handle.close(),
  };
}

function idOf({ dev, ino }: { readonly dev: bigint; readonly ino: bigint }): FileId {
  return { device: dev, inode: ino };
}

/** Whether a rejection of a disk has one of some codes, such as `ENOENT`. */
export function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return (
    typeof error === 'object' &&
    error !== null &&
    'code' in error &&
    codes.some((code) => code === error.code)
  );
}

/** Removes a file that may be gone already. */
export async function removeFile(disk: Disk, path: string): Promise<void> {
  await disk.unlink(path).catch((error: unknown) => {
    if (!hasCode(error, 'ENOENT')) throw error;
  });
}
