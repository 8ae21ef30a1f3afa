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
 * A journal in a file: what is paid, and what counts against the limits, outlives the process, also
 * if that is killed. For all processes of one machine at once, in containers too. Node only. The
 * format is described in `FORMAT.md` beside this file.
 *
 * Nothing is opened before the first use. The calls that need it then reject with
 * - `journal_locked`: a process of another machine may have it, or one of a release before files
 *   could be shared.
 * - `journal_damaged`: the file is not what was written, other than a last line that was cut off.
 *   Nothing is spent then.
 * - `journal_unavailable`: the disk failed, or another file was put in its place. Once that is over
 *   the journal goes on.
 * - `invalid_option`: a newer version wrote it, or it has a second path (a hard link, or the file
 *   itself is mounted), which would be another file once it is written anew.
 *
 * With `outbox`, events for webhooks are written in one line with what they tell of, and are there
 * again after a crash. The journals of one file in a process share its outbox: once one that keeps
 * events was used, all of them write events. Without `outbox`, what is in the file stays, and
 * events are added only if an endpoint is registered in it.
 *
 * Throws `ConfigError` (`invalid_option`) if the path is none, or for an option that is not
 * known.
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
