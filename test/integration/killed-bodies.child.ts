// Buys once over a journal on disk, reads as much of the answer as its parent says, tells so, and
// waits to be killed.
import { createClient, type ClientOptions } from 'exact-change';
import { fileJournal } from 'exact-change/journal/file';

interface Task {
  readonly options: ClientOptions;
  readonly url: string;
  readonly init: RequestInit;
  readonly journal: string;
  readonly reads: 'nothing' | 'half' | 'all';
}

// Written by the parent.
const { options, url, init, journal, reads } = JSON.parse(process.argv[2] ?? '') as Task;
const response = await createClient({ ...options, journal: fileJournal(journal) }).fetch(url, init);
if (reads === 'half') await response.body?.getReader().read();
if (reads === 'all') await response.text();
process.stdout.write('is there');
setInterval(() => response.status, 1_000);
