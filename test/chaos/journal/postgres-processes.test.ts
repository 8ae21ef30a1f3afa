import { postgresJournal } from 'exact-change/journal/postgres';
import { afterAll, beforeAll } from 'vitest';
import { processesContract } from '../../contract/processes-contract.js';
import { startPostgres, withClient, type Postgres } from '../../helpers/postgres.js';

let postgres: Postgres;

beforeAll(async () => {
  postgres = await startPostgres();
});
afterAll(() => postgres.stop());

processesContract('postgresJournal', async () => {
  const address = await postgres.createDatabase();
  const text =
    "select coalesce(sum(cost), 0)::text as used from exact_change.attempts, unnest(units, costs) as u (unit, cost) where unit = 'USD'";
  return {
    address,
    open: () => postgresJournal({ connectionString: address }),
    sum: () =>
      withClient(address, async (client) =>
        BigInt((await client.query<{ used: string }>(text)).rows[0]!.used),
      ),
  };
});
