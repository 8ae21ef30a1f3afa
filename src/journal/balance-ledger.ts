import {
  availableIn,
  emptyBook,
  forget,
  heldOf,
  hold,
  isHeld,
  isSpent,
  release,
  see,
  spend,
  type Book,
  type IsFresh,
  type Known,
  type Reading,
} from './account-balance.js';

/** What a wallet's accounts hold, less what is promised to payments and swaps in flight. Accounts are token account addresses, and the wallet's own for lamports. */
export interface Ledger {
  /** What can be spent of an account; undefined if its balance was not seen lately and has to be read. */
  available(account: string, isFresh: IsFresh): Promise<bigint | undefined>;
  /** What is promised to attempts in flight. */
  held(account: string): Promise<bigint>;
  /** Takes down a balance as the chain shows it; `moved` is what is known to have come in, or gone out, since the last time. */
  see(account: string, known: Known, moved?: bigint): Promise<void>;
  forget(account: string): Promise<void>;
  /** Holds an amount for an attempt if it is there, as one step; undefined unless the attempt has its hold. */
  take(account: string, id: string, amount: bigint, isFresh: IsFresh): Promise<Taken | undefined>;
  /** Holds an amount for an attempt that has signed it already; nothing where it is held, or the chain shows that it was spent. */
  hold(account: string, id: string, amount: bigint): Promise<void>;
  /** Ends a hold: the tokens left, in `slot` where the chain shows it. Without a hold, nothing. */
  spend(account: string, id: string, slot?: number): Promise<void>;
  /** Ends a hold: the tokens stayed. Without a hold, nothing. */
  release(account: string, id: string): Promise<void>;
}

/** An amount that is held for an attempt. */
export interface Taken {
  /** What the chain showed of the account last, before the attempt takes from it; undefined if it was not read. */
  readonly before: Reading | undefined;
}

/** Where books are kept. A change is made to the book as it stands, and by no other call meanwhile. */
export interface BookShelf {
  read(account: string): Promise<Book>;
  change<T>(account: string, change: (book: Book) => { readonly book: Book; readonly result: T }): Promise<T>;
}

/** A ledger over books, wherever they are kept. */
export function ledgerOver({ read, change }: BookShelf): Ledger {
  const to = (account: string, next: (book: Book) => Book) => change(account, (book) => ({ book: next(book), result: undefined }));
  return {
    available: async (account, isFresh) => availableIn(await read(account), isFresh),
    held: async (account) => heldOf(await read(account)),
    see: (account, known, moved) => to(account, (book) => see(book, known, moved)),
    forget: (account) => to(account, forget),
    take: (account, id, amount, isFresh) =>
      change(account, (book) => {
        const isThere = !isSpent(book, id) && (availableIn(book, isFresh) ?? 0n) >= amount;
        const taken = { before: book.reading };
        if (isThere) return { book: hold(book, id, amount), result: taken };
        return { book, result: isHeld(book, id) ? taken : undefined };
      }),
    hold: (account, id, amount) => to(account, (book) => hold(book, id, amount)),
    spend: (account, id, slot) => to(account, (book) => spend(book, id, slot)),
    release: (account, id) => to(account, (book) => release(book, id)),
  };
}

/** A ledger in memory: no await between a read and its write makes each change one step. */
export function createLedger(): Ledger {
  const books = new Map<string, Book>();
  const bookOf = (account: string) => books.get(account) ?? emptyBook;
  return ledgerOver({
    read: (account) => Promise.resolve(bookOf(account)),
    change: (account, change) => {
      const { book, result } = change(bookOf(account));
      books.set(account, book);
      return Promise.resolve(result);
    },
  });
}
