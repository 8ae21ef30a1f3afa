import { postgresJournal } from 'exact-change/journal/postgres';
import { afterAll, beforeAll } from 'vitest';
import { coordinationContract } from '../contract/coordination-contract.js';
import { journalContract, type OpenJournal } from '../contract/journal-contract.js';
import { startPostgres, type Postgres } from '../helpers/postgres.js';

let postgres: Postgres;
let address: string;

beforeAll(async () => {
  postgres = await startPostgres();
  address = await postgres.createDatabase();
});
afterAll(() => postgres.stop());

async function open(): Promise<OpenJournal> {
  const journal = postgresJournal({ connectionString: address });
  return { journal, close: () => journal.close(), reopen: open };
}

journalContract('postgresJournal', open, { durable: true });
coordinationContract('postgresJournal', open);
