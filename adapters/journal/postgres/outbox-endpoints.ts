import type { Endpoint, Outbox } from '../../../src/journal/outbox.js';
import type { Database } from './database.js';
import { lockKey } from './keys.js';
import type { Tables } from './schema.js';

/** Makes the table of endpoints where it is missing: a journal that has no outbox has none. */
export async function prepareEndpoints(database: Database, { schema, endpoints }: Tables): Promise<void> {
  // Looked at without any right to create: the table may have been made by somebody else.
  const [found] = await database.query('tables', 'select to_regclass($1)::text as name', [endpoints]);
  if (found?.['name'] !== undefined) return;
  const key = lockKey(schema, 'tables');
  await database.transaction('tables', key, async (query) => {
    await query('select pg_advisory_xact_lock($1::bigint)::text', [key]);
    await query(`create table if not exists ${endpoints} (
      seq bigint generated always as identity,
      id text primary key,
      record text not null
    )`);
  });
}

/** Where events are told, one row each. */
export function endpointsIn(database: Database, { endpoints }: Tables): Pick<Outbox, 'endpoints' | 'putEndpoint' | 'removeEndpoint'> {
  return {
    async endpoints() {
      const rows = await database.query('endpoints', `select record from ${endpoints} order by seq`);
      // Written from endpoints, below.
      return rows.map((row) => JSON.parse(row['record'] ?? 'null') as Endpoint);
    },
    async putEndpoint(endpoint) {
      const text = `insert into ${endpoints} (id, record) values ($1, $2) on conflict (id) do update set record = excluded.record`;
      await database.query('put an endpoint', text, [endpoint.id, JSON.stringify(endpoint)]);
    },
    async removeEndpoint(id) {
      return (await database.query('remove an endpoint', `delete from ${endpoints} where id = $1 returning id`, [id])).length > 0;
    },
  };
}
