import { describe, expect, it, vi } from 'vitest';
import type { Call } from '../../../src/internal/request.js';
import type { PaymentContext } from '../../../src/payments/context.js';
import { reservationFor } from '../../../src/payments/execute/reservation.js';
import { createMemory, createRecovery } from '../../../src/payments/memory.js';
import { payAhead } from '../../../src/payments/pay.js';
import { noteCharge } from '../../../src/payments/plan/stable-terms.js';
import { local } from '../../../adapters/local/index.js';

// A page that goes offline can load no more of its code.
const offline = vi.hoisted(() => ({ is: true }));
const lost = (): never => {
  throw new TypeError('Failed to fetch dynamically imported module.');
};
vi.mock('../../../src/payments/pay-ahead.js', () => lost());
vi.mock('../../../src/payments/recovery.js', () => lost());
vi.mock('../../../adapters/local/operations.js', () => ({
  get createOperations() {
    return offline.is ? lost() : () => ({ quote: async () => 'quoted' });
  },
}));

const URL = 'https://seller.example/paid';

describe('code that cannot be loaded', () => {
  it('of paying ahead leaves the call to be asked first', async () => {
    const context = {
      config: { presign: [URL], runtime: { now: () => 0 } },
      memory: createMemory(),
      blockhashes: { recent: () => Promise.reject(new Error('no node')) },
    } as unknown as PaymentContext;
    const call = { url: URL, method: 'GET' } as Call;
    const answer = new Response(null);
    noteCharge(context, call, { x402Version: 2, accepts: [] }, answer, answer);
    const ahead = payAhead(context, call, {});
    expect(ahead).toBeInstanceOf(Promise);
    expect(await ahead).toBeUndefined();
  });

  it('of undoing a reservation lets go of it, for the next call to find', async () => {
    const dropped: string[][] = [];
    const recovery = { ...createRecovery(), started: Promise.resolve() as unknown };
    const context = {
      config: { policy: { caps: [] } },
      journal: { reserve: async () => undefined },
      claims: { drop: async (ids: string[]) => void dropped.push(ids) },
      recovery,
    } as unknown as PaymentContext;
    const attempt = { id: 'one' } as Parameters<typeof reservationFor>[1];
    const reservation = reservationFor(context, attempt);
    await reservation.reserve();
    await reservation.rollBack('source', new Error('refused'));
    expect(dropped).toEqual([['one', 'body of one']]);
    expect(recovery.started).toBeUndefined();
  });

  it('of a transport is loaded anew by its next call', async () => {
    const transport = local({ rpcUrl: 'https://rpc.example' });
    const request = { inputMint: 'SOL', outputMint: 'USDC', amount: '1' } as const;
    await expect(transport.quote(request)).rejects.toThrow('dynamically imported');
    offline.is = false;
    expect(await transport.quote(request)).toBe('quoted');
  });
});
