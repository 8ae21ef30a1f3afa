// Buys once on the parent's sandbox with a journal on disk. At the halt that the parent chose, it
// reports and waits to be killed.
import { fileJournal } from '../../../adapters/journals/file.js';
import {
  createClient,
  type Attempt,
  type Journal,
  type MessageSigner,
  type Signer,
  type SigningIntent,
} from '../../../src/index.js';
import { kitSigner } from '../../helpers/flow.js';
import type { Halt, Task } from './killed.js';

// Written by the parent.
const task = JSON.parse(process.argv[2] ?? '') as Task;

/** Continues, or waits forever at the chosen halt. */
function pass(place: Halt): Promise<void> {
  if (place !== task.halt) return Promise.resolve();
  process.stdout.write('halted\n');
  return new Promise(() => setInterval(() => {}, 60_000));
}

/** Returns the subject of a write of an attempt. */
function subject({
  state,
  swap,
  delivered,
}: Attempt): 'swap' | 'signed' | 'answer' | 'settled' | 'other' {
  if (state === 'reserved' && swap !== undefined) return 'swap';
  if (state === 'signed') return delivered ? 'answer' : 'signed';
  return state === 'settled' ? 'settled' : 'other';
}

function halting(journal: Journal): Journal {
  return {
    ...journal,
    async reserve(...args) {
      await pass('before reserve');
      const refused = await journal.reserve(...args);
      await pass('after reserve');
      return refused;
    },
    async put(attempt, along) {
      await pass(`before writing ${subject(attempt)}`);
      await journal.put(attempt, along);
      await pass(`after writing ${subject(attempt)}`);
    },
  };
}

function haltingSigner(signer: MessageSigner): Signer {
  const signMessage = async (message: Uint8Array, intent: SigningIntent) => {
    await pass(`before signing ${intent.kind}`);
    return signer.signMessage(message, intent);
  };
  return { ...signer, signMessage };
}

async function main(): Promise<void> {
  const { signer } = await kitSigner(task);
  const journal = halting(fileJournal(task.journal));
  const client = createClient({
    ...task.options,
    autoSwap: true,
    signer: haltingSigner(signer),
    journal,
  });
  const response = await client.fetch(task.url, task.init);
  await pass('after answer');
  process.stdout.write(`answered ${response.status} ${await response.text()}\n`);
}

main().catch((error: unknown) => void process.stdout.write(`failed ${String(error)}\n`));
