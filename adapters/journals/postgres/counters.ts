import type { Owner } from '../../../src/journal/types.js';
import type { Database } from './database.js';
import { ownerParts } from './keys.js';
import type { Tables } from './tables.js';

/**
 * Counts up from 1 under a name. A name that was not used for a day is forgotten: what is counted
 * by it, a blockhash, lives for minutes.
 */
export async function nextIn(
  database: Database,
  { counters }: Tables,
  owner: Owner,
  name: string,
): Promise<number> {
  const [row] = await database.query(
    'next',
    `insert into ${counters} as c (wallet, network, name, next) values ($1, $2, $3, 1)
     on conflict (wallet, network, name) do update set next = c.next + 1, used_at = now()
     returning next::text as number`,
    [...ownerParts(owner), name],
  );
  const number = Number(row?.['number']);
  if (number === 1)
    await database.query(
      'next',
      `delete from ${counters} where used_at < now() - interval '1 day'`,
    );
  return number;
}
