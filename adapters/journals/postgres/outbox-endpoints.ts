import type { Endpoint, Outbox } from '../../../src/outbox/outbox.js';
import { hasPlaceFor } from '../../../src/outbox/store.js';
import { lockedTransaction, queryOf, type Database, type Query, type Row } from './database.js';
import { digest, lockKey } from './keys.js';
import { statementsOf } from './statements.js';
import type { Tables } from './tables.js';

/** Whether a journal of the schema keeps events, or did: then the table of endpoints exists. */
export async function hasOutbox(query: Query, tables: Tables): Promise<boolean> {
  const [found] = await query(statementsOf(tables).hasOutbox, [tables.endpoints]);
  return found?.['name'] !== undefined;
}

/**
 * Makes the table of endpoints if it is missing. The job queue must exist before: once a process
 * sees this table, it adds events.
 */
export async function prepareEndpoints(database: Database, tables: Tables): Promise<void> {
  // Check first, because another user may have made the table, and this user may lack that right.
  if (await hasOutbox(queryOf(database, 'tables'), tables)) return;
  const { schema, endpoints } = tables;
  await lockedTransaction(database, 'tables', lockKey(schema, 'tables'), (query) =>
    query(`create table if not exists ${endpoints} (
      seq bigint generated always as identity,
      id text primary key,
      record text not null
    )`),
  );
}

/** Returns the endpoints of the outbox, one row for each. */
export function endpointsIn(
  database: Database,
  { schema, endpoints }: Tables,
): Pick<Outbox, 'endpoints' | 'addEndpoint' | 'changeEndpoint' | 'removeEndpoint'> {
  const list = `select record from ${endpoints} order by seq`;
  return {
    async endpoints() {
      return (await database.query('endpoints', list)).map(endpointOf);
    },
    addEndpoint: (endpoint, most) => {
      const key = lockKey(schema, 'endpoints');
      // Only one transaction adds at a time, so that the count is right until the row is written.
      return lockedTransaction(database, 'add an endpoint', key, async (query) => {
        if (!hasPlaceFor(endpoint, (await query(list)).map(endpointOf), most)) return false;
        await query(`insert into ${endpoints} (id, record) values ($1, $2)`, [
          endpoint.id,
          JSON.stringify(endpoint),
        ]);
        return true;
      });
    },
    changeEndpoint: (id, change) =>
      database.transaction('change an endpoint', digest('endpoint', id), async (query) => {
        const [row] = await query(`select record from ${endpoints} where id = $1 for update`, [id]);
        const changed = row && change(endpointOf(row));
        return changed && write(query, { ...changed, id });
      }),
    async removeEndpoint(id) {
      return (
        (
          await database.query(
            'remove an endpoint',
            `delete from ${endpoints} where id = $1 returning id`,
            [id],
          )
        ).length > 0
      );
    },
  };

  async function write(query: Query, endpoint: Endpoint): Promise<Endpoint> {
    await query(`update ${endpoints} set record = $2 where id = $1`, [
      endpoint.id,
      JSON.stringify(endpoint),
    ]);
    return endpoint;
  }
}

function endpointOf(row: Row): Endpoint {
  // `addEndpoint` and `write` wrote this JSON from an endpoint.
  return JSON.parse(row['record'] ?? 'null') as Endpoint;
}
