import { receiptOf, type ErrorCode, type Timeouts } from 'exact-change';
import type { NodeControls } from 'exact-change-sandbox';
import { describe, expect, it } from 'vitest';
import { payerOn } from '../helpers/payer.js';
import { inChaos, onePerRow, share, unsampled } from '../helpers/sampled.js';
import { useSandbox } from '../helpers/sandbox.js';
import { refusal } from '../helpers/untouched.js';
import { paidOf } from '../helpers/worth.js';

type NodeFault = Parameters<NodeControls['fault']>[1];

const sandbox = await useSandbox({ confirmationMs: 20 });
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

const TIMEOUT_MS = 3_000;
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
});
