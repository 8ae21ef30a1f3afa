// Pays on a sandbox that runs in the parent, over a journal on disk, and ends itself with SIGKILL
// where the parent says. What it passes, and what came of each step, goes out on a pipe of its own,
// as lines of JSON.
import { writeSync } from 'node:fs';
import { nodeDisk } from '../../../adapters/journals/file/disk.js';
import { journalAt } from '../../../adapters/journals/file/journal.js';
import { nodeProcesses } from '../../../adapters/journals/file/processes.js';
import {
  createClient,
  isExactChangeError,
  SOLANA_MAINNET,
  type AttemptState,
  type Client,
} from 'exact-change';
import { until } from '../../helpers/chain.js';
import { decided, kitSigner } from '../../helpers/flow.js';
import { edgedDisk } from './edged-disk.js';
import { edgedFetch, edgedJournal, edgedSigner, type Edges } from './edges.js';
import type { Message, Outcome, Task } from './task.js';

const PIPE = 3;
// Bytes: more than a purchase takes until it is answered, less than until it is settled. Then the
// journal is written anew.
const COMPACT_FROM = 10_000;

// Written by the parent.
const task = JSON.parse(process.argv[2] ?? '') as Task;
const tell = (message: Message) => void writeSync(PIPE, `${JSON.stringify(message)}\n`);
const counts = new Map<string, number>();
let step: Task['steps'][number] = 'call';

/** Tells of it. True if the process is to end here. */
function isLast(edge: string): boolean {
  const count = (counts.get(`${step} ${edge}`) ?? 0) + 1;
  counts.set(`${step} ${edge}`, count);
  const { kill } = task;
  const last = kill?.step === step && kill.edge === edge && kill.count === count;
  tell({ kind: last ? 'killed' : 'passed', step, edge, count });
  return last;
}

function end(): never {
  process.kill(process.pid, 'SIGKILL');
  for (;;); // The signal is on its way: nothing more may happen.
}

const edges: Edges = {
  pass(edge) {
    if (isLast(edge)) end();
  },
  passWith(edge, last) {
    if (!isLast(edge)) return;
    last();
    end();
  },
};

async function main(): Promise<void> {
  const { signer } = await kitSigner(task);
  const disk = edgedDisk(nodeDisk, edges);
  const journal = journalAt(task.journal, {
    disk,
    processes: nodeProcesses,
    compactFrom: COMPACT_FROM,
    recent: 0,
  });
  const client = createClient({
    signer: edgedSigner(signer, edges),
    rpcUrl: task.rpcUrl,
    wsUrl: task.wsUrl,
    jupiterUrl: task.jupiterUrl,
    autoSwap: true,
    fetch: edgedFetch(edges),
    journal: edgedJournal(journal, edges),
  });
  client.on('*', ({ type }) => edges.pass(`event ${type}`));
  const states = async (): Promise<AttemptState[]> => {
    const all: AttemptState[] = [];
    for await (const { state } of journal.attempts({
      wallet: task.address,
      network: SOLANA_MAINNET,
    }))
      all.push(state);
    return all;
  };
  for (step of task.steps) {
    if (step === 'resume')
      tell({ kind: 'resumed', receipts: await client.resume(), states: await states() });
    else tell({ kind: 'called', outcome: await call(client).catch(failure) });
  }
  await until('nothing is reserved', async () =>
    (await states()).some((state) => state === 'reserved' || state === 'abandoned')
      ? undefined
      : true,
  );
  tell({ kind: 'ended', spent: await client.spent() });
  await client.close();
  await journal.close();
}

async function call(client: Client): Promise<Outcome> {
  const { url, ...init } = task.request;
  const response = await client.fetch(url, {
    ...init,
    headers: { 'content-type': 'application/json' },
  });
  edges.pass('caller answered');
  const stream = response.body?.getReader();
  const chunks: Uint8Array[] = [];
  for (let part = await stream?.read(); part?.done === false; part = await stream?.read()) {
    chunks.push(part.value);
    edges.pass('caller half read');
  }
  const body = Buffer.concat(chunks).toString();
  edges.pass('caller read');
  return { kind: 'answer', status: response.status, body, receipt: await decided(response) };
}

function failure(error: unknown): Outcome {
  if (!isExactChangeError(error))
    return { kind: 'bug', text: error instanceof Error ? String(error.stack) : String(error) };
  const { code, funds, message, details, moved } = error;
  return { kind: 'error', code, funds, message, details, moved };
}

void main();
