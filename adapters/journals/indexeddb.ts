/**
 * A journal in a browser, for the tabs of one origin.
 *
 * @module exact-change/journal/indexeddb
 */
import { untilAborted } from '../../src/internal/abort.js';
import { refuse } from '../../src/internal/options.js';
import type { Witness } from './indexeddb/database.js';
import { closedError, missing, unavailable, witnessName } from './indexeddb/failures.js';
import { openLog } from './indexeddb/log.js';
import { journalOver, type LogJournal } from './log/journal.js';

export type { LogJournal as IndexedDbJournal };

const COMPACT_FROM = 512 * 1024;

/**
 * Returns a journal in the browser's IndexedDB. A reload, a crash of the tab or a second tab in the
 * middle of a payment pays nothing twice. Limits count for all tabs and workers of the origin
 * together. A signed transaction leaves only after its record is on the disk. The journal keeps as
 * many closed attempts as `memoryJournal`.
 *
 * The first call opens the database. A call that needs the database rejects with
 * - `journal_unavailable` if the storage is full or failed, or if the page has no IndexedDB or no
 *   Web Locks. Origins other than https: and localhost have none. Nothing is signed then.
 * - `journal_damaged` if the browser has removed the database (for example, evicted it), or if it
 *   holds data that no journal wrote. The spent amounts are unknown then, so nothing more is spent.
 * - `invalid_option` if a newer version of the package has written the database.
 *
 * When the user has connected a wallet, ask the browser with `navigator.storage.persist()` to keep
 * the database.
 *
 * @param name - Name of the database. Default `exact-change`.
 * @throws `ConfigError` (`invalid_option`).
 *
 * @example
 * const client = createClient({ signer, journal: indexedDbJournal() });
 */
export function indexedDbJournal(name = 'exact-change'): LogJournal {
  // A JavaScript caller may pass anything.
  if (typeof name !== 'string' || name === '')
    throw refuse('name', 'must be the name of a database.');
  return journalOver(
    {
      async open(closing) {
        const { indexedDB: factory, navigator } = globalThis as Browser;
        if (factory === undefined) throw missing('indexedDB');
        // Web Locks show which tabs live, so without them another tab's payment looks orphaned.
        const locks = navigator?.locks;
        if (locks?.query === undefined) throw missing('navigator.locks');
        const witness = witnessOf(witnessName(name));
        const opening = openLog(name, { factory, locks, witness, compactFrom: COMPACT_FROM });
        // A browser may never answer. A log that it opens after the journal has closed is closed.
        const log = await untilAborted(opening, closing).catch((error: unknown) => {
          opening.then(({ close }) => close()).catch(() => undefined);
          throw error;
        });
        return { log, leave: log.close };
      },
      unavailable: (cause) => unavailable(name, cause),
      closedError,
    },
    false,
  );
}

/** Browser globals. All are optional, because this code may run in any runtime. */
interface Browser {
  readonly indexedDB?: IDBFactory;
  readonly navigator?: { readonly locks?: Partial<LockManager> & LockManager };
  readonly localStorage?: Storage;
}

/**
 * Keeps the database's name in localStorage, which browsers evict apart from IndexedDB. Without
 * localStorage, as in workers, it notices only a removal while the database is in use.
 */
function witnessOf(key: string): Witness {
  let last: string | null = null;
  const storage = storageOf();
  return {
    recall: () => last ?? storage?.getItem(key) ?? null,
    keep(name) {
      last = name;
      if (storage?.getItem(key) !== name) storage?.setItem(key, name);
    },
  };
}

function storageOf(): Storage | undefined {
  try {
    return (globalThis as Browser).localStorage;
  } catch {
    // The user or a sandboxed frame forbids localStorage.
    return undefined;
  }
}
