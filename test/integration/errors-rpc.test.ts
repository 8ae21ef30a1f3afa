import { createServer, type Server, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { receiptOf, type ErrorCode, type Timeouts } from 'exact-change';
import type { NodeControls } from 'exact-change-sandbox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { failureOf, payerOn, type Payer } from '../helpers/payer.js';
import { inChaos, onePerRow, share, unsampled } from '../helpers/sampled.js';
import { useSandbox } from '../helpers/sandbox.js';
import { refusal } from '../helpers/untouched.js';
import { paidOf } from '../helpers/worth.js';

type NodeFault = Parameters<NodeControls['fault']>[1];

const sandbox = await useSandbox({ confirmationMs: 20 });
/** Accepts connections and never sends a byte. */
let mute: Server;
const sockets = new Set<Socket>();
let muteUrl: string;
let goneUrl: string;

// The server listens on TCP, so its address is neither the name of a pipe nor null.
const portOf = (server: Server) => (server.address() as AddressInfo).port;

beforeAll(async () => {
  mute = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).resume();
  });
  const gone = createServer();
  for (const server of [mute, gone])
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  muteUrl = `http://127.0.0.1:${portOf(mute)}`;
  goneUrl = `http://127.0.0.1:${portOf(gone)}`;
  await new Promise((resolve) => gone.close(resolve));
});

afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await new Promise((resolve) => mute.close(resolve));
});

const usdc = () => `${sandbox.apiUrl}/usdc`;

/** RPC methods that a call with a swap uses before it signs. */
const METHODS = [
  'getGenesisHash',
  'getMultipleAccounts',
  'getTokenAccountsByOwner',
  'getLatestBlockhash',
  'getMinimumBalanceForRentExemption',
  'simulateTransaction',
] as const;

const TIMEOUT_MS = 500;
const KINDS: readonly (readonly [name: string, fault: NodeFault, code: ErrorCode])[] = [
  ['answers 500', { kind: 'status', status: 500 }, 'rpc_unavailable'],
  [
    'answers 503 with HTML',
    { kind: 'status', status: 503, body: '<html>upstream</html>' },
    'rpc_unavailable',
  ],
  ['answers 429', { kind: 'rateLimited' }, 'rate_limited'],
  ['answers 429 with Retry-After', { kind: 'rateLimited', retryAfter: 7 }, 'rate_limited'],
  ['answers garbage', { kind: 'garbage' }, 'invalid_response'],
  ['answers nothing', { kind: 'hang' }, 'timeout'],
  ['cuts the connection', { kind: 'dropBefore' }, 'rpc_unavailable'],
  [
    'says that it is behind',
    { kind: 'error', code: -32016, message: 'Minimum context slot has not been reached' },
    'rpc_unavailable',
  ],
  [
    'limits requests by an error',
    { kind: 'error', code: -32429, message: 'Too many requests' },
    'rate_limited',
  ],
  [
    'does not know the method',
    { kind: 'error', code: -32601, message: 'Method not found' },
    'rpc_unavailable',
  ],
];

/** Makes the client list all token accounts, because the input token is not pinned. */
const swaps = () => ({ autoSwap: true, swapFrom: [sandbox.mints.BONK.address] });
const swapper = (timeouts: Timeouts = {}) =>
  payerOn(sandbox, { SOL: '0.05', BONK: '5000000' }, { ...swaps(), timeouts });

const ALL = KINDS.flatMap(([name, fault, code]) =>
  METHODS.map((method) => [method, name, fault, code] as const),
);
/** `npm test` runs each fault for one method, in turn. */
const FAULTS = share(ALL, onePerRow(ALL, METHODS.length));

describe('a node with a fault', () => {
  it.each(FAULTS)(
    'stops the call before a signature when %s %s',
    async (method, _, fault, code) => {
      // All other faults show at once, and a node on a busy machine may be slow.
      const payer = await swapper(code === 'timeout' ? { rpc: TIMEOUT_MS } : {});
      sandbox.controls.node.fault(method, fault);
      const error = await refusal(sandbox, payer, code, () => payer.client.fetch(usdc()));
      expect(error).toMatchObject({ name: 'TransportError', retry: 'fresh' });
      expect(error.message).toContain(method);
      expect(error.message).toMatch(/rpcUrl/);
      expect(error.message).toContain(`The RPC node (${new URL(sandbox.rpcUrl).host})`);
      expect(error.response?.status).toBe(402);
      if (code === 'rate_limited')
        expect(error.details).toEqual({ retryAfterMs: 'retryAfter' in fault ? 7_000 : 1_000 });
      if (code === 'timeout')
        expect(error.details).toEqual({ step: method, timeoutMs: TIMEOUT_MS });
      if (code === 'rpc_unavailable') expect(error.details).toEqual({ method });
      if (code === 'invalid_response') expect(error.details).toMatchObject({ service: 'rpc' });
      // The text of a node may come from any party, so no message repeats it.
      if (fault.kind === 'error') expect(error.message).not.toContain(fault.message);
    },
  );
});

describe.each(inChaos ? [] : (['getMultipleAccounts', 'simulateTransaction'] as const))(
  'a node with a fault of %s',
  (method) => {
    it('is asked again after one failure', async () => {
      const payer = await payerOn(sandbox, { SOL: '0.05', BONK: '5000000' }, swaps());
      sandbox.controls.node.fault(method, { kind: 'status', status: 500, times: 1 });
      expect((await payer.client.fetch(usdc())).status).toBe(200);
    });

    it('serves another client of the wallet once the fault is gone', async () => {
      const payer = await swapper();
      sandbox.controls.node.fault(method, { kind: 'rateLimited', retryAfter: 60 });
      await refusal(sandbox, payer, 'rate_limited', () => payer.client.fetch(usdc()));
      sandbox.controls.node.clearFaults();
      const patient = payer.again(swaps());
      expect((await patient.fetch(usdc())).status).toBe(200);
      expect(await paidOf(payer.client)).toBe('0.01');
    });
  },
);

unsampled('a node that is down', () => {
  const call = (rpcUrl: string | string[]) =>
    payerOn(sandbox, { USDC: '1' }, { rpcUrl, timeouts: { rpc: TIMEOUT_MS } });

  it('fails each operation with timeout when every node is down', async () => {
    const payer = await call([goneUrl, muteUrl]);
    const { client } = payer;
    const { USDC, BONK } = sandbox.mints;
    for (const work of [
      () => client.fetch(usdc()),
      () => client.plan(usdc()),
      () => client.balance('USDC'),
      () => client.swap({ inputMint: USDC.address, outputMint: BONK.address, amount: 1_000n }),
      () => client.warm(),
    ]) {
      await refusal(sandbox, payer, 'timeout', work);
    }
  });

  it('is replaced by a third node that works', async () => {
    const payer = await call([goneUrl, muteUrl, sandbox.rpcUrl]);
    expect((await payer.client.fetch(usdc())).status).toBe(200);
  });
});

unsampled('a node with a harmless fault', () => {
  it.each(['getRecentPrioritizationFees', 'getTransaction'] as const)(
    'does not stop the call when %s fails',
    async (method) => {
      const payer = await swapper();
      // Only the client uses these methods; the facilitator and the aggregator do not.
      sandbox.controls.node.fault(method, { kind: 'status', status: 500, times: 30 });
      const response = await payer.client.fetch(usdc());
      expect(response.status).toBe(200);
      const swap = receiptOf(response)?.swap;
      // The swap brings the float, and the payment takes the price from it.
      expect(await sandbox.balance(payer.address, 'USDC')).toBe(
        BigInt(swap?.outAmount ?? 0) - 10_000n,
      );
      const warned = payer.events.some(
        (event) => event.type === 'warning' && event.message.includes(swap?.signature ?? '?'),
      );
      expect(warned).toBe(method === 'getTransaction');
    },
  );

  it('causes one swap when its answer to sendTransaction is lost', async () => {
    const payer = await swapper();
    sandbox.controls.node.fault('sendTransaction', { kind: 'dropAfter', times: 1 });
    expect((await payer.client.fetch(usdc())).status).toBe(200);
    expect(payer.signed.map(({ kind }) => kind)).toEqual(['swap', 'payment']);
  });
});

unsampled('a swap that was sent', () => {
  /** Moves the chain past the expiry of each swap as soon as it is signed. */
  const expireSwaps = ({ client }: Payer) =>
    client.on('swap.signed', () => sandbox.controls.node.warp());

  it('expires twice and moves nothing when the node accepts and forgets it', async () => {
    const payer = await payerOn(sandbox, { SOL: '0.05', BONK: '5000000' }, { autoSwap: true });
    expireSwaps(payer);
    sandbox.controls.node.fault('sendTransaction', { kind: 'neverLands' });
    const before = [
      await sandbox.balance(payer.address, 'SOL'),
      await sandbox.balance(payer.address, 'BONK'),
    ];
    const error = await failureOf(payer.client.fetch(usdc()), 'swap_expired');
    expect(error).toMatchObject({
      name: 'TransactionError',
      funds: 'untouched',
      moved: [],
      retry: 'fresh',
    });
    const swaps = payer.events
      .filter(({ type }) => type === 'swap.signed')
      .map((event) => ('signature' in event ? event.signature : ''));
    expect(swaps.length).toBe(2);
    expect(error.details.signature).toBe(swaps[1]);
    expect([
      await sandbox.balance(payer.address, 'SOL'),
      await sandbox.balance(payer.address, 'BONK'),
    ]).toEqual(before);
    expect((await payer.client.spent())[0]?.used).toBe('0');
    sandbox.controls.node.clearFaults();
    expect((await payer.again({ autoSwap: true }).fetch(usdc())).status).toBe(200);
  });

  it('is uncertain when no node returns its status', async () => {
    const payer = await payerOn(sandbox, { SOL: '0.05', BONK: '5000000' }, { autoSwap: true });
    sandbox.controls.node.fault('getSignatureStatuses', { kind: 'status', status: 500 });
    payer.client.on('swap.signed', () => void payer.client.close());
    const error = await failureOf(payer.client.fetch(usdc()), 'swap_uncertain');
    expect(error).toMatchObject({
      name: 'TransactionError',
      funds: 'uncertain',
      retry: 'never',
      moved: [],
    });
    expect(error.details.signature).toMatch(/^[1-9A-HJ-NP-Za-km-z]{64,88}$/);
    expect(error.message).toContain(error.details.lastValidBlockHeight);
    expect(payer.signed.map(({ kind }) => kind)).toEqual(['swap']);
  });
});
