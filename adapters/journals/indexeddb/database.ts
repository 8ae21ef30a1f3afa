import { newerVersion, evicted } from './failures.js';

/** A row of the log: what was written together, and how many rows came before it. */
export interface Row {
  readonly n: number;
  /** JSON: the id of the tab that wrote it, then records, as in a line of a journal's file. */
  readonly text: string;
  /**
   * What came before it was removed, and is in the rows from here on: of how many characters they
   * are.
   */
  readonly anew?: number;
}

/** What a transaction leaves behind. */
export interface Change {
  readonly rows: readonly Row[];
  /** Whether they take the place of all others. */
  readonly isAnew: boolean;
}

/** The database of a journal: its transactions take their turns, in all tabs of the origin. */
export interface Database {
  /**
   * Reads the rows after one, and writes what `decide` makes of them at once: as one step that is
   * on the disk when this resolves, or has not happened if it rejects.
   */
  step(after: number, decide: (rows: readonly Row[]) => Change): Promise<void>;
  close(): void;
}

/** Keeps the name that a database was given when it was made, apart from it. */
export interface Witness {
  recall(): string | null;
  keep(name: string): void;
}

const VERSION = 1;
const [LOG, ABOUT, NAME] = ['log', 'about', 'name'];

/** @param own - A name that no other database has, for one that is made. */
export async function openDatabase(
  factory: IDBFactory,
  path: string,
  own: string,
  witness: Witness,
): Promise<Database> {
  let open: Promise<IDBDatabase> | undefined;
  const connect = async (): Promise<IDBDatabase> => {
    const database = await opened(factory, path, own);
    const lose = () => {
      open = undefined;
      database.close();
    };
    // A connection that stays would keep a newer version of the package from ever opening.
    database.onversionchange = lose;
    database.onclose = lose;
    const name = await nameOf(database);
    const known = witness.recall();
    if (known !== null && known !== name) {
      lose();
      throw evicted(path);
    }
    witness.keep(name);
    return database;
  };
  const connected = async (): Promise<IDBDatabase> => {
    open ??= connect();
    return open.catch((error: unknown) => {
      open = undefined;
      throw error;
    });
  };
  /** Undefined if the connection was lost by now. */
  const begin = (database: IDBDatabase): IDBTransaction | undefined => {
    try {
      return database.transaction(LOG, 'readwrite', { durability: 'strict' });
    } catch (error) {
      if (error instanceof DOMException && error.name === 'InvalidStateError') return undefined;
      throw error;
    }
  };

  await connected();
  return {
    async step(after, decide) {
      const transaction = begin(await connected()) ?? begin(await connected());
      if (transaction === undefined) throw new Error('The connection was closed again and again.');
      const log = transaction.objectStore(LOG);
      const news = log.getAll(IDBKeyRange.lowerBound(after, true));
      let failure: unknown;
      news.onsuccess = () => {
        try {
          const { rows, isAnew } = decide(news.result as readonly Row[]);
          if (isAnew) log.clear();
          for (const row of rows) log.add(row);
        } catch (error) {
          failure = error;
          transaction.abort();
        }
      };
      await ended(transaction).catch((error: unknown) => {
        throw failure ?? error;
      });
    },
    close() {
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

function opened(factory: IDBFactory, path: string, own: string): Promise<IDBDatabase> {
  const request = factory.open(path, VERSION);
  request.onupgradeneeded = () => {
    const { result } = request;
    result.createObjectStore(LOG, { keyPath: 'n' });
    result.createObjectStore(ABOUT).add(own, NAME);
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

/** Once it is complete: the success of a request is no promise. */
function ended(transaction: IDBTransaction): Promise<void> {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onabort = () =>
      reject(transaction.error ?? new Error('The browser ended the transaction.'));
  });
}
