import { resolve } from 'node:path';
import { ConfigError, TransportError } from '../../../src/errors.js';
import { systemRuntime } from '../../../src/internal/runtime.js';
import { wantsOutbox, type JournalOptions } from '../../../src/journal/options.js';
import type { Attempt, Journal } from '../../../src/journal/types.js';
import { jobsOf } from '../../../src/outbox/notices.js';
import { createOutboxListeners, outboxOver, writeAdded } from '../../../src/outbox/port.js';
import type { Cap } from '../../../src/policy/caps.js';
import { unavailable } from './failures.js';
import type { FileRecord } from './format.js';
import type { LogParts, Stores, Work } from './log.js';
import { shareLog, type Share } from './shared.js';

/** A journal in a file. */
export interface FileJournal extends Journal {
  /**
   * Closes the file and frees its lock, once no other journal of this process uses it and all that
   * was begun is written.
   */
  close(): Promise<void>;
}

/** A journal in the file at a path, on any disk. */
export function journalAt(
  path: string,
  parts: LogParts,
  options: JournalOptions = {},
): FileJournal {
  // From JavaScript it may be anything.
  if (typeof path !== 'string' || path === '' || path.includes('\0'))
    throw new ConfigError('invalid_option', 'fileJournal needs the path of a file.', {
      details: { option: 'path' },
    });
  const file = resolve(path);
  const keepsEvents = wantsOutbox(options);
  const listeners = createOutboxListeners();
  let share: Promise<Share> | undefined;
  let closed: Promise<void> | undefined;
  const open = async (): Promise<Share> => {
    try {
      const opened = await shareLog(file, parts);
      if (!keepsEvents) return opened;
      opened.log.keepEvents();
      const { added, dropped } = opened.log.listeners;
      const stops = [added.add(listeners.added.call), dropped.add(listeners.dropped.call)];
      return {
        ...opened,
        leave: () => opened.leave().finally(() => stops.forEach((stop) => stop())),
      };
    } catch (error) {
      share = undefined;
      throw unavailable(file, error);
    }
  };
  const run = async <T>(work: Work<T>): Promise<T> => {
    if (closed !== undefined)
      throw new TransportError(
        'journal_unavailable',
        `This journal was closed. Make another one with fileJournal.`,
        {
          details: { step: 'file' },
        },
      );
    share ??= open();
    const { log } = await share;
    return log.run(work);
  };
  const replace = (attempt: Attempt, caps?: readonly Cap[]) =>
    run((stores, write) => {
      const before = stores.attempts.get(attempt.id);
      const done = stores.attempts.put(attempt, caps);
      if ('cap' in done) return done;
      if (done.kept === undefined) return undefined;
      write({ put: done.kept });
      tell(stores, write, before, done.kept);
      return undefined;
    });
  return {
    reserve: (attempt, caps) =>
      run(({ attempts }, write) => {
        const refused = attempts.reserve(attempt, caps);
        const kept = refused === undefined ? attempts.get(attempt.id) : undefined;
        if (kept !== undefined) write({ put: kept });
        return refused;
      }),
    put: async (attempt) => void (await replace(attempt)),
    raise: replace,
    release: (id) =>
      run((stores, write) => {
        const before = stores.attempts.get(id);
        if (!stores.attempts.release(id)) return;
        write({ release: id });
        tell(stores, write, before, undefined);
      }),
    similar: (owner, fingerprint, idempotencyKey) =>
      run(({ attempts }) => attempts.similar(owner, fingerprint, idempotencyKey)),
    async *attempts(owner, filter) {
      yield* await run(({ attempts }) => attempts.attempts(owner, filter));
    },
    async *owners() {
      yield* await run(({ attempts }) => attempts.owners());
    },
    used: (owner, caps, now) => run(({ attempts }) => attempts.used(owner, caps, now)),
    ...(keepsEvents && {
      outbox: outboxOver((work) => run(({ outbox }, write) => work(outbox, write)), listeners),
    }),
    close() {
      closed ??= share === undefined ? Promise.resolve() : leave(share);
      return closed;
    },
  };
}

/** Adds what a change of an attempt tells, in the line that has the change. */
function tell(
  { outbox, keepsEvents }: Stores,
  write: (record: FileRecord) => void,
  before: Attempt | undefined,
  after: Attempt | undefined,
): void {
  if (!keepsEvents) return;
  writeAdded(outbox.add(jobsOf(before, after, systemRuntime.now())), write);
}

async function leave(share: Promise<Share>): Promise<void> {
  // What could not be opened needs no closing.
  const opened = await share.catch(() => undefined);
  await opened?.leave();
}
