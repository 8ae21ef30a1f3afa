import { dirname } from 'node:path';
import { ConfigError } from '../../../src/errors.js';
import {
  createAttemptStore,
  type AttemptStore,
  type Carried,
} from '../../../src/journal/attempt-store.js';
import { announce, createOutboxListeners, type OutboxListeners } from '../../../src/outbox/port.js';
import {
  createOutboxStore,
  hasReaders,
  type Leases,
  type OutboxRecord,
  type OutboxStore,
} from '../../../src/outbox/store.js';
import { removeFile, type Disk } from './disk.js';
import { damaged, unavailable } from './failures.js';
import { decode, encodeContent, encodeRecords, type Decoded, type FileRecord } from './format.js';
import { lean } from './lean.js';
import { lockFile, type FileLock } from './lock.js';
import { openOrCreate } from './only-path.js';
import type { Processes } from './processes.js';

/** What a file keeps. */
export interface Stores {
  readonly attempts: AttemptStore;
  readonly outbox: OutboxStore;
  /** Whether what happens to attempts is to be told. */
  readonly keepsEvents: boolean;
}

/** What happens to the stores, and what of it is to be written down. */
export type Work<T> = (stores: Stores, write: (record: FileRecord) => void) => T;

/** Stores whose changes are in a file before any caller learns of them. */
export interface FileLog {
  /**
   * Runs work, and resolves once what it wrote is on the disk. Work that comes while the disk is
   * busy shares the next write.
   */
  run<T>(work: Work<T>): Promise<T>;
  /** From now on events are kept, whatever journal writes what they tell of. */
  keepEvents(): void;
  /** What hears of changes to the outbox. */
  readonly listeners: OutboxListeners;
  /** After all work that was begun. */
  close(): Promise<void>;
}

/** What a log runs on. */
export interface LogParts {
  readonly disk: Disk;
  readonly processes: Processes;
  /** From how many bytes on a file may be worth rewriting. */
  readonly compactFrom: number;
}

/** Work that waits for its turn. Returns how to tell its outcome. */
interface Job {
  run(stores: Stores, write: (record: FileRecord) => void): () => void;
  fail(error: unknown): void;
}

/** A file is rewritten if that leaves no more than this share of it. */
const WORTH_IT = 1 / 2;

/**
 * Opens, or makes, the journal at a path, and keeps all other processes out of it.
 *
 * Rejects with `journal_locked`, `journal_damaged`, `invalid_option` for the file of a newer
 * version, or as the disk does.
 */
export async function openLog(path: string, parts: LogParts): Promise<FileLog> {
  const lock = await lockFile(path, parts.disk, parts.processes);
  try {
    return await logOn(path, lock, parts);
  } catch (error) {
    await lock.release().catch(() => undefined);
    throw error;
  }
}

async function logOn(
  path: string,
  lock: FileLock,
  { disk, compactFrom }: LogParts,
): Promise<FileLog> {
  const directory = dirname(path);
  const draft = `${path}.compact`;
  await removeFile(disk, draft);
  let file = await openOrCreate(path, draft, disk);
  let id = await file.id();
  // Of what memory knows, all is in so many bytes of the file.
  let length: number;
  let attempts: AttemptStore;
  let outbox: OutboxStore;
  let wanted = false;
  // Of jobs whose takers know of it: nothing of it is in the file.
  let leases: Leases = new Map();
  const listeners = createOutboxListeners();
  // The file or its directory may not be as memory has it.
  let doubtful = false;
  let checkAt = compactFrom;
  let jobs: Job[] = [];
  let running: Promise<void> | undefined;

  /** Reads back what is known to be in the file, once that is known to be on the disk. */
  const reload = async (upTo?: number): Promise<void> => {
    await disk.syncDirectory(directory);
    const size = await file.size();
    if (upTo !== undefined && size > upTo) await file.truncate(upTo);
    const decoded = readable(path, await file.read());
    if (upTo !== undefined && decoded.length !== upTo)
      throw damaged(path, Math.min(size, decoded.length));
    if (upTo === undefined && size > decoded.length) await file.truncate(decoded.length);
    await file.sync();
    attempts = attemptsOf(decoded);
    outbox = createOutboxStore(decoded.records.filter(isOutboxRecord), leases);
    length = decoded.length;
    doubtful = false;
  };

  const check = async (): Promise<void> => {
    const { device, inode } = await disk.identify(path);
    if (device !== id.device || inode !== id.inode)
      throw new Error('Another file has been put in its place.');
    if (!(await lock.isHeld()))
      throw new Error(`Its lock, ${path}.lock, or the socket that this names, was taken away.`);
  };

  /**
   * Cuts off what may have been written, if the file is still this process's: the next holder's
   * lines must stay.
   */
  const recover = async (): Promise<void> => {
    await check();
    await reload(length);
  };

  const append = async (records: readonly FileRecord[]): Promise<void> => {
    const line = encodeRecords(records);
    doubtful = true;
    await file.write(line, length);
    await file.sync();
    length += line.length;
    doubtful = false;
  };

  const perform = async (batch: readonly Job[]): Promise<void> => {
    try {
      if (doubtful) await recover();
      else await check();
      const records: FileRecord[] = [];
      const stores = { attempts, outbox, keepsEvents: wanted || hasReaders(outbox) };
      const outcomes = batch.map((job) => job.run(stores, (record) => records.push(record)));
      if (records.length > 0) await append(records);
      leases = outbox.leases();
      for (const tell of outcomes) tell();
      announce(listeners, outbox, records);
    } catch (cause) {
      // What failed must not come back: were this process to end now, the line could be found
      // whole.
      if (doubtful) await recover().catch(() => undefined);
      for (const job of batch) job.fail(unavailable(path, cause));
    }
  };

  /**
   * Rewrites the file where much of it is over. What fails before the new file has the name leaves
   * the old one as it is.
   */
  const compact = async (): Promise<void> => {
    const content = lean(attempts.content());
    const bytes = encodeContent({ ...content, ...outbox.content() });
    checkAt = Math.max(compactFrom, 2 * length);
    if (bytes.length > length * WORTH_IT) return;
    await removeFile(disk, draft);
    const next = await disk.create(draft);
    try {
      await next.write(bytes, 0);
      await next.sync();
      const nextId = await next.id();
      await check();
      await disk.rename(draft, path);
      id = nextId;
    } catch (error) {
      await next.close();
      await removeFile(disk, draft);
      throw error;
    }
    const last = file;
    [file, attempts, length, checkAt] = [
      next,
      createAttemptStore(content),
      bytes.length,
      Math.max(compactFrom, 2 * bytes.length),
    ];
    // Until the directory is on the disk, a power failure could bring the old file back, without
    // what is written from here on.
    doubtful = true;
    await last.close();
    await disk.syncDirectory(directory);
    doubtful = false;
  };

  const loop = async (): Promise<void> => {
    while (jobs.length > 0) {
      const batch = jobs;
      jobs = [];
      await perform(batch);
      if (!doubtful && length >= checkAt) await compact().catch(() => undefined);
    }
    running = undefined;
  };

  try {
    await reload();
  } catch (error) {
    await file.close();
    throw error;
  }
  return {
    run: (work) =>
      new Promise((resolve, reject) => {
        jobs.push({
          run(current, write) {
            try {
              const value = work(current, write);
              return () => resolve(value);
            } catch (error) {
              return () => reject(error);
            }
          },
          fail: reject,
        });
        // One turn later: calls that come together are written together.
        running ??= Promise.resolve().then(loop);
      }),
    keepEvents() {
      wanted = true;
    },
    listeners,
    async close() {
      await running;
      try {
        await file.close();
      } finally {
        await lock.release();
      }
    },
  };
}

function readable(path: string, bytes: Uint8Array): Decoded {
  const found = decode(bytes);
  if ('damagedAt' in found) throw damaged(path, found.damagedAt);
  if ('version' in found) {
    throw new ConfigError(
      'invalid_option',
      `The journal at ${path} has version ${JSON.stringify(found.version)} of its format, and this release reads version 1: update exact-change.`,
      { details: { option: 'journal' } },
    );
  }
  return found;
}

function attemptsOf({ records }: Decoded): AttemptStore {
  const carried: Carried[] = [];
  let widestMs = 0;
  for (const record of records) {
    if ('carry' in record) carried.push(record.carry);
    if ('widest' in record) widestMs = Math.max(widestMs, record.widest);
  }
  const store = createAttemptStore({ carried, widestMs });
  for (const record of records) {
    if ('put' in record) store.restore(record.put);
    if ('release' in record) store.remove(record.release);
  }
  return store;
}

function isOutboxRecord(record: FileRecord): record is OutboxRecord {
  return 'job' in record || 'jobDone' in record || 'endpoint' in record || 'endpointGone' in record;
}
