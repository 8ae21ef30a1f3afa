import {
  changed,
  emptyBalance,
  type AccountBalance,
} from '../../../src/journal/account-balance.js';
import type { BalanceStore } from '../../../src/journal/balance-ledger.js';
import { sinceThen, systemRuntime } from '../../../src/internal/runtime.js';
import { isOpen } from '../../../src/journal/states.js';
import type { Owner } from '../../../src/journal/types.js';
import { balanceFrom, withTexts } from '../balance-json.js';
import { recordOf } from './attempt-rows.js';
import type { Database, Row } from './database.js';
import { digest, ownerParts } from './keys.js';
import { statementsOf } from './statements.js';
import type { Tables } from './tables.js';

/**
 * How long a balance that came with another query serves reads, in milliseconds. Only reads use it:
 * a step that changes the balance reads the row.
 */
const SERVES_MS = 500;

/** The balances of all owners, one row for each account. Changes of a row run one by one. */
export interface Balances {
  of(owner: Owner): BalanceStore;
  /** Runs a query that also returns the balances of an owner, and keeps them for reads. */
  asking<T>(
    owner: Owner,
    ask: () => Promise<{ readonly books: readonly Row[]; readonly result: T }>,
  ): Promise<T>;
  /** Runs a write that may change balances: balances that were read before it serve no more. */
  changing<T>(work: () => Promise<T>): Promise<T>;
}

export function balancesIn(database: Database, tables: Tables): Balances {
  const text = statementsOf(tables);
  /** Counts the begins and ends of changes. */
  let changes = 0;
  let seen = { owner: '', changes, at: -Infinity, books: new Map<string, Row>() };
  const nameOf = (owner: Owner) => digest(...ownerParts(owner));
  const changing = async <T>(work: () => Promise<T>): Promise<T> => {
    changes += 1;
    try {
      return await work();
    } finally {
      changes += 1;
    }
  };
  return {
    changing,
    async asking(owner, ask) {
      const before = changes;
      const found = await ask();
      seen = {
        owner: nameOf(owner),
        changes: before,
        at: systemRuntime.now(),
        books: new Map(found.books.map((row) => [row['account'] ?? '', row])),
      };
      return found.result;
    },
    of: (owner) => ({
      async read(account) {
        const isNew = seen.changes === changes && sinceThen(systemRuntime, seen.at) < SERVES_MS;
        if (isNew && seen.owner === nameOf(owner)) return balanceOf(seen.books.get(account));
        const [row] = await database.query('read a balance', text.readBook, [
          ...ownerParts(owner),
          account,
        ]);
        return balanceOf(row);
      },
      step: (account, decide, of, isOnRecord) => {
        const name = [...ownerParts(owner), account];
        return changing(() =>
          database.transaction('change a balance', digest('book', ...name), async (query) => {
            // Lock the attempt before the balance, in the order in which a put locks them.
            const [record] = of === undefined ? [] : await query(text.standing, [of]);
            const lock = () => query(text.lockBook, name);
            let [row] = await lock();
            if (row === undefined) {
              await query(text.makeBook, [...name, JSON.stringify(emptyBalance)]);
              [row] = await lock();
            }
            const before = balanceOf(row);
            const hasEnded = record === undefined ? isOnRecord === true : !isOpen(recordOf(record));
            const { change, result } = decide(hasEnded ? emptyBalance : before);
            const after = change === undefined || hasEnded ? before : changed(before, change);
            if (after !== before)
              await query(text.writeBook, [...name, JSON.stringify(withTexts(after))]);
            return result;
          }),
        );
      },
    }),
  };
}

function balanceOf(row: Row | undefined): AccountBalance {
  return row?.['book'] === undefined
    ? emptyBalance
    : balanceFrom(JSON.parse(row['book']) as object);
}
