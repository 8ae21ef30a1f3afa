/**
 * A journal in a browser, for the tabs of one origin.
 *
 * @module exact-change/journal/indexeddb
 */
import { refuse } from '../../src/internal/options.js';
import type { Witness } from './indexeddb/database.js';
import { closedError, missing, unavailable, witnessName } from './indexeddb/failures.js';
import { openLog } from './indexeddb/log.js';
import { journalOver, type LogJournal } from './log/journal.js';

export type { LogJournal as IndexedDbJournal };

const COMPACT_FROM = 512 * 1024;

/**
 * A journal in the browser's IndexedDB: a reload, a crash of the tab or a second tab in the middle
 * of a payment pays nothing twice, and limits count for all tabs and workers of the origin
 * together. Each write is on the disk before what it tells of leaves. It keeps as many closed
 * attempts as `memoryJournal`.
 *
 * Nothing is opened before the first use. The calls that need it then reject with
 * - `journal_unavailable`: the storage is full or failed; or the page has no IndexedDB or no Web
 *   Locks, as on an origin that is neither https: nor localhost. Nothing is signed then.
 * - `journal_damaged`: the browser has removed it (evicted it, for one), or it is not what was
 *   written. What was spent is not known then, so nothing more is.
 * - `invalid_option`: a newer version of the package has written it.
 *
 * Ask the browser to keep it, with `navigator.storage.persist()`, when the user has connected a
 * wallet.
 *
 * @param name - Of the database, by default `exact-change`.
 * @throws `ConfigError` (`invalid_option`).
 *
 * @example
 * const client = createClient({ signer, journal: indexedDbJournal() });
 */
export function indexedDbJournal(name = 'exact-change'): LogJournal {
  // From JavaScript it may be anything.
  if (typeof name !== 'string' || name === '')
    throw refuse('name', 'must be the name of a database.');
  return journalOver(
    {
      async open() {
        const { indexedDB: factory, navigator } = globalThis as Browser;
        if (factory === undefined) throw missing('indexedDB');
        // Without them, whether another tab is at a payment cannot be told.
        const locks = navigator?.locks;
        if (locks?.query === undefined) throw missing('navigator.locks');
        const witness = witnessOf(witnessName(name));
        const log = await openLog(name, { factory, locks, witness, compactFrom: COMPACT_FROM });
        return { log, leave: log.close };
      },
      unavailable: (cause) => unavailable(name, cause),
      closedError,
    },
    false,
  );
}

/** What of it is there is not known: this may run anywhere. */
interface Browser {
  readonly indexedDB?: IDBFactory;
  readonly navigator?: { readonly locks?: Partial<LockManager> & LockManager };
  readonly localStorage?: Storage;
}

/**
 * In localStorage, which browsers evict apart from IndexedDB. If there is none, as in workers,
 * only what is removed while it is in use is missed.
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
    // Forbidden by the user or by a sandboxed frame.
    return undefined;
  }
}
