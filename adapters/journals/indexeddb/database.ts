import { damaged, evicted, newerVersion } from './failures.js';

/** A row of the log: records that were written together. */
export interface Row {
  /** Number of the row; the first row has 1. */
  readonly n: number;
  /** JSON: the id of the tab that wrote it, then records, as in a line of a journal's file. */
  readonly text: string;
  /**
   * Set on the first row of a rewrite, which replaced all earlier rows: the characters of the rows
   * that the rewrite wrote.
   */
  readonly anew?: number;
}

export interface Change {
  readonly rows: readonly Row[];
  /** Whether the rows replace all earlier rows. */
  readonly isAnew: boolean;
}

/** The database of a journal. Its transactions run one by one, in all tabs of the origin. */
export interface Database {
  /**
   * Reads the rows after row `after`, and writes the rows that `decide` returns, in one
   * transaction. When this resolves, the rows are on the disk; if it rejects, nothing was written.
   */
  step(after: number, decide: (rows: readonly Row[]) => Change): Promise<void>;
  close(): void;
}

/** Keeps the random name of a database outside of it, so that an eviction is noticed. */
export interface Witness {
  recall(): string | null;
  keep(name: string): void;
}

/** Only a page has these events; a worker or another runtime may lack the methods. */
type Page = Partial<Pick<Window, 'addEventListener' | 'removeEventListener'>>;

const VERSION = 1;
const [LOG, ABOUT, NAME] = ['log', 'about', 'name'];

/** @param newName - Returns a unique name for each database that has to be made. */
export async function openDatabase(
  factory: IDBFactory,
  path: string,
  newName: () => string,
  witness: Witness,
): Promise<Database> {
  let open: Promise<IDBDatabase> | undefined;
  const connect = async (): Promise<IDBDatabase> => {
    const database = await opened(factory, path, newName());
    const lose = () => {
      open = undefined;
      database.close();
    };
    // Close the connection: otherwise a newer version of the package could never open the database.
    database.onversionchange = lose;
    try {
      if ([...database.objectStoreNames].join() !== `${ABOUT},${LOG}`) throw damaged(path, 0);
      const name = await nameOf(database);
      const known = witness.recall();
      if (known !== null && known !== name) throw evicted(path);
      witness.keep(name);
      return database;
    } catch (error) {
      lose();
      throw error;
    }
  };
  const connected = async (): Promise<IDBDatabase> => {
    open ??= connect();
    return open.catch((error: unknown) => {
      open = undefined;
      throw error;
    });
  };
  /** Begins a transaction. Undefined if the connection was lost by now. */
  const begin = (database: IDBDatabase): IDBTransaction | undefined => {
    try {
      return database.transaction(LOG, 'readwrite', { durability: 'strict' });
    } catch (error) {
      if (!(error instanceof DOMException) || error.name !== 'InvalidStateError') throw error;
      open = undefined;
      return undefined;
    }
  };

  await connected();
  let running: IDBTransaction | undefined;
  // WebKit keeps the transaction of a page in its back/forward cache open until the user comes
  // back, and no other tab can write until then. The last write of any other page may still land.
  const stop = ({ persisted }: { readonly persisted?: boolean }) => {
    if (persisted === true) abort(running);
  };
  const page: Page = globalThis;
  page.addEventListener?.('pagehide', stop);
  return {
    async step(after, decide) {
      const transaction = begin(await connected()) ?? begin(await connected());
      if (transaction === undefined) throw new Error('The connection was closed again and again.');
      running = transaction;
      const log = transaction.objectStore(LOG);
      const newRows = log.getAll(IDBKeyRange.lowerBound(after, true));
      let failure: unknown;
      newRows.onsuccess = () => {
        try {
          const { rows, isAnew } = decide(newRows.result as readonly Row[]);
          if (isAnew) log.clear();
          for (const row of rows) log.add(row);
        } catch (error) {
          failure = error;
          abort(transaction);
        }
      };
      await ended(transaction).catch((error: unknown) => {
        throw failure ?? error;
      });
    },
    close() {
      page.removeEventListener?.('pagehide', stop);
      const last = open;
      open = Promise.reject(new Error('closed'));
      open.catch(() => undefined);
      last?.then(
        (database) => database.close(),
        () => undefined,
      );
    },
  };
}

function opened(factory: IDBFactory, path: string, newName: string): Promise<IDBDatabase> {
  const request = factory.open(path, VERSION);
  request.onupgradeneeded = () => {
    const { result } = request;
    result.createObjectStore(LOG, { keyPath: 'n' });
    result.createObjectStore(ABOUT).add(newName, NAME);
  };
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => {
      const isNewer = request.error?.name === 'VersionError';
      reject(isNewer ? newerVersion(path) : (request.error ?? new Error('It did not open.')));
    };
  });
}

async function nameOf(database: IDBDatabase): Promise<string> {
  const transaction = database.transaction(ABOUT);
  const name: IDBRequest<unknown> = transaction.objectStore(ABOUT).get(NAME);
  await ended(transaction);
  return String(name.result);
}

function abort(transaction: IDBTransaction | undefined): void {
  try {
    transaction?.abort();
  } catch {
    // It has ended already.
  }
}

/** Resolves once the transaction is complete: a successful request alone may still be undone. */
function ended(transaction: IDBTransaction): Promise<void> {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    // If Chromium clears the storage, it closes the connection and does not end the transaction.
    transaction.onabort = transaction.db.onclose = () =>
      reject(transaction.error ?? new Error('The browser ended the transaction.'));
  });
}
