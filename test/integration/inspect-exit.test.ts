import { spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { buildForeign } from '../helpers/foreign-swap.js';
import { programOf } from '../helpers/program.js';
import { useSandbox } from '../helpers/sandbox.js';

const program = programOf(fileURLToPath(new URL('./inspect-exit.child.ts', import.meta.url)));
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** The test kills a process that does not end by itself; its exit code then shows it. */
const LIMIT_MS = 100_000;
/** Longer than the process may live, so a timer that is left behind shows. */
const timeouts = { rpc: 600_000 };

const sandbox = await useSandbox();

it.each([
  ['accepted', {}],
  ['refused', { maxInAmount: '1' }],
  ['rpc_unavailable', { rpcUrl: 'http://127.0.0.1:1' }],
  ['invalid_option', { maxInAmount: '0' }],
])(
  'leaves nothing that keeps the process alive when an inspection has ended with %s',
  async (expected, change) => {
    const { rpcUrl, wsUrl } = sandbox;
    const { address: wallet } = await sandbox.createWallet({ SOL: '0.1', USDC: '5' });
    const { transaction, maxIn, minOut } = await buildForeign(sandbox, wallet, {
      from: 'USDC',
      to: 'USDT',
      amount: 2_000_000n,
    });
    const amounts = {
      inputMint: 'USDC',
      outputMint: 'USDT',
      maxInAmount: `${maxIn}`,
      minOutAmount: `${minOut}`,
    };
    const task = {
      transaction,
      options: { rpcUrl, wsUrl, timeouts, wallet, ...amounts, ...change },
    };
    const child = spawn(process.execPath, [program.path, JSON.stringify(task)], {
      cwd: ROOT,
      stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
      // A caller has no variables of the test runner.
      env: { PATH: process.env['PATH'] },
      timeout: LIMIT_MS,
    });
    const code = new Promise<number | null>((resolve) => child.once('close', resolve));
    // spawn() makes both streams readable, because stdio says 'pipe' at these places.
    const [errors, outcome] = await Promise.all([
      text(child.stderr as Readable),
      text(child.stdio[3] as Readable),
    ]);
    expect({ errors, outcome, code: await code }).toEqual({
      errors: '',
      outcome: expected,
      code: 0,
    });
  },
);
