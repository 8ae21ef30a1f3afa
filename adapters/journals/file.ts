/**
 * A journal in a file, for the processes of one machine.
 *
 * @module exact-change/journal/file
 */
import type { JournalOptions } from '../../src/journal/options.js';
import { nodeDisk } from './file/disk.js';
import { journalAt, type FileJournal } from './file/journal.js';
import { nodeProcesses } from './file/processes.js';

export type { JournalOptions } from '../../src/journal/options.js';
export type { FileJournal } from './file/journal.js';

const COMPACT_FROM = 4 * 1024 * 1024;
const RECENT = 256;

/**
 * Returns a journal in a file. Payments and spending outlive the process, also if it is killed. All
 * processes of one machine may share the file, in containers too. Node only.
 * `adapters/journals/FORMAT.md` of the repository describes the format.
 *
 * The first call opens the file. A call that needs the file rejects with
 * - `journal_locked` if a process of another machine may use the file, or a process of a release
 *   without shared files.
 * - `journal_damaged` if the file holds bytes that no journal wrote, other than a last line that
 *   was cut off. Nothing is spent then.
 * - `journal_unavailable` if the disk failed, or if another file has the path. The journal works
 *   again once the cause is over.
 * - `invalid_option` if a newer version wrote the file, or if the file has a second path. A second
 *   path is a hard link, or a mount of the file itself. After a rewrite, it would lead to another
 *   file.
 *
 * With `outbox`, the journal writes events for webhooks. An event and the change that it reports
 * share a line, so a crash loses no event. The journals of one file in a process share its outbox:
 * after the first use of a journal with `outbox`, all of them write events. Without `outbox`, the
 * events in the file stay, and new events are added only if the file has a registered endpoint.
 *
 * Throws `ConfigError` (`invalid_option`) if the path is no path, or for an unknown option.
 *
 * @example
 * const journal = fileJournal('./payments.jsonl');
 * const client = createClient({ walletSecretKey, journal });
 * await client.close();
 * await journal.close();
 */
export function fileJournal(path: string, options: JournalOptions = {}): FileJournal {
  return journalAt(
    path,
    { disk: nodeDisk, processes: nodeProcesses, compactFrom: COMPACT_FROM, recent: RECENT },
    options,
  );
}
