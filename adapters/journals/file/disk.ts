import * as fs from 'node:fs';
import { platform } from 'node:process';
import { promisify } from 'node:util';

/** Which file it is, whatever it is called. */
export interface FileId {
  readonly device: bigint;
  readonly inode: bigint;
}

/**
 * An open file. What takes microseconds is done at once: between a look at the end of the file and
 * a write there, no other work of this process comes in. Only a sync waits for the disk.
 */
export interface OpenFile {
  id(): FileId;
  /** How many names it has. */
  names(): number;
  size(): number;
  /** Reads from a position on; returns how many bytes there were. */
  read(into: Uint8Array, position: number): number;
  /**
   * Writes at the end, wherever that is by then, as one piece that no other process's piece comes
   * into; returns how many bytes the disk took.
   */
  append(bytes: Uint8Array): number;
  truncate(length: number): void;
  /** Resolves once what was written is on the disk itself. */
  sync(): Promise<void>;
  close(): void;
}

/** What the journal asks of a file system. Throws, or rejects, as `node:fs` does. */
export interface Disk {
  /** From now on for its owner's eyes only. Throws `ENOENT` if it is not there. */
  open(path: string): OpenFile;
  /** A new file, for its owner's eyes only. Throws `EEXIST` if one is there. */
  create(path: string): OpenFile;
  /**
   * Gives a file another name, if that name is free: `EEXIST` if it is not. `EXDEV` if the
   * file is mounted at `from`.
   */
  link(from: string, to: string): void;
  /** Gives a file another name, in place of the file that had it. */
  rename(from: string, to: string): void;
  unlink(path: string): void;
  identify(path: string): FileId;
  /** The names in a directory. */
  list(path: string): readonly string[];
  realpath(path: string): string;
  /** Resolves once the names in a directory are on the disk itself. */
  syncDirectory(path: string): Promise<void>;
}

const OWNER_ONLY = 0o600;
const { O_APPEND, O_CREAT, O_EXCL, O_RDWR } = fs.constants;
const datasync = promisify(fs.fdatasync);
const sync = promisify(fs.fsync);

export const nodeDisk: Disk = onPlatform(platform, {
  open: (path) => openFile(madePrivate(fs.openSync(path, O_RDWR | O_APPEND))),
  create: (path) => openFile(fs.openSync(path, O_RDWR | O_APPEND | O_CREAT | O_EXCL, OWNER_ONLY)),
  link: fs.linkSync,
  rename: fs.renameSync,
  unlink: fs.unlinkSync,
  identify: (path) => idOf(fs.statSync(path, { bigint: true })),
  list: (path) => fs.readdirSync(path),
  realpath: (path) => fs.realpathSync(path),
  async syncDirectory(path) {
    const directory = fs.openSync(path, 'r');
    try {
      await sync(directory);
    } finally {
      fs.closeSync(directory);
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
function madePrivate(file: number): number {
  try {
    const { mode } = fs.fstatSync(file);
    if (platform !== 'win32' && (mode & 0o777) !== OWNER_ONLY) fs.fchmodSync(file, OWNER_ONLY);
    return file;
  } catch (error) {
    fs.closeSync(file);
    throw error;
  }
}

function openFile(file: number): OpenFile {
  return {
    id: () => idOf(fs.fstatSync(file, { bigint: true })),
    names: () => fs.fstatSync(file).nlink,
    size: () => fs.fstatSync(file).size,
    read: (into, position) => fs.readSync(file, into, 0, into.length, position),
    append: (bytes) => fs.writeSync(file, bytes),
    truncate: (length) => fs.ftruncateSync(file, length),
    sync: () => datasync(file),
    close: () => fs.closeSync(file),
  };
}

function idOf({ dev, ino }: { readonly dev: bigint; readonly ino: bigint }): FileId {
  return { device: dev, inode: ino };
}

/** Whether an error of a disk has one of some codes, such as `ENOENT`. */
export function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return (
    typeof error === 'object' &&
    error !== null &&
    'code' in error &&
    codes.some((code) => code === error.code)
  );
}

/** Removes a file that may be gone already. */
export function removeFile(disk: Disk, path: string): void {
  try {
    disk.unlink(path);
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
  }
}
