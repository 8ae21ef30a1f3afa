import { spawn, type ChildProcess } from 'node:child_process';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { ClientOptions } from 'exact-change';
import type { MintSymbol } from 'exact-change-sandbox';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { base64, envelopeV2 } from '../fixtures/malformed-402.js';
import { sellerOfTest } from '../helpers/seller.js';
import { programOf } from '../helpers/program.js';
import { inChaos, inTurn, share, unsampled } from '../helpers/sampled.js';
import { useSandbox } from '../helpers/sandbox.js';

const program = programOf(fileURLToPath(new URL('./silence.child.ts', import.meta.url)));
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** The test kills a process that does not end by itself; its exit code then shows it. */
const LIMIT_MS = 100_000;

const sandbox = await useSandbox({ confirmationMs: 20 });
/** Accepts connections and never answers, not even a WebSocket handshake. */
const sockets = new Set<Socket>();
const mute = createServer((socket) => {
  sockets.add(socket);
  socket.on('error', () => undefined).resume();
});
let mutePort: number;
/** No program listens here, and fetch does not block it. A test could not keep a free port free. */
const GONE_PORT = 2;

beforeAll(async () => {
  await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve));
  // A bound TCP server never has the name of a pipe or null.
  mutePort = (mute.address() as AddressInfo).port;
});

afterEach(async () => {
  const { node, aggregator, facilitator, api } = sandbox.controls;
  node.clearFaults();
  node.webSocket = 'on';
  aggregator.restore();
  facilitator.clearFaults();
  await facilitator.start();
  api.clearFaults();
});

afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await new Promise((resolve) => mute.close(resolve));
});

interface Run {
  readonly options?: ClientOptions;
  readonly funds?: Partial<Record<MintSymbol, string>>;
  readonly url?: string;
  readonly times?: number;
  readonly how?: 'client' | 'interceptor';
  readonly close?: boolean;
  readonly together?: boolean;
  readonly apart?: boolean;
  readonly env?: Readonly<Record<string, string>>;
  /** Closes standard error before anything is written to it. */
  readonly closeStderr?: boolean;
}

/** Runs a client in its own process, from start to end. */
async function run({
  options = {},
  funds = { SOL: '0.1', BONK: '5000000' },
  url = `${sandbox.apiUrl}/usdc`,
  env = {},
  closeStderr = false,
  ...rest
}: Run) {
  const { secretKey: walletSecretKey } = await sandbox.createWallet(funds);
  const { rpcUrl, jupiterUrl } = sandbox;
  const task = {
    times: 1,
    how: 'client',
    close: true,
    together: false,
    apart: false,
    ...rest,
    url,
    options: { walletSecretKey, rpcUrl, jupiterUrl, autoSwap: true, ...options },
  };
  const child = spawn(process.execPath, [program.path, JSON.stringify(task)], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    // A caller has no options and no colours of the test runner.
    env: { PATH: process.env['PATH'], ...env },
    timeout: LIMIT_MS,
  });
  if (closeStderr) child.stderr?.destroy();
  const [stdout, stderr, code, result] = await Promise.all([
    readAll(child.stdout),
    closeStderr ? '' : readAll(child.stderr),
    exitOf(child),
    readAll(child.stdio[3]),
  ]);
  return { stdout, stderr, code, outcomes: JSON.parse(result === '' ? 'null' : result) as unknown };
}

/** Resolves with null if the process was killed. */
const exitOf = (child: ChildProcess) =>
  new Promise<number | null>((resolve) => child.once('close', resolve));

async function readAll(pipe: unknown): Promise<string> {
  const chunks: Buffer[] = [];
  // spawn() makes these streams readable, because stdio says 'pipe' at these places.
  for await (const chunk of pipe as Readable) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('latin1');
}

const silent = (...outcomes: unknown[]) => ({ stdout: '', stderr: '', code: 0, outcomes });
const dead = (port: number) => `http://127.0.0.1:${port}`;
const quick: ClientOptions = { timeouts: { rpc: 400, jupiter: 300, payment: 500 } };

/** Both values in turn: `npm test` runs one, the chaos run the other. */
const ofTwo = (turn: number) => share([true, false], inTurn([true, false], turn));
const NAMES = ['exact-change', 'http,exact-change', '*'];

describe('the process of a client', () => {
  it.each(ofTwo(1))('is silent and ends after a swap and a payment; closed: %s', async (close) => {
    expect(await run({ close, times: 2 })).toEqual(silent(200, 200));
  });

  it.each(share(NAMES, ['http,exact-change']))(
    'prints only its steps, to standard error, if DEBUG has %s',
    async (DEBUG) => {
      const { stderr, ...rest } = await run({ env: { DEBUG } });
      expect({ ...rest, stderr: '' }).toEqual(silent(200));
      const steps = stderr.trim().split('\n');
      for (const line of steps) expect(line).toMatch(/^exact-change [0-9a-f]{6} [a-z.]+: \S/);
      const [first, ...later] = steps.map((line) => line.replace(/^\S+ \S+ /, ''));
      expect(first).toBe(
        `payment.required: GET ${sandbox.apiUrl}/usdc asks for payment (offers: 1)`,
      );
      expect(later.join('\n')).toMatch(/^swap\.confirmed: .* into 0\.\d+ USDC, /m);
    },
  );

  it('pays and ends if DEBUG prints to a standard error that is closed', async () => {
    expect(await run({ env: { DEBUG: '*' }, closeStderr: true })).toEqual(silent(200));
  });

  it.each(ofTwo(2))('is silent and ends without an RPC node; closed: %s', async (close) => {
    expect(await run({ close, options: { rpcUrl: dead(GONE_PORT) } })).toEqual(
      silent('rpc_unavailable'),
    );
  });

  it.each(ofTwo(3))('is silent and ends when the RPC node hangs; closed: %s', async (close) => {
    expect(await run({ close, options: { ...quick, rpcUrl: dead(mutePort) } })).toEqual(
      silent('timeout'),
    );
  });

  it.each(ofTwo(4))('is silent and ends on 429 of the RPC node; closed: %s', async (close) => {
    sandbox.controls.node.fault('*', { kind: 'rateLimited' });
    expect(await run({ close })).toEqual(silent('rate_limited'));
  });

  it.each(ofTwo(5))('is silent and ends without Jupiter; closed: %s', async (close) => {
    expect(await run({ close, options: { jupiterUrl: dead(GONE_PORT) } })).toEqual(
      silent('jupiter_unavailable'),
    );
  });

  it.each(ofTwo(6))('is silent and ends after an uncertain payment; closed: %s', async (close) => {
    await sandbox.controls.facilitator.stop();
    expect(await run({ close, funds: { USDC: '1' } })).toEqual(silent('payment_rejected'));
  });

  it.each(ofTwo(7))(
    'is silent and ends after two thousand free calls with the same signal; at once: %s',
    async (together) => {
      const seller = await sellerOfTest((_request, response) => void response.end('free'));
      const outcomes = Array.from({ length: 2_000 }, () => 200);
      expect(await run({ url: seller.url, times: 2_000, together, apart: true })).toEqual(
        silent(...outcomes),
      );
    },
  );
});

unsampled('the process of a client, for a single call', () => {
  it('is silent and ends if DEBUG names another package', async () => {
    expect(await run({ env: { DEBUG: 'exact-changes' } })).toEqual(silent(200));
  });

  it('is silent and ends with the interceptor', async () => {
    expect(await run({ how: 'interceptor', close: false, times: 2 })).toEqual(silent(200, 200));
  });

  it.each(['off', 'silent'] as const)('is silent and ends with a WebSocket %s', async (mode) => {
    sandbox.controls.node.webSocket = mode;
    expect(await run({ close: false })).toEqual(silent(200));
  });

  it('is silent and ends when terms are unreadable, and when they are hostile', async () => {
    const bell = '\u0007\u001b[2J\u001b[31mWARNING';
    const seller = await sellerOfTest((request, response) => {
      const value =
        request.url === '/hostile'
          ? base64(envelopeV2([{ scheme: bell, network: bell, payTo: bell }], { error: bell }))
          : '%%%';
      response.writeHead(402, { 'payment-required': value }).end(bell);
    });
    expect(await run({ url: `${seller.url}/hostile`, close: false })).toEqual(
      silent('unsupported_offer'),
    );
    expect(await run({ url: `${seller.url}/broken`, close: false })).toEqual(
      silent('malformed_payment_required'),
    );
  });
});

if (inChaos)
  describe('the process of a client, for many calls and slow failures', () => {
    it('is silent and ends when the RPC node answers 429 during a swap', async () => {
      for (const method of ['sendTransaction', 'getSignatureStatuses', 'getTransaction']) {
        sandbox.controls.node.fault(method, { kind: 'rateLimited', times: 2 });
      }
      expect(await run({})).toEqual(silent(200));
    });

    it.each([
      ['status 500', { kind: 'status', status: 500 }, 'rpc_unavailable'],
      ['garbage', { kind: 'garbage' }, 'invalid_response'],
      ['a dropped connection', { kind: 'dropBefore' }, 'rpc_unavailable'],
    ] as const)('is silent and ends when the RPC node answers with %s', async (_, fault, code) => {
      sandbox.controls.node.fault('*', fault);
      expect(await run({ times: 2, close: false })).toEqual(silent(code, code));
    });

    it('is silent and ends when a WebSocket hangs in its handshake or is missing', async () => {
      expect(await run({ close: false, options: { wsUrl: `ws://127.0.0.1:${mutePort}` } })).toEqual(
        silent(200),
      );
      expect(
        await run({ close: false, options: { wsUrl: `ws://127.0.0.1:${GONE_PORT}` } }),
      ).toEqual(silent(200));
    });

    it('is silent and ends when Jupiter hangs, and when it limits the rate', async () => {
      expect(await run({ options: { ...quick, jupiterUrl: dead(mutePort) } })).toEqual(
        silent('timeout'),
      );
      sandbox.controls.aggregator.fault('*', {
        kind: 'status',
        status: 429,
        headers: { 'retry-after': '0' },
      });
      expect(await run({})).toEqual(silent('rate_limited'));
    });

    it('is silent and ends after fourteen uncertain payments with one signal', async () => {
      await sandbox.controls.facilitator.stop();
      const outcomes = Array.from({ length: 14 }, () => 'payment_rejected');
      expect(await run({ close: false, funds: { USDC: '1' }, times: 14, apart: true })).toEqual(
        silent(...outcomes),
      );
    });

    it('is silent and ends after twenty payments at once with the same signal', async () => {
      const outcomes = Array.from({ length: 20 }, () => 200);
      expect(
        await run({ close: false, funds: { USDC: '1' }, times: 20, together: true, apart: true }),
      ).toEqual(silent(...outcomes));
    });

    it('is silent and ends when an answer never comes', async () => {
      sandbox.controls.api.setSlowness(10_000);
      expect(
        await run({
          url: `${sandbox.apiUrl}/slow`,
          options: quick,
          funds: { USDC: '1' },
          close: false,
        }),
      ).toEqual(silent('payment_uncertain'));
      sandbox.controls.api.setSlowness(200);
    });
  });
