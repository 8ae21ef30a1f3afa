import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

it('the RPC connection prints nothing and lets the process end', async () => {
  const child = spawn(
    process.execPath,
    ['--import', 'tsx', fileURLToPath(new URL('./solana-silence.child.ts', import.meta.url))],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
      // The timeout kills a process that does not end by itself; its exit code then shows it.
      timeout: 100_000,
    },
  );
  let out = '';
  let errors = '';
  child.stdout.on('data', (data: Buffer) => (out += data.toString()));
  child.stderr.on('data', (data: Buffer) => (errors += data.toString()));
  const code = await new Promise((resolve) => child.on('close', resolve));
  expect({ out, errors, code }).toEqual({ out: 'done', errors: '', code: 0 });
});
