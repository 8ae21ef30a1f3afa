import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { Figures } from './table.js';

const BIN = fileURLToPath(new URL('../dist/adapters/cli/bin.js', import.meta.url));
const TIMES = 20;
// A worthless key, because the command reads a key before it calls.
const WALLET = JSON.stringify([
  ...new Uint8Array(32).fill(7),
  ...Buffer.from('ea4a6c63e29c520abef5507b132ec5f9954776aebebe7b92421eea691446d22c', 'hex'),
]);

/** Measures the time to the first output of the installed command. */
export async function command(): Promise<Figures<'command'>> {
  if (!existsSync(BIN)) {
    const missing = { ours: 'no dist', note: 'npm run build' };
    return { help: missing, fetch: missing };
  }
  const seller = createServer((_, response) => void response.end('free'));
  await new Promise<void>((resolve) => seller.listen(0, '127.0.0.1', resolve));
  const { port } = seller.address() as AddressInfo; // Bound to TCP, so never a pipe's name or null.
  try {
    const bare = await shortest(['-e', 'console.log(1)']);
    return {
      help: { ours: await shortest([BIN, '--help']), other: bare },
      fetch: { ours: await shortest([BIN, 'fetch', `http://127.0.0.1:${port}`]), other: bare },
    };
  } finally {
    seller.close();
    seller.closeAllConnections();
  }
}

/** Returns the shortest time of some runs, because other processes slow down the longer ones. */
async function shortest(args: readonly string[]): Promise<number> {
  const times: number[] = [];
  for (let run = 0; run < TIMES; run += 1) times.push(await firstOutput(args));
  return Math.min(...times);
}

/** Returns the milliseconds from the start of a process to its first output on either stream. */
async function firstOutput(args: readonly string[]): Promise<number> {
  const from = performance.now();
  const child = spawn(process.execPath, args, {
    env: { ...process.env, NODE_OPTIONS: '', WALLET_SECRET_KEY: WALLET },
  });
  const closed = new Promise((resolve) => child.once('close', resolve));
  try {
    return await new Promise((resolve, reject) => {
      for (const stream of [child.stdout, child.stderr])
        stream.once('data', () => resolve(performance.now() - from));
      child.once('error', reject);
    });
  } finally {
    child.kill('SIGKILL');
    await closed;
  }
}
