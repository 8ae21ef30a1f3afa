import { afterEach, describe, expect, it, vi } from 'vitest';
import { local } from '../../../adapters/local/index.js';
import * as operations from '../../../adapters/local/operations.js';
import { lazyPart } from '../../../src/internal/load-once.js';
import type { PaymentContext } from '../../../src/payments/context.js';
import { fundPayment } from '../../../src/payments/execute/fund.js';
import { reservationFor } from '../../../src/payments/execute/reservation.js';
import { createResumed } from '../../../src/payments/memory.js';
import * as onDemand from '../../../src/payments/on-demand.js';
import { resumeEarlierPayment, underKey } from '../../../src/payments/reconcile/find-earlier.js';
import { resumeOnce } from '../../../src/payments/reconcile/resume-once.js';
import * as door from '../../../src/payments/recovery.js';

// A page that goes offline can load no more code.
const lost = (): never => {
  throw new TypeError('Failed to fetch dynamically imported module.');
};

/** Makes loads of this part of the engine fail from now on. */
const withoutPart = (part: 'recovery' | 'reasons') =>
  vi.spyOn(onDemand, part).mockImplementation((...args) => lazyPart(async () => lost())(...args));

describe('a call that cannot load a file', () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  it('reports the funds of an earlier payment as uncertain, in an error of this library', async () => {
    withoutPart('recovery');
    const earlier = {
      ...{ id: 'one', fingerprint: 'same', state: 'signed', delivered: false },
      ...{ payment: {}, receipt: {} },
    };
    const context = {
      config: {
        runtime: { now: () => 0 },
        retryWindow: 1,
        signer: { address: 'wallet' },
        network: 'net',
      },
      wallet: { releasing: new Set() },
      journal: { similar: async () => [earlier] },
      claims: { live: async () => new Set() },
    } as unknown as PaymentContext;
    const onCounted = vi.fn();
    const repeat = { place: { fingerprint: 'same' }, call: {}, onCounted } as unknown as Parameters<
      typeof resumeEarlierPayment
    >[1];
    await expect(resumeEarlierPayment(context, repeat)).rejects.toMatchObject({
      code: 'missing_dependency',
      funds: 'uncertain',
      retry: 'same',
    });
  });

  it('ends with its caller if the code for a key at work never arrives', async () => {
    vi.spyOn(onDemand, 'recovery').mockImplementation((...args) =>
      lazyPart<never>(() => new Promise(() => undefined))(...args),
    );
    const context = { wallet: { keys: new Set(['key']) } } as unknown as PaymentContext;
    const gone = new Error('the caller has gone');
    const work = vi.fn();
    await expect(underKey(context, 'key', AbortSignal.abort(gone), work)).rejects.toBe(gone);
    expect(work).not.toHaveBeenCalled();
  });

  it('reports the funds of orphaned attempts as uncertain only if an attempt is signed', async () => {
    withoutPart('recovery');
    const leftIn = (left: string) =>
      ({
        config: { signer: { address: 'wallet' }, network: 'net' },
        resumed: createResumed(),
        journal: {
          async *attempts(_owner: unknown, { state }: { state: string }) {
            if (state === left) yield { id: 'one' };
          },
        },
        claims: { live: async () => new Set() },
      }) as unknown as PaymentContext;
    const code = 'missing_dependency';
    await expect(resumeOnce(leftIn('signed'))).rejects.toMatchObject({ code, funds: 'uncertain' });
    const untouched = { code, funds: 'untouched', retry: 'fresh' };
    await expect(resumeOnce(leftIn('reserved'))).rejects.toMatchObject(untouched);
  });

  it('ends before anything is signed when the reasons for a refusal are missing', async () => {
    withoutPart('reasons');
    const context = {
      config: { runtime: { now: () => 0 }, autoSwap: false },
      wallet: { neededByMint: new Map() },
      ledger: { available: async () => 0n, take: async () => undefined },
      locks: { hold: async (_names: unknown, work: () => Promise<unknown>) => work() },
      closing: new AbortController(),
    } as unknown as PaymentContext;
    const choice = { offer: { mint: 'mint', amount: 2n }, facts: { source: 'own', available: 1n } };
    const task = { id: 'one', emit: () => undefined, onCounted: () => undefined };
    type Asked = Parameters<typeof fundPayment>;
    const funding = fundPayment(context, choice as Asked[1], task as unknown as Asked[2]);
    await expect(funding).rejects.toMatchObject({
      code: 'missing_dependency',
      funds: 'untouched',
      retry: 'fresh',
    });
    expect(context.wallet.neededByMint.size).toBe(0);
  });

  it('releases the claims of a reservation that it cannot undo, so that the next call finds it', async () => {
    vi.spyOn(door, 'giveUp').mockImplementationOnce(lost);
    const dropped: string[][] = [];
    const resumed = { ...createResumed(), started: Promise.resolve() as unknown };
    const context = {
      config: { policy: { caps: [] }, timeouts: { journal: 1_000 } },
      wallet: { releasing: new Set() },
      journal: { reserve: async () => undefined },
      claims: { drop: async (ids: string[]) => void dropped.push(ids) },
      resumed,
    } as unknown as PaymentContext;
    const attempt = { id: 'one' } as Parameters<typeof reservationFor>[1];
    const reservation = reservationFor(context, attempt, undefined);
    await reservation.reserve();
    await reservation.rollBack('source', new Error('refused'));
    expect(dropped).toEqual([['one', 'body of one']]);
    expect(resumed.started).toBeUndefined();
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
