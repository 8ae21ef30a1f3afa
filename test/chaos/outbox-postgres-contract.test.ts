import { postgresJournal } from 'exact-change/journal/postgres';
import { afterAll, beforeAll } from 'vitest';
import { journalContract } from '../contract/journal-contract.js';
import { outboxContract, withOutbox, type OpenOutbox } from '../contract/outbox-contract.js';
import { startPostgres, type Postgres } from '../helpers/postgres.js';

let postgres: Postgres;
let shared: string;

beforeAll(async () => {
  postgres = await startPostgres();
  shared = await postgres.createDatabase();
});
afterAll(() => postgres.stop());

async function open(address: string): Promise<OpenOutbox> {
  const journal = withOutbox(
    postgresJournal({ connectionString: address, outbox: true, timeoutMs: 60_000 }),
  );
  return {
    journal,
    close: () => journal.close(),
    beside: () => open(address),
    reopen: () => open(address),
  };
}

outboxContract('postgresJournal', async () => open(await postgres.createDatabase()));
// An outbox must not change the contract of attempts.
journalContract('postgresJournal with an outbox', () => open(shared), { durable: true });
