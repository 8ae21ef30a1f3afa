import { emptyBook, type Book } from '../../../src/journal/account-balance.js';
import type { BookShelf } from '../../../src/journal/balance-ledger.js';
import type { Owner } from '../../../src/journal/types.js';
import { decodeBook, encodeBook } from './book-text.js';
import type { Database, Row } from './database.js';
import { digest, ownerParts } from './keys.js';
import type { Tables } from './schema.js';

/** An owner's books, one row each. Changes to one take their turn. */
export function booksIn(database: Database, { books }: Tables, owner: Owner): BookShelf {
  const where = 'where wallet = $1 and network = $2 and account = $3';
  const bookOf = (row: Row | undefined): Book => (row?.['book'] === undefined ? emptyBook : decodeBook(row['book']));
  return {
    async read(account) {
      const [row] = await database.query('read a balance', `select book from ${books} ${where}`, [...ownerParts(owner), account]);
      return bookOf(row);
    },
    change: (account, change) => {
      const name = [...ownerParts(owner), account];
      return database.transaction('change a balance', digest('book', ...name), async (query) => {
        const lock = () => query(`select book from ${books} ${where} for update`, name);
        let [row] = await lock();
        if (row === undefined) {
          // Another process may put it there first: then this waits, writes nothing, and the row is theirs.
          await query(`insert into ${books} values ($1, $2, $3, $4) on conflict do nothing`, [...name, encodeBook(emptyBook)]);
          [row] = await lock();
        }
        const before = bookOf(row);
        const { book, result } = change(before);
        if (book !== before) await query(`update ${books} set book = $4 ${where}`, [...name, encodeBook(book)]);
        return result;
      });
    },
  };
}
