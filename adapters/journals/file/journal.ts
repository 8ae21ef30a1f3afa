import { resolve } from 'node:path';
import { ConfigError } from '../../../src/errors.js';
import { isFromService, requestName } from '../../../src/journal/attempt-names.js';
import { wantsOutbox, type JournalOptions } from '../../../src/journal/options.js';
import { journalOver, type LogJournal } from '../log/journal.js';
import { closedError, unavailable } from './failures.js';
import type { LogParts } from './log.js';
import { shareLog } from './shared.js';

export type { LogJournal as FileJournal };

/** Returns a journal in the file at a path, on any disk. */
export function journalAt(path: string, parts: LogParts, options: JournalOptions = {}): LogJournal {
  // A JavaScript caller may pass anything.
  if (typeof path !== 'string' || path === '' || path.includes('\0'))
    throw new ConfigError('invalid_option', 'fileJournal needs the path of a file.', {
      details: { option: 'path' },
    });
  const file = resolve(path);
  const journal = journalOver(
    {
      open: () => shareLog(file, parts),
      unavailable: (cause) => unavailable(file, cause),
      closedError,
    },
    wantsOutbox(options),
  );
  return {
    ...journal,
    async similar(owner, fingerprint, key) {
      const found = await journal.similar(owner, fingerprint, key);
      if (key !== undefined || !isFromService({ fingerprint })) return found;
      // The file has the payments of a service in its history under this name, as under a key.
      const past = await journal.similar(owner, fingerprint, requestName(fingerprint));
      return [...past, ...found];
    },
  };
}
