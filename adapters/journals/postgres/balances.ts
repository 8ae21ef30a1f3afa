import { emptyBalance, type AccountBalance } from '../../../src/journal/account-balance.js';
import type { BalanceStore } from '../../../src/journal/balance-ledger.js';
import type { Owner } from '../../../src/journal/types.js';
import { decodeBalance, encodeBalance } from './balance-text.js';
import type { Database, Row } from './database.js';
import { digest, ownerParts } from './keys.js';
import type { Tables } from './tables.js';

/** An owner's balances, one row each. Changes to one take their turn. */
export function balancesIn(database: Database, { books }: Tables, owner: Owner): BalanceStore {
  const where = 'where wallet = $1 and network = $2 and account = $3';
  const balanceOf = (row: Row | undefined): AccountBalance =>
    row?.['book'] === undefined ? emptyBalance : decodeBalance(row['book']);
  return {
    async read(account) {
      const [row] = await database.query('read a balance', `select book from ${books} ${where}`, [
        ...ownerParts(owner),
        account,
      ]);
      return balanceOf(row);
    },
    change: (account, change) => {
      const name = [...ownerParts(owner), account];
      return database.transaction('change a balance', digest('book', ...name), async (query) => {
        const lock = () => query(`select book from ${books} ${where} for update`, name);
        let [row] = await lock();
        if (row === undefined) {
          // Another process may put it there first: then this waits, writes nothing, and the row is
          // theirs.
          await query(`insert into ${books} values ($1, $2, $3, $4) on conflict do nothing`, [
            ...name,
            encodeBalance(emptyBalance),
          ]);
          [row] = await lock();
        }
        const before = balanceOf(row);
        const { balance, result } = change(before);
        if (balance !== before)
          await query(`update ${books} set book = $4 ${where}`, [...name, encodeBalance(balance)]);
        return result;
      });
    },
  };
}
