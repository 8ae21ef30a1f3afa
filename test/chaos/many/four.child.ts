import { createClient } from 'exact-change';
import { postgresJournal } from 'exact-change/journal/postgres';
import { buyAll } from './buy-all.js';
import { faultyFetch } from './faulty-fetch.js';
import type { FourTask } from './four-processes.test.js';

/**
 * One of the processes that share a wallet: buys its part of the addresses, and says on standard
 * output what came of each.
 */
const task = JSON.parse(process.argv[2] ?? '') as FourTask;
const journal = postgresJournal({ connectionString: task.connectionString });
const client = createClient({ ...task.options, journal, fetch: faultyFetch(task.seed) });
const bought = await buyAll(client, task.urls);
await client.close();
await journal.close();
process.stdout.write(JSON.stringify(bought));
