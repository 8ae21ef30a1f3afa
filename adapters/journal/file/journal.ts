import { resolve } from 'node:path';
import { ConfigError, TransportError } from '../../../src/errors.js';
import type { Journal } from '../../../src/journal/types.js';
import { unavailable } from './failures.js';
import type { LogParts, Work } from './log.js';
import { shareLog, type Share } from './shared.js';

/** A journal in a file. */
export interface FileJournal extends Journal {
  /** Closes the file and frees its lock, once nobody else in this process uses it and all that was begun is written. */
  close(): Promise<void>;
}

/** A journal in the file at a path, on any disk. */
export function journalAt(path: string, parts: LogParts): FileJournal {
  // From JavaScript it may be anything.
  if (typeof path !== 'string' || path === '' || path.includes('\0'))
    throw new ConfigError('invalid_option', 'fileJournal needs the path of a file.', { details: { option: 'path' } });
  const file = resolve(path);
  let share: Promise<Share> | undefined;
  let closed: Promise<void> | undefined;
  const open = async (): Promise<Share> => {
    try {
      return await shareLog(file, parts);
    } catch (error) {
      share = undefined;
      throw unavailable(file, error);
    }
  };
  const run = async <T>(work: Work<T>): Promise<T> => {
    if (closed !== undefined)
      throw new TransportError('journal_unavailable', `This journal was closed. Make another one with fileJournal.`, {
        details: { step: 'file' },
      });
    share ??= open();
    const { log } = await share;
    return log.run(work);
  };
  return {
    reserve: (attempt, caps) =>
      run((store, write) => {
        const refused = store.reserve(attempt, caps);
        const kept = refused === undefined ? store.get(attempt.id) : undefined;
        if (kept !== undefined) write({ put: kept });
        return refused;
      }),
    put: (attempt) =>
      run((store, write) => {
        const kept = store.put(attempt);
        if (kept !== undefined) write({ put: kept });
      }),
    release: (id) =>
      run((store, write) => {
        if (store.release(id)) write({ release: id });
      }),
    similar: (owner, fingerprint, idempotencyKey) => run((store) => store.similar(owner, fingerprint, idempotencyKey)),
    async *attempts(owner, filter) {
      yield* await run((store) => store.attempts(owner, filter));
    },
    used: (owner, caps, now) => run((store) => store.used(owner, caps, now)),
    close() {
      closed ??= share === undefined ? Promise.resolve() : leave(share);
      return closed;
    },
  };
}

async function leave(share: Promise<Share>): Promise<void> {
  // What could not be opened needs no closing.
  const opened = await share.catch(() => undefined);
  await opened?.leave();
}
