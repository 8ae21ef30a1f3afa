import { describe, expect, it, vi } from 'vitest';
import { local } from '../../../adapters/local/index.js';
import * as operations from '../../../adapters/local/operations.js';
import type { PaymentContext } from '../../../src/payments/context.js';
import { reservationFor } from '../../../src/payments/execute/reservation.js';
import { createRecovery } from '../../../src/payments/memory.js';
import * as door from '../../../src/payments/recovery.js';

// A page that goes offline can load no more code.
const lost = (): never => {
  throw new TypeError('Failed to fetch dynamically imported module.');
};

describe('a failed load of code', () => {
  it('releases the claims of a reservation that it cannot undo, so that the next call finds it', async () => {
    vi.spyOn(door, 'giveUp').mockImplementationOnce(lost);
    const dropped: string[][] = [];
    const recovery = { ...createRecovery(), started: Promise.resolve() as unknown };
    const context = {
      config: { policy: { caps: [] }, timeouts: { journal: 1_000 } },
      journal: { reserve: async () => undefined },
      claims: { drop: async (ids: string[]) => void dropped.push(ids) },
      recovery,
    } as unknown as PaymentContext;
    const attempt = { id: 'one' } as Parameters<typeof reservationFor>[1];
    const reservation = reservationFor(context, attempt, undefined);
    await reservation.reserve();
    await reservation.rollBack('source', new Error('refused'));
    expect(dropped).toEqual([['one', 'body of one']]);
    expect(recovery.started).toBeUndefined();
  });

  it('is retried by the next call of a transport', async () => {
    const quote = async () => Promise.reject(new Error('asked'));
    vi.spyOn(operations, 'createOperations')
      .mockImplementationOnce(lost)
      .mockResolvedValueOnce({ quote } as unknown as operations.LocalOperations);
    const transport = local({ rpcUrl: 'https://rpc.example' });
    const request = { inputMint: 'SOL', outputMint: 'USDC', amount: '1' } as const;
    await expect(transport.quote(request)).rejects.toThrow('dynamically imported');
    await expect(transport.quote(request)).rejects.toThrow('asked');
  });
});
