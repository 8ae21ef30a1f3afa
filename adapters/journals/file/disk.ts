import * as fs from 'node:fs';
import process, { platform } from 'node:process';
import { promisify } from 'node:util';
import { hasCode } from '../../../src/internal/error-code.js';

/** Identifies a file by its inode, whatever its names are. */
export interface FileId {
  readonly device: bigint;
  readonly inode: bigint;
}

/**
 * An open file. All calls but `sync` are synchronous. So no other work of this process comes
 * between a read at the end of the file and a write there. After `close`, each call throws.
 */
export interface OpenFile {
  id(): FileId;
  /** Returns the number of names (hard links) of the file. */
  names(): number;
  /** Makes the file private to its owner: an older release or a copy may have left it readable. */
  makePrivate(): void;
  size(): number;
  /** Reads bytes from a position on, and returns how many bytes it read. */
  read(into: Uint8Array, position: number): number;
  /**
   * Writes at the current end of the file as one piece: no write of another process can split it.
   * Throws `ENOSPC` if the disk took only a part.
   */
  append(bytes: Uint8Array): void;
  truncate(length: number): void;
  /** Resolves once all written bytes are on the disk itself. */
  sync(): Promise<void>;
  close(): void;
}

/** The file system calls of the journal. They throw, or reject, as `node:fs` does. */
export interface Disk {
  /** Opens a file. Throws `ENOENT` if there is no such file. */
  open(path: string): OpenFile;
  /** Makes a new file, private to its owner. Throws `EEXIST` if the path is taken. */
  create(path: string): OpenFile;
  /**
   * Gives a file a second name. Throws `EEXIST` if the name is taken, and `EXDEV` if the file is
   * mounted at `from`.
   */
  link(from: string, to: string): void;
  /** Renames a file. It replaces the file that had the new name. */
  rename(from: string, to: string): void;
  unlink(path: string): void;
  identify(path: string): FileId;
  /** Returns the names in a directory. */
  list(path: string): readonly string[];
  realpath(path: string): string;
  /** Returns the target of a symbolic link; undefined if the path is no link. */
  readlink(path: string): string | undefined;
  /** Resolves once the names in a directory are on the disk itself. */
  syncDirectory(path: string): Promise<void>;
}

const OWNER_ONLY = 0o600;
const { O_APPEND, O_CREAT, O_EXCL, O_RDWR } = fs.constants;
const datasync = promisify(fs.fdatasync);
const sync = promisify(fs.fsync);

export const nodeDisk: Disk = onPlatform(platform, {
  open: (path) => openFile(fs.openSync(path, O_RDWR | O_APPEND)),
  create(path) {
    const file = fs.openSync(path, O_RDWR | O_APPEND | O_CREAT | O_EXCL, OWNER_ONLY);
    giveToOwner(file, path);
    return openFile(file);
  },
  link: fs.linkSync,
  rename: fs.renameSync,
  unlink: fs.unlinkSync,
  identify: (path) => idOf(fs.statSync(path, { bigint: true })),
  list: (path) => fs.readdirSync(path),
  realpath: (path) => fs.realpathSync(path),
  readlink: (path) =>
    ifThere(() => (fs.lstatSync(path).isSymbolicLink() ? fs.readlinkSync(path) : undefined)),
  async syncDirectory(path) {
    const directory = fs.openSync(path, 'r');
    try {
      await sync(directory);
    } finally {
      fs.closeSync(directory);
    }
  },
});

/** Adapts a disk to a platform: Windows cannot sync a directory, and saves its names by itself. */
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
 * Gives a new file of root to the owner of the journal that it is named after. Otherwise a single
 * command of root, which writes the journal anew, would lock out that owner.
 */
function giveToOwner(file: number, path: string): void {
  if (process.geteuid?.() !== 0) return;
  try {
    const { uid, gid } = fs.statSync(path.slice(0, path.lastIndexOf('.')));
    fs.fchownSync(file, uid, gid);
  } catch {
    // The journal is new, or the file system knows no owners.
  }
}

function makePrivate(file: number): void {
  const { mode } = fs.fstatSync(file);
  if (platform !== 'win32' && (mode & 0o777) !== OWNER_ONLY) fs.fchmodSync(file, OWNER_ONLY);
}

function openFile(descriptor: number): OpenFile {
  let isClosed = false;
  const file = (): number => {
    // Another file or a socket of this process may have the number of a closed file.
    if (isClosed) throw new Error('EBADF: the file was closed.');
    return descriptor;
  };
  return {
    id: () => idOf(fs.fstatSync(file(), { bigint: true })),
    names: () => fs.fstatSync(file()).nlink,
    makePrivate: () => makePrivate(file()),
    size: () => fs.fstatSync(file()).size,
    read: (into, position) => fs.readSync(file(), into, 0, into.length, position),
    append(bytes) {
      if (fs.writeSync(file(), bytes) < bytes.length)
        throw new Error('ENOSPC: there is no room for it.');
    },
    truncate: (length) => fs.ftruncateSync(file(), length),
    sync: async () => datasync(file()),
    close() {
      const open = file();
      // The number is free even if close(2) fails.
      isClosed = true;
      fs.closeSync(open);
    },
  };
}

function idOf({ dev, ino }: { readonly dev: bigint; readonly ino: bigint }): FileId {
  return { device: dev, inode: ino };
}

/** Closes the file if the work on it fails. */
export async function orClose<T>(file: OpenFile, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    file.close();
    throw error;
  }
}

/** Removes a file, if it exists. */
export function removeFile(disk: Disk, path: string): void {
  ifThere(() => disk.unlink(path));
}

/** Identifies a file, if it exists. */
export function idAt(disk: Disk, path: string): FileId | undefined {
  return ifThere(() => disk.identify(path));
}

function ifThere<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
    return undefined;
  }
}
