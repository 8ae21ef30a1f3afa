import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Orders, Report } from './worker.js';

/** A worker in a process of its own. */
export interface Started {
  stop(): void;
  /** Rejects if it ended by itself, and not well. */
  readonly ended: Promise<void>;
}

/** Runs one worker to its end. Its reports go to `hear`, all else that it says to `tell`. */
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
      hear(JSON.parse(line) as Report); // The worker wrote it.
    else tell(line);
  });
  const ended = new Promise<void>((resolve, reject) => {
    child.on('close', (code, signal) =>
      code === 0 || signal !== null ? resolve() : reject(new Error(`A worker ended with ${code}.`)),
    );
  });
  return { stop: () => void child.kill(), ended };
}
