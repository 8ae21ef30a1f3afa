import { createClient } from 'exact-change';
import { fileJournal } from 'exact-change/journal/file';
import { postgresJournal } from 'exact-change/journal/postgres';
import { buyAll } from './buy-all.js';
import { faultyFetch } from './faulty-fetch.js';
import type { FourTask } from './four-processes.test.js';

/**
 * A process of several that share a wallet. Buys its share of the URLs, and prints the results. The
 * Python tests start it too.
 */
const task = JSON.parse(process.argv[2] ?? '') as FourTask;
const { connectionString, path, options, seed, inHow } = task;
const journal = path === undefined ? postgresJournal({ connectionString }) : fileJournal(path);
const client = createClient({ ...options, journal, fetch: faultyFetch(seed, inHow) });
if (task.kill !== undefined)
  client.on(task.kill[1], () => void process.kill(process.pid, 'SIGKILL'));
const bought = await buyAll(client, task.urls);
await client.close();
await journal.close();
process.stdout.write(JSON.stringify(bought));
