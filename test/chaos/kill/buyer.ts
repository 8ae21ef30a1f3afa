import {
  createClient,
  isExactChangeError,
  SOLANA_MAINNET,
  type AttemptState,
  type CapUse,
} from 'exact-change';
import { nodeDisk } from '../../../adapters/journals/file/disk.js';
import { journalAt } from '../../../adapters/journals/file/journal.js';
import { nodeProcesses } from '../../../adapters/journals/file/processes.js';
import { until } from '../../helpers/chain.js';
import { decided, kitSigner } from '../../helpers/flow.js';
import { edgedDisk } from './edged-disk.js';
import { edgedFetch, edgedJournal, edgedSigner, type Edges } from './edges.js';
import type { Outcome, Task } from './task.js';

// Bytes: more than a purchase writes until its answer, less than until its settlement. So the
// journal is rewritten in between.
const COMPACT_FROM = 10_000;

/** A buyer with a journal on disk, which resumes the attempts of the process before it. */
export interface Buyer {
  resume(): Promise<void>;
  call(): Promise<Outcome>;
  states(): Promise<AttemptState[]>;
  /** Closes the client once nothing is reserved, and resolves with the use of the caps. */
  end(): Promise<CapUse[]>;
}

export async function openBuyer(task: Task, edges: Edges): Promise<Buyer> {
  const { signer } = await kitSigner(task);
  const journal = journalAt(task.journal, {
    disk: edgedDisk(nodeDisk, edges),
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

  async function states(): Promise<AttemptState[]> {
    const found: AttemptState[] = [];
    for await (const { state } of journal.attempts({
      wallet: task.address,
      network: SOLANA_MAINNET,
    }))
      found.push(state);
    return found;
  }
  async function answer(): Promise<Outcome> {
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

  return {
    async resume() {
      await client.resume();
    },
    call: () => answer().catch(failure),
    states,
    async end() {
      await until('nothing is reserved', async () =>
        (await states()).some((state) => state === 'reserved' || state === 'abandoned')
          ? undefined
          : true,
      );
      const spent = await client.spent();
      await client.close();
      await journal.close();
      return spent;
    },
  };
}

/** Turns an error of the library into an outcome; rethrows any other error, which is a bug. */
function failure(error: unknown): Outcome {
  if (!isExactChangeError(error)) throw error;
  const { code, funds, message, details, moved } = error;
  return { kind: 'error', code, funds, message, details, moved };
}
