// Buys once over a journal on disk, and dies when its wallet is asked to sign the swap: a relayer has
// signed it by then.
import { createClient, type ClientOptions } from 'exact-change';
import { fileJournal } from 'exact-change/journal/file';

interface Task {
  readonly options: ClientOptions;
  readonly address: string;
  readonly url: string;
  readonly journal: string;
}

// Written by the parent.
const { options, address, url, journal } = JSON.parse(process.argv[2] ?? '') as Task;
const signMessage = () => {
  process.kill(process.pid, 'SIGKILL');
  return new Promise<never>(() => undefined);
};
const signer = { address, signMessage };
await createClient({ ...options, signer, journal: fileJournal(journal) }).fetch(url);
