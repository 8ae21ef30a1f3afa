import { afterEach, describe, expect, it, vi } from 'vitest';
import type { PaymentContext } from '../../../src/payments/context.js';
import { createRecovery } from '../../../src/payments/memory.js';

const REASONS = '../../../src/payments/reasons.js';
const RECOVERY = '../../../src/payments/recovery.js';
const OUTBOX = '../../../src/outbox/memory.js';
const SELDOM = '../../../src/solana/rpc/rare-calls.js';

// A page that goes offline can load no more code.
const lost = (): never => {
  throw new TypeError('Failed to fetch dynamically imported module.');
};

/** Makes imports of this file fail from now on. */
const without = (file: string) => {
  vi.resetModules();
  vi.doMock(file, lost);
};

describe('a call that cannot load a file', () => {
  afterEach(() => {
    for (const file of [REASONS, RECOVERY, OUTBOX, SELDOM]) vi.doUnmock(file);
    vi.resetModules();
  });

  it('reports the funds of an earlier payment as uncertain, in an error of this library', async () => {
    without(RECOVERY);
    const { resumeEarlierPayment } =
      await import('../../../src/payments/reconcile/find-earlier.js');
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
    const onEarlier = vi.fn();
    const repeat = { fingerprint: 'same', call: {}, onEarlier } as unknown as Parameters<
      typeof resumeEarlierPayment
    >[1];
    await expect(resumeEarlierPayment(context, repeat)).rejects.toMatchObject({
      code: 'missing_dependency',
      funds: 'uncertain',
      retry: 'same',
    });
  });

  it('reports the funds of orphaned attempts as uncertain only if an attempt is signed', async () => {
    without(RECOVERY);
    const { resumeOnce } = await import('../../../src/payments/reconcile/resume-once.js');
    const leftIn = (left: string) =>
      ({
        config: { signer: { address: 'wallet' }, network: 'net' },
        recovery: createRecovery(),
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
    without(REASONS);
    const { fundPayment } = await import('../../../src/payments/execute/fund.js');
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

  it('rejects an outbox query and ends no process that listens to the outbox', async () => {
    without(OUTBOX);
    const { memoryJournal } = await import('../../../src/memory-journal.js');
    const { outbox } = memoryJournal({ outbox: true });
    const rejected = vi.fn();
    process.on('unhandledRejection', rejected);
    const end = outbox?.onAdded(() => undefined);
    await expect(outbox?.endpoints()).rejects.toMatchObject({ code: 'missing_dependency' });
    end?.();
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', rejected);
    expect(rejected).not.toHaveBeenCalled();
  });

  it('does not blame the node when the code of a rare RPC call is missing', async () => {
    without(SELDOM);
    const { connectRpc } = await import('../../../src/solana/rpc/connection.js');
    const fetch = vi.fn(async () => Promise.reject(new Error('offline')));
    const rpc = connectRpc({ urls: ['https://rpc.example'], fetch, timeoutMs: 1_000 });
    await expect(rpc.transaction('1'.repeat(64))).rejects.toMatchObject({
      code: 'missing_dependency',
    });
    expect(fetch).not.toHaveBeenCalled();
  });
});
