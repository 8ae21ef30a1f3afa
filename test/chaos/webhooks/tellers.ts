import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import type { WebhookRequest } from 'exact-change/webhooks';
import type { Program } from '../../helpers/program.js';

/** What a process is told; only what JSON can carry. */
export interface TellerTask {
  readonly place: { readonly path: string } | { readonly connectionString: string };
  /** Its time goes so many times as fast, from then on; milliseconds since the epoch. */
  readonly clock: { readonly epoch: number; readonly speed: number };
  /** How many attempts it writes, those included that are there. */
  readonly writes: number;
  readonly delivers: boolean;
  /** To be registered first; it says their secrets. */
  readonly endpoints: readonly WebhookRequest[];
}

export interface Teller {
  /** Of the endpoints that it registered. */
  readonly secrets: Promise<string[]>;
  /** Rejects with what it complained of, if it ends badly by itself. */
  readonly failed: Promise<never>;
  /** As `kill -9` does. */
  kill(): Promise<void>;
  /** Lets it end by itself; resolves with what it complained of. */
  end(): Promise<string>;
}

export function startTeller(program: Program, task: TellerTask): Teller {
  const child: ChildProcess = spawn(process.execPath, [program.path, JSON.stringify(task)], {
    stdio: 'pipe',
  });
  const ended = once(child, 'close');
  const complaints = child.stderr === null ? Promise.resolve('') : text(child.stderr);
  const secrets = new Promise<string[]>((resolve) => {
    if (child.stdout !== null)
      // What it writes.
      createInterface(child.stdout).once('line', (line) => resolve(JSON.parse(line) as string[]));
  });
  const failed = new Promise<never>((_, reject) => {
    child.once('exit', (code) => {
      if (code !== null && code !== 0)
        void complaints.then((said) => reject(new Error(`A teller ended with ${code}: ${said}`)));
    });
  });
  failed.catch(() => undefined);
  return {
    secrets,
    failed,
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
    async end() {
      child.stdin?.end();
      await ended;
      return complaints;
    },
  };
}
