import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Orders, Report } from './worker.js';

/** A worker in a separate process. */
export interface Started {
  stop(): void;
  /** Resolves when the worker ends. Rejects if it exits with an error code. */
  readonly ended: Promise<void>;
}

/** Starts a worker. Passes its reports to `hear`, and its other output to `tell`. */
export function start(
  file: string,
  orders: Orders,
  hear: (report: Report) => void,
  tell: (line: string) => void = () => undefined,
): Started {
  const child = spawn(process.execPath, [file, JSON.stringify(orders)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  createInterface(child.stdout).on('line', (line) => {
    if (line.startsWith('{'))
      hear(JSON.parse(line) as Report); // The worker writes only reports as JSON.
    else tell(line);
  });
  const ended = new Promise<void>((resolve, reject) => {
    child.on('close', (code, signal) =>
      code === 0 || signal !== null ? resolve() : reject(new Error(`A worker ended with ${code}.`)),
    );
  });
  return { stop: () => void child.kill(), ended };
}
