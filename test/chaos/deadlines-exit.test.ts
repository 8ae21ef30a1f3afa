import { spawn } from 'node:child_process';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { ClientOptions } from 'exact-change';
import { createSandbox, type MintSymbol, type Sandbox } from 'exact-change-sandbox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { programOf } from '../helpers/program.js';
import { startRelay } from '../helpers/relay.js';
import { MAINNET_SLOT_MS, useSandbox } from '../helpers/sandbox.js';
import { isPaid, startSeller, type Seller } from '../helpers/seller.js';

const program = programOf(fileURLToPath(new URL('./deadlines-exit.child.ts', import.meta.url)));
/** The child is killed after this time, and its exit code shows it. */
const LIMIT_MS = 100_000;
/** Longer than the child may live, so that a timer which a call leaves behind is noticed. */
const AGES_MS = 600_000;
const AGES = {
  rpc: AGES_MS,
  jupiter: AGES_MS,
  terms: AGES_MS,
  payment: AGES_MS,
  signer: AGES_MS,
  journal: AGES_MS,
};

// A payment that no node decides soon expires.
const sandbox = await useSandbox({ slotMs: 20, confirmationMs: 20 });
/** A seller that begins a 402 and never ends it. */
let dripping: Seller;
/** Sockets of a server that accepts connections and never answers. */
const sockets = new Set<Socket>();
const mute = createServer((socket) => {
  sockets.add(socket);
  socket.on('error', () => undefined).resume();
});
let mutePort: number;

beforeAll(async () => {
  dripping = await startSeller((_, response) => {
    response.writeHead(402, { 'content-type': 'application/json' });
    response.write('{"x402Version":1,"accepts":[');
  });
  await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve));
  mutePort = (mute.address() as AddressInfo).port; // Bound to TCP, so never a pipe's name or null.
});

afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await new Promise((resolve) => mute.close(resolve));
  await dripping.close();
});

interface Task {
  readonly call: string;
  readonly funds?: Partial<Record<MintSymbol, string>>;
  readonly options?: ClientOptions;
  readonly url?: string;
  readonly patience?: number | 'signer';
  readonly hangs?: 'signer';
}

const HOLDER = { USDC: '1' } as const;
const SWAPPER = { SOL: '0.1', BONK: '5000000' } as const;

/** Makes one call in a child process, and waits until the child ends. */
async function run({ funds = SWAPPER, options = {}, url, ...rest }: Task, on: Sandbox = sandbox) {
  const { address, secretKey: walletSecretKey } = await on.createWallet(funds);
  const { rpcUrl, jupiterUrl, apiUrl } = on;
  const task = {
    ...rest,
    url: url ?? `${apiUrl}/usdc`,
    address,
    options: { walletSecretKey, rpcUrl, jupiterUrl, autoSwap: true, timeouts: AGES, ...options },
  };
  const child = spawn(process.execPath, [program.path, JSON.stringify(task)], {
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    // Only PATH: options of the test runner must not reach the child.
    env: { PATH: process.env['PATH'] },
    timeout: LIMIT_MS,
  });
  const code = new Promise<number | null>((resolve) => child.once('close', resolve));
  const [errors, outcome] = await Promise.all([readAll(child.stderr), readAll(child.stdio[3])]);
  return { errors, outcome, code: await code };
}

async function readAll(pipe: unknown): Promise<string> {
  const chunks: Buffer[] = [];
  // spawn() makes these streams readable, because their stdio entries are 'pipe'.
  for await (const chunk of pipe as Readable) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

const ended = (outcome: string) => ({ errors: '', outcome, code: 0 });
const within = (name: keyof typeof AGES): ClientOptions => ({ timeouts: { ...AGES, [name]: 500 } });
const silent = () => `http://127.0.0.1:${mutePort}`;

describe.concurrent('a process without close()', () => {
  it.each(['fetch', 'plan', 'swap', 'balance', 'warm'])(
    'exits after %s to a node that never answers',
    async (call) => {
      expect(await run({ call, options: { ...within('rpc'), rpcUrl: silent() } })).toEqual(
        ended('timeout untouched'),
      );
    },
  );

  it.each(['fetch', 'quote'])('exits after %s to a Jupiter that never answers', async (call) => {
    expect(await run({ call, options: { ...within('jupiter'), jupiterUrl: silent() } })).toEqual(
      ended('timeout untouched'),
    );
  });

  it.each(['fetch', 'pay'])('exits after %s with terms that never end', async (call) => {
    expect(await run({ call, options: within('terms'), url: dripping.url })).toEqual(
      ended('timeout untouched'),
    );
  });

  it('exits after fetch to a seller that never answers the paid request', async ({
    onTestFinished,
  }) => {
    const api = await startRelay(sandbox.apiUrl);
    onTestFinished(() => api.close());
    api.hold(isPaid);
    const options = within('payment');
    expect(await run({ call: 'fetch', funds: HOLDER, options, url: `${api.url}/usdc` })).toEqual(
      ended('payment_uncertain uncertain'),
    );
  });

  it.each(['fetch', 'swap'])('exits after %s with a signer that never answers', async (call) => {
    expect(await run({ call, options: within('signer'), hangs: 'signer' })).toEqual(
      ended('signing_failed untouched'),
    );
  });

  it('exits after fetch with a WebSocket that never answers', async ({ onTestFinished }) => {
    // Here a swap and a payment must end before their blockhashes expire.
    const slow = await createSandbox({ slotMs: MAINNET_SLOT_MS, confirmationMs: 20 });
    onTestFinished(() => slow.close());
    const options = { wsUrl: `ws://127.0.0.1:${mutePort}` };
    expect(await run({ call: 'fetch', options }, slow)).toEqual(ended('ok'));
  });

  it.each(['fetch', 'balance'])(
    'exits by timeouts.rpc after the caller aborts %s while no node answers',
    async (call) => {
      const options = { timeouts: { ...AGES, rpc: 3_000 }, rpcUrl: silent() };
      expect(await run({ call, options, patience: 1_000 })).toEqual(ended('TimeoutError'));
    },
  );

  it.each([
    ['quote', 'Jupiter', () => ({ jupiterUrl: silent() })],
    ['fetch', 'Jupiter', () => ({ jupiterUrl: silent() })],
  ] as const)('exits after the caller aborts %s while no %s answers', async (call, _, options) => {
    expect(await run({ call, options: options(), patience: 1_000 })).toEqual(ended('TimeoutError'));
  });

  it.each(['fetch', 'swap'])('exits after the caller aborts %s during signing', async (call) => {
    expect(await run({ call, hangs: 'signer', patience: 'signer' })).toEqual(ended('had enough'));
  });
});
