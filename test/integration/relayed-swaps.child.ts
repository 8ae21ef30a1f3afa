// Buys once over a journal on disk, and dies at an event, or when its wallet is asked to sign the
// swap: a relayer has signed it by then.
import { createClient, type ClientOptions, type EventName } from 'exact-change';
import { fileJournal } from 'exact-change/journal/file';

interface Task {
  readonly options: ClientOptions;
  readonly address: string;
  readonly url: string;
  readonly journal: string;
  readonly dieAt?: EventName;
}

// Written by the parent.
const { options, address, url, journal, dieAt } = JSON.parse(process.argv[2] ?? '') as Task;
const die = () => void process.kill(process.pid, 'SIGKILL');
const signMessage = () => {
  die();
  return new Promise<never>(() => undefined);
};
const signer = dieAt === undefined ? { signer: { address, signMessage } } : {};
const client = createClient({ ...options, ...signer, journal: fileJournal(journal) });
if (dieAt !== undefined) client.on(dieAt, die);
await client.fetch(url);
