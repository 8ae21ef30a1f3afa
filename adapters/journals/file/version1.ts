import { basename, dirname } from 'node:path';
import { isRecord } from '../../../src/internal/record.js';
import { isAttempt } from '../../../src/journal/attempt-json.js';
import { isEndpoint, isOutboxJob } from '../../../src/outbox/json.js';
import { PAYMENTS, USD } from '../../../src/policy/units.js';
import { hasCode } from '../../../src/internal/error-code.js';
import { crc32 } from './crc32.js';
import { removeFile, type Disk, type OpenFile } from './disk.js';
import { lockedBy } from './failures.js';
import { decodeHeader, readHeader } from './header.js';
import type { History } from './history.js';
import { isProcessId, type ProcessId } from '../log/process-id.js';
import type { Processes } from './processes.js';
import type { FileRecord } from '../log/records.js';
import { writeState } from './rewrite.js';
import { Damage } from './scan.js';
import { createState, type State } from '../log/state.js';

const NEWLINE = 0x0a;
const JSON_AT = '00000000 '.length;
/** The smallest piece that a file system writes, or fails to write, at once. */
const SECTOR = Buffer.alloc(512);

/**
 * Converts a file of version 1 to this version, under the lock of version 1. Resolves to false if
 * another process is converting it: the file may be of this version by now.
 */
export async function convert(
  path: string,
  { disk, processes }: { readonly disk: Disk; readonly processes: Processes },
  history: History,
  me: ProcessId,
): Promise<boolean> {
  const lock = `${path}.lock`;
  const draft = `${lock}.${me.id}`;
  const lockFile = disk.create(draft);
  try {
    // `socket` is for version 1: it connects there to find out if the holder of the lock lives.
    lockFile.append(Buffer.from(JSON.stringify({ ...me, socket: me.sign, isConverting: true })));
    await lockFile.sync();
    if (!(await lockAs(draft, path, disk, processes))) return false;
    const file = disk.open(path);
    try {
      // Another process may have converted the file meanwhile.
      if (readHeader(file)?.version !== 1) return true;
      const next = await writeState(`${path}.compact`, readAll(file), history, disk);
      next.close();
      disk.rename(`${path}.compact`, path);
      await disk.syncDirectory(dirname(path));
    } finally {
      file.close();
      removeFile(disk, lock);
    }
    return true;
  } finally {
    lockFile.close();
    removeFile(disk, draft);
  }
}

/** Takes the lock as version 1 does: only one process can follow a holder that has ended. */
async function lockAs(
  draft: string,
  path: string,
  disk: Disk,
  processes: Processes,
): Promise<boolean> {
  const lock = `${path}.lock`;
  if (isLinked(disk, draft, lock)) return true;
  const holder = holderIn(disk, lock);
  if (holder === undefined) return false;
  const { id, pid, socket, isConverting } = holder;
  const seat: unknown = { ...holder, sign: socket };
  // Without a socket, nothing is known of the holder, so it counts as alive.
  const isOver = isProcessId(seat) && (await processes.judge(seat, dirname(path))) === 'ended';
  if (!isOver && isConverting === true) return false;
  if (!isOver) throw lockedBy(path, { pid: Number(pid ?? 0), sign: basename(lock) });
  const after = `${lock}.after.${String(id)}`;
  if (!isLinked(disk, draft, after)) return false;
  try {
    if (holderIn(disk, lock)?.['id'] !== id) return false;
    disk.rename(draft, lock);
    return true;
  } finally {
    removeFile(disk, after);
  }
}

function isLinked(disk: Disk, from: string, to: string): boolean {
  try {
    disk.link(from, to);
    return true;
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false;
    throw error;
  }
}

function holderIn(disk: Disk, lock: string): Record<string, unknown> | undefined {
  let file: OpenFile;
  try {
    file = disk.open(lock);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
  try {
    const value: unknown = JSON.parse(allOf(file).toString('utf8'));
    return isRecord(value) ? value : {};
  } catch {
    return {};
  } finally {
    file.close();
  }
}

function allOf(file: OpenFile): Buffer {
  const bytes = Buffer.allocUnsafe(file.size());
  return bytes.subarray(0, file.read(bytes, 0));
}

/** Reads all lines of a file into a state. Throws {@link Damage}. */
function readAll(file: OpenFile): State {
  const bytes = allOf(file);
  const state = createState({ recall: (place) => failAt(place), past: [], recent: 0 });
  for (let at = bytes.indexOf(NEWLINE) + 1; at < bytes.length;) {
    const end = bytes.indexOf(NEWLINE, at);
    const line = bytes.subarray(at, end === -1 ? bytes.length : end);
    const value = end === -1 ? undefined : decodeHeader(line);
    if (value === undefined && (end === -1 || end === bytes.length - 1) && isTorn(line, end === -1))
      return state;
    const records = Array.isArray(value)
      ? value.flatMap((record) => recordsOf(record, state, at))
      : failAt(at);
    state.apply('', records);
    at = end + 1;
  }
  return state;
}

/**
 * Whether the unreadable last line was cut off while it was written: it has no end, or a hole that
 * never reached the disk. If the CRC fits a part of the line, the line was once whole: it is
 * damaged and not torn.
 */
function isTorn(line: Buffer, hasNoEnd: boolean): boolean {
  if (!hasNoEnd) return line.includes(SECTOR);
  const crc = Number.parseInt(line.toString('latin1', 0, JSON_AT - 1), 16);
  let sum = 0;
  for (let end = JSON_AT; end < line.length - 1; end += 1) {
    sum = crc32(line.subarray(end, end + 1), sum);
    if (sum === crc && decodeHeader(line.subarray(0, end + 1)) !== undefined) return false;
  }
  return true;
}

/**
 * Returns a record of version 1 in this version. Spending of attempts that the file no longer has
 * goes directly into `attempts.spending`.
 */
function recordsOf(value: unknown, { attempts }: State, at: number): FileRecord[] {
  if (!isRecord(value) || Object.keys(value).length !== 1) return failAt(at);
  const { put, release, carry, widest, job, jobDone, endpoint, endpointGone } = value;
  if (isAttempt(put)) return [{ put }];
  if (typeof release === 'string') return [{ release }];
  if (typeof widest === 'number') return [];
  if (isOutboxJob(job)) return [{ job }];
  if (typeof jobDone === 'string') return [{ jobDone }];
  if (isEndpoint(endpoint)) return [{ endpoint }];
  if (typeof endpointGone === 'string') return [{ endpointGone }];
  if (!isRecord(carry)) return failAt(at);
  const { wallet, network, host, payTo, mint, until, cost, amount, microUsd, payments } = carry;
  const [place, time] = [{ wallet, network, host, payTo, mint }, until];
  if (!isPlace(place) || typeof time !== 'number') return failAt(at);
  const sums = cost ?? { [place.mint]: amount, [USD]: microUsd, [PAYMENTS]: payments };
  if (!isRecord(sums)) return failAt(at);
  const spent = Object.entries(sums).map(([unit, sum]) => {
    if (typeof sum !== 'string' || !/^[0-9]+$/.test(sum)) return failAt(at);
    return [unit, [{ after: time - 1, until: time, value: BigInt(sum) }]] as const;
  });
  attempts.spending.restore({ ...place, spent: Object.fromEntries(spent) });
  return [];
}

function isPlace<K extends string>(value: Record<K, unknown>): value is Record<K, string> {
  return Object.values(value).every((text) => typeof text === 'string');
}

function failAt(offset: number): never {
  throw new Damage(offset);
}
