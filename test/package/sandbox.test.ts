import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnv, promisify } from 'node:util';
import { receiptOf, WSOL_MINT } from 'exact-change';
import { clientFromEnv } from 'exact-change/node';
import { afterEach, describe, expect, inject, it } from 'vitest';
import { blockWith, isShownAs } from '../helpers/guides.js';

const run = promisify(execFile);
const { bench } = inject('packed');
const bin = join(bench, 'node_modules/.bin/exact-change-sandbox');

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface Started {
  readonly port: number;
  readonly printed: string;
  /** Sends a signal, and waits for the end. */
  end(signal: NodeJS.Signals): Promise<Ended>;
}

const running: ChildProcess[] = [];
afterEach(() => running.splice(0).forEach((child) => child.kill()));

/** Starts the program and waits for its last line; returns its exit if it ends before. */
async function start(
  port: number,
  args: readonly string[],
  command = bin,
): Promise<Started | Ended> {
  const child = spawn(command, [...args, '--port', String(port)], { cwd: bench });
  running.push(child);
  let [stdout, stderr] = ['', ''];
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const closed = once(child, 'close').then(([code]): Ended => ({
    code: code as number | null,
    stdout,
    stderr,
  }));
  const ready = new Promise<Started>((resolve) => {
    child.stdout.on('data', (chunk: Buffer) => {
      stdout += chunk.toString();
      if (!/^USDC_WALLET_SECRET_KEY=.*\n/m.test(stdout)) return;
      resolve({ port, printed: stdout, end: (signal) => (child.kill(signal), closed) });
    });
  });
  return Promise.race([ready, closed]);
}

/** Starts the program on five free ports; tries again when another program holds one of them. */
async function startSomewhere(args: readonly string[] = [], command = bin): Promise<Started> {
  for (let attempt = 1; attempt < 20; attempt += 1) {
    const probe = createServer().listen(0, '127.0.0.1');
    await once(probe, 'listening');
    const { port } = probe.address() as { port: number };
    await new Promise((resolve) => probe.close(resolve));
    const program = port > 65_531 ? undefined : await start(port, args, command);
    if (program !== undefined && 'end' in program) return program;
    if (program !== undefined && !program.stderr.includes('is taken'))
      throw new Error(program.stderr);
  }
  throw new Error('No five ports are free.');
}

async function rpc(url: string, method: string, ...params: readonly string[]): Promise<unknown> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  return ((await response.json()) as { result: unknown }).result;
}

describe('the exact-change-sandbox program, installed alone', () => {
  it.each(['SIGINT', 'SIGTERM'] as const)(
    'prints an environment that answers until %s',
    async (signal) => {
      const { port, printed, end } = await startSomewhere();
      const env = parseEnv(printed);
      const { SOLANA_RPC_URL: rpcUrl = '', API_URL: apiUrl = '', WALLET_ADDRESS = '' } = env;
      const names = ['EXACT_CHANGE_WS_URL', 'EXACT_CHANGE_JUPITER_URL', 'FACILITATOR_URL'] as const;
      expect([rpcUrl, ...names.map((name) => env[name]), apiUrl]).toEqual([
        `http://127.0.0.1:${port}`,
        `ws://127.0.0.1:${port}`,
        ...[2, 3, 4].map((above) => `http://127.0.0.1:${port + above}`),
      ]);
      expect(await rpc(rpcUrl, 'getBalance', WALLET_ADDRESS)).toMatchObject({
        value: 10_000_000_000,
      });
      const client = clientFromEnv({}, env);
      const answer = await client.fetch(`${apiUrl}/usdc`);
      expect([answer.status, receiptOf(answer)?.swap?.inputMint]).toEqual([200, WSOL_MINT]);
      await client.close();

      expect(await end(signal)).toMatchObject({ code: 0, stderr: '' });
      await expect(fetch(rpcUrl)).rejects.toThrow('fetch failed');
    },
  );

  // npm signals its shell, which does not pass the signal on. `end` waits for every process that
  // holds the output open.
  it('prints what its README shows, and stops when the npx that started it ends', async () => {
    const { port, printed, end } = await startSomewhere(['exact-change-sandbox'], 'npx');
    const lines = printed
      .replace(/(?<=127\.0\.0\.1:)\d+/g, (shownPort) => String(Number(shownPort) - port + 8899))
      .split('\n');
    const shown = blockWith('adapters/sandbox/README.md', 'npx exact-change-sandbox').printed.split(
      '\n',
    );
    expect(lines).toHaveLength(shown.length);
    expect(shown.filter((line, index) => !isShownAs(lines[index] ?? '', line))).toEqual([]);
    await end('SIGTERM');
    await expect(fetch(parseEnv(printed)['SOLANA_RPC_URL'] ?? '')).rejects.toThrow('fetch failed');
  });

  it('names a taken port, and makes the same keys from the same seed', async () => {
    const first = await startSomewhere(['--seed', 'one']);
    const second = await startSomewhere(['--seed', 'one']);
    const [key, again] = [first, second].map(
      ({ printed }) => parseEnv(printed)['WALLET_SECRET_KEY'],
    );
    expect(key).toBe(again);
    expect(await start(first.port, [])).toMatchObject({
      code: 1,
      stderr: `Port ${first.port} is taken. Choose five others with --port <number>.\n`,
    });
    await Promise.all([first.end('SIGTERM'), second.end('SIGTERM')]);
  });

  it('runs the demo in an empty folder', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'exact-change-demo-'));
    try {
      const { stdout } = await run(bin, ['demo'], { cwd: folder });
      expect(stdout).toContain('swap        confirmed: ');
      expect(stdout).toMatch(/ got 0\.01 USDC\n$/);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  it('fails the demo without a facilitator', async () => {
    await expect(run(bin, ['demo', '--without-facilitator'], { cwd: bench })).rejects.toMatchObject(
      {
        stderr: expect.stringContaining('payment_rejected'),
      },
    );
  });

  it.each([
    ['--prot'],
    ['--port', 'http'],
    ['--port', '65532'],
    ['deno'],
    ['demo', 'twice'],
    ['--without-facilitator'],
  ])('refuses the arguments %s %s', async (...args) => {
    await expect(run(bin, args, { cwd: bench })).rejects.toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('--port'),
    });
  });
});
