// Serves auto-pay with a file journal, prints the service's URL, and runs until it is killed.
import { fileJournal } from 'exact-change/journal/file';
import { local } from 'exact-change';
import { createHandler } from 'exact-change/http';
import { serve } from 'exact-change/node';

const [path = '', rpcUrl = '', jupiterUrl = ''] = process.argv.slice(2);
const service = await serve(
  createHandler(local({ rpcUrl, jupiterUrl, journal: fileJournal(path) })),
  { port: 0 },
);
process.stdout.write(`${service.url}\n`);
