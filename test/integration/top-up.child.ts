// Pays one call after another over a journal on disk that other processes may use too, and says so
// of each line by line; dies when its top-up is signed, if it is to.
import { createClient, type ClientOptions } from 'exact-change';
import { fileJournal } from 'exact-change/journal/file';

interface Task {
  readonly options: ClientOptions;
  readonly url: string;
  readonly times: number;
  readonly journal: string;
  readonly dies: boolean;
}

// Written by the parent.
const { options, url, times, journal: path, dies } = JSON.parse(process.argv[2] ?? '') as Task;
const journal = fileJournal(path);
const client = createClient({ ...options, journal });
if (dies) client.on('swap.signed', () => process.kill(process.pid, 'SIGKILL'));
for (let n = 0; n < times; n += 1) await (await client.fetch(url)).text();
if (dies) await new Promise((resolve) => setInterval(resolve, 2 ** 30));
await client.close();
await journal.close();
