import { postgresJournal } from 'exact-change/journal/postgres';
import { beforeAll } from 'vitest';
import { coordinationContract } from '../contract/coordination-contract.js';
import { journalContract, type OpenJournal } from '../contract/journal-contract.js';
import { createDatabase } from '../helpers/database.js';

let address: string;

beforeAll(async () => {
  address = await createDatabase();
});

async function open(): Promise<OpenJournal> {
  // 1,200 parallel reservations outlast the default on a busy machine.
  const journal = postgresJournal({ connectionString: address, timeoutMs: 60_000 });
  return { journal, close: () => journal.close(), reopen: open };
}

journalContract('postgresJournal', open, { durable: true });
coordinationContract('postgresJournal', open);
