import { dirname } from 'node:path';
import { TransportError } from '../../../src/errors.js';
import { hasCode, removeFile, type Disk, type FileId, type OpenFile } from './disk.js';
import type { Life, ProcessId, Processes } from './processes.js';

/** A file that is this process's alone. */
export interface FileLock {
  /** Whether it still is. */
  isHeld(): Promise<boolean>;
  release(): Promise<void>;
}

interface Holder extends ProcessId {
  /** Of this one time that it is held. */
  readonly id: string;
}

// Of locks that this process gave up while the disk failed: they may still lie about, and it will
// not hold them again.
const givenUp = new Set<string>();

/**
 * Locks the file at `path` by a file beside it, `<path>.lock`, that says which process holds it. It
 * is made under a name of its own and then linked to that place, which succeeds for one alone. A
 * holder that has ended is succeeded, not removed: the process that links
 * `<path>.lock.after.<its id>` first is its only successor, and no other may touch the place; a
 * successor that ended on the way is succeeded in turn. Whether a holder has ended the kernel says:
 * it listens on a socket beside the file, which no other process can keep alive.
 *
 * Rejects with `journal_locked` if another process holds it.
 */
export async function lockFile(path: string, disk: Disk, processes: Processes): Promise<FileLock> {
  const place = `${path}.lock`;
  const id = processes.token();
  const life = await processes.live(dirname(path), id);
  const holder: Holder = { id, ...life.process };
  const draft = `${place}.${id}`;
  let file: OpenFile | undefined;
  try {
    file = await disk.create(draft);
    const own = await file.id();
    await file.write(new TextEncoder().encode(JSON.stringify(holder)), 0);
    // A lock that is empty after a power failure would name no holder.
    await file.sync();
    while (
      !(await isLinked(disk, draft, place)) &&
      !(await succeed(path, place, draft, disk, processes))
    );
    return heldBy(file, place, disk, own, id, life);
  } catch (error) {
    givenUp.add(id);
    await file?.close().catch(() => undefined);
    await life.end().catch(() => undefined);
    throw error;
  } finally {
    // A name too many does no harm.
    await removeFile(disk, draft).catch(() => undefined);
  }
}

/** Takes the place of holders that have ended. False if another process changed it meanwhile. */
async function succeed(
  path: string,
  place: string,
  draft: string,
  disk: Disk,
  processes: Processes,
): Promise<boolean> {
  const ended: Holder[] = [];
  for (let at = place; ; at = afterOf(place, ended)) {
    const holder = await readHolder(path, at, disk);
    if (holder === undefined) break;
    if (!givenUp.has(holder.id) && (await processes.isAlive(holder, dirname(path))))
      throw locked(path, holder.pid);
    ended.push(holder);
  }
  if (ended.length === 0) return false;
  const next = afterOf(place, ended);
  if (!(await isLinked(disk, draft, next))) return false;
  // Where the place has changed hands, its holder's successor was found before, and has cleared the
  // way that we came.
  if ((await readHolder(path, place, disk))?.id !== ended[0]?.id) {
    await disk.unlink(next);
    return false;
  }
  await disk.rename(draft, place);
  // From here on it is held, whatever is left to be cleared.
  for (let count = ended.length; count > 0; count -= 1)
    await removeFile(disk, afterOf(place, ended.slice(0, count))).catch(() => undefined);
  for (const holder of ended) await processes.clear(holder, dirname(path)).catch(() => undefined);
  return true;
}

function afterOf(place: string, holders: readonly Holder[]): string {
  return `${place}.after.${holders[holders.length - 1]?.id ?? ''}`;
}

function heldBy(
  file: OpenFile,
  place: string,
  disk: Disk,
  own: FileId,
  id: string,
  life: Life,
): FileLock {
  // The file stays open: no other can get its inode as long as it is.
  const isHeld = async () => {
    try {
      const [{ device, inode }, isSeen] = await Promise.all([disk.identify(place), life.isSeen()]);
      // A holder that is not seen to live counts as ended, and its lock may go to another at any
      // time.
      return isSeen && device === own.device && inode === own.inode;
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return false;
      throw error;
    }
  };
  return {
    isHeld,
    async release() {
      try {
        if (await isHeld()) await disk.unlink(place);
      } catch (error) {
        // Not before: a process that succeeded it meanwhile would lose its own lock to the unlink
        // above.
        givenUp.add(id);
        throw error;
      } finally {
        // After the unlink: as long as it is seen to live, no other process touches the lock.
        await file.close().finally(() => life.end());
      }
    },
  };
}

async function isLinked(disk: Disk, from: string, to: string): Promise<boolean> {
  try {
    await disk.link(from, to);
    return true;
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false;
    throw error;
  }
}

/** Undefined if there is none. */
async function readHolder(path: string, at: string, disk: Disk): Promise<Holder | undefined> {
  let file: OpenFile;
  try {
    file = await disk.open(at);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(await file.read()));
    if (isHolder(value)) return value;
  } catch {
    // Not ours: see below.
  } finally {
    await file.close();
  }
  throw locked(path, 0);
}

function isHolder(value: unknown): value is Holder {
  if (typeof value !== 'object' || value === null) return false;
  const { id, pid, start, host, kernel, volume, socket }: Partial<Record<keyof Holder, unknown>> =
    value;
  const texts =
    typeof id === 'string' &&
    typeof host === 'string' &&
    [start, kernel, volume].every(isTextOrNone);
  const isOwnSocket =
    socket === undefined || (typeof socket === 'string' && /^\.[0-9a-f]{32}\.sock$/.test(socket));
  return texts && isOwnSocket && typeof pid === 'number' && Number.isInteger(pid) && pid > 0;
}

function isTextOrNone(value: unknown): boolean {
  return value === undefined || typeof value === 'string';
}

function locked(path: string, pid: number): TransportError<'journal_locked'> {
  const holder = pid === 0 ? 'Something that is no process of this library' : `Process ${pid}`;
  return new TransportError(
    'journal_locked',
    `${holder} has the journal at ${path}, and a file is for one process: end that one, give this one a file of its own, or use ` +
      `exact-change/journal/postgres. If it ran on another machine that is gone for certain, remove ${path}.lock.`,
    { details: { path, pid } },
  );
}
