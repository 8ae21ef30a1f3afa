import type { Owner } from '../../../src/journal/types.js';
import type { Database } from './database.js';
import { ownerParts } from './keys.js';
import { statementsOf } from './statements.js';
import type { Tables } from './tables.js';

/**
 * Returns the next number of a name's counter, from 1 on. A counter that was unused for a day is
 * deleted: its name is a blockhash, which is valid for minutes.
 */
export async function nextIn(
  database: Database,
  tables: Tables,
  owner: Owner,
  name: string,
): Promise<number> {
  const text = statementsOf(tables);
  const [row] = await database.query('next', text.next, [...ownerParts(owner), name]);
  const number = Number(row?.['number']);
  if (number === 1) await database.query('next', text.forgetCounters);
  return number;
}
