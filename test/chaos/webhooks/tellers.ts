import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import type { WebhookRequest } from 'exact-change/webhooks';
import type { Program } from '../../helpers/program.js';

/** The task of a process, as JSON. */
export interface TellerTask {
  readonly place: { readonly path: string } | { readonly connectionString: string };
  /** Its clock runs `speed` times as fast from `epoch` on, in milliseconds since the epoch. */
  readonly clock: { readonly epoch: number; readonly speed: number };
  /** Number of attempts to write, including attempts that exist. */
  readonly writes: number;
  readonly delivers: boolean;
  /** Endpoints to register first; the process prints their secrets. */
  readonly endpoints: readonly WebhookRequest[];
}

export interface Teller {
  /** Secrets of the endpoints that it registered. */
  readonly secrets: Promise<string[]>;
  /** Rejects with its stderr if it exits with an error. */
  readonly failed: Promise<never>;
  /** Kills the process with SIGKILL. */
  kill(): Promise<void>;
  /** Lets the process end by itself, and resolves with its stderr. */
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
      // The process writes its secrets as one line of JSON.
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
