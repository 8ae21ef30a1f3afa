import { base58 } from '@scure/base';
import { describe, expect, it } from 'vitest';
import { systemRuntime } from '../../../../src/internal/runtime.js';
import type { Runtime } from '../../../../src/internal/runtime.js';
import { addressOf } from '../../../../src/solana/address.js';
import { landTransaction } from '../../../../src/solana/transactions/confirm.js';
import { transferLamports } from '../../../../src/solana/transactions/swap-instructions.js';
import type { Rpc, SignatureStatus } from '../../../../src/solana/rpc/rpc.js';
import { compileMessage } from '../../../../src/solana/transactions/compile.js';
import { assembleTransaction } from '../../../../src/solana/transactions/transaction.js';
import { lookBackAt } from '../../../helpers/look-back.js';
import { rpcWith } from '../rpc/rpc-with.js';

const wallet = addressOf(new Uint8Array(32).fill(1));
const message = compileMessage({
  feePayer: wallet,
  instructions: [
    transferLamports({ from: wallet, to: addressOf(new Uint8Array(32).fill(2)), lamports: 1n }),
  ],
  blockhash: wallet,
});
const bytes = assembleTransaction(message, new Map([[wallet, new Uint8Array(64).fill(3)]]));
const signature = base58.encode(new Uint8Array(64).fill(3));
const LAST = 150n;

/** Time passes only in sleeps: a sleep moves the clock, and then other work runs. */
function fakeRuntime(onSleep: (now: number) => void = () => undefined) {
  let now = 1_000;
  const sleeps: number[] = [];
  const runtime: Runtime = {
    now: () => now,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        sleeps.push(ms);
        if (signal?.aborted === true) return reject(signal.reason);
        let ended = false;
        signal?.addEventListener('abort', () => {
          ended = true;
          reject(signal.reason);
        });
        setImmediate(() => {
          if (!ended) onSleep(now + ms);
          if (ended) return;
          now += ms;
          resolve();
        });
      }),
    randomBytes: (length) => new Uint8Array(length),
    idle: (ms, signal) => systemRuntime.idle(ms, signal),
  };
  return { runtime, sleeps, now: () => now };
}

interface Fake extends Partial<Rpc> {
  readonly status?: (
    options: { history: boolean; minContextSlot: number | undefined },
    count: number,
  ) => SignatureStatus | null;
}

function fakeRpc({ status = () => null, ...rest }: Fake) {
  const log = {
    sent: [] as Uint8Array[],
    statuses: 0,
    listening: 0,
    listener: (() => undefined) as (error: string | null) => void,
    signals: [] as (AbortSignal | undefined)[],
  };
  const rpc = rpcWith({
    tip: () => Promise.resolve({ slot: 20, height: 1n }),
    send: (sent, options) => {
      log.sent.push(sent);
      log.signals.push(options?.signal);
      return Promise.resolve();
    },
    statuses: (signatures, options) => {
      expect(signatures).toEqual([signature]);
      log.statuses += 1;
      return Promise.resolve([
        status(
          { history: options?.history === true, minContextSlot: options?.minContextSlot },
          log.statuses,
        ),
      ]);
    },
    onSignature: (asked, listener) => {
      expect(asked).toBe(signature);
      log.listening += 1;
      log.listener = listener;
      return () => {
        log.listening -= 1;
      };
    },
    ...rest,
  });
  return { rpc, log };
}

const land = (rpc: Rpc, runtime: Runtime, signal?: AbortSignal) =>
  landTransaction({
    rpc,
    runtime,
    bytes,
    lastValidBlockHeight: LAST,
    resendMs: 2_000,
    lookBack: lookBackAt(rpc, bytes),
    signal,
  });
const confirmed: SignatureStatus = { slot: 42, commitment: 'confirmed', error: null };

describe('landTransaction', () => {
  it('confirms by polling, and resends the same bytes until then', async () => {
    const { rpc, log } = fakeRpc({ status: (_, count) => (count === 10 ? confirmed : null) });
    const { runtime, sleeps } = fakeRuntime();
    expect(await land(rpc, runtime)).toEqual({ outcome: 'confirmed', slot: 42 });
    expect(sleeps).toEqual(Array<number>(10).fill(500));
    expect(log.sent).toEqual([bytes, bytes, bytes]);
    expect(log.listening).toBe(0);
    expect(log.signals.every((signal) => signal?.aborted)).toBe(true);
  });

  it.each([-3_600_000, -1_000])(
    'resends and expires as before when the clock jumps by %i ms',
    async (ms) => {
      let height = 1n;
      const { rpc, log } = fakeRpc({ tip: () => Promise.resolve({ slot: 900, height }) });
      const { runtime, sleeps } = fakeRuntime();
      let skew = 0;
      const clock = { ...runtime, now: () => runtime.now() + skew };
      const slept: Runtime['sleep'] = async (length, signal) => {
        await runtime.sleep(length, signal);
        if (sleeps.length === 3) skew = ms;
        if (sleeps.length === 12) height = LAST + 1n;
      };
      expect(await land(rpc, { ...clock, sleep: slept })).toEqual({ outcome: 'expired' });
      expect(log.sent.length).toBeGreaterThanOrEqual(3);
      expect(sleeps.length).toBeLessThan(30);
    },
  );

  it('polls at once when the WebSocket reports first, and again soon if the status is late', async () => {
    const { rpc, log } = fakeRpc({ status: (_, count) => (count === 3 ? confirmed : null) });
    const { runtime, sleeps, now } = fakeRuntime((at) => {
      if (at === 1_500) log.listener(null);
    });
    expect(await land(rpc, runtime)).toEqual({ outcome: 'confirmed', slot: 42 });
    expect(sleeps).toEqual([500, 100, 100]);
    expect(now()).toBe(1_200);
  });

  it.each<[string, unknown, boolean]>([
    ['returns it', { signatures: [signature], slot: 42 }, true],
    [
      'returns another transaction',
      { signatures: [base58.encode(new Uint8Array(64))], slot: 42 },
      false,
    ],
    ['returns none', null, false],
    ['returns a newer version', 'newer', false],
    ['fails', new Error('no node'), false],
  ])(
    'asks for the transaction beside its status after the WebSocket reported, when the node %s',
    async (_, answer, isGiven) => {
      const transaction: Rpc['transaction'] = () =>
        answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer as never);
      const { rpc, log } = fakeRpc({ status: () => confirmed, transaction });
      const { runtime } = fakeRuntime(() => log.listener(null));
      expect(await land(rpc, runtime)).toEqual({
        outcome: 'confirmed',
        slot: 42,
        ...(isGiven ? { landed: answer } : {}),
      });
    },
  );

  it('does not trust the WebSocket alone', async () => {
    const { rpc, log } = fakeRpc({ tip: () => Promise.resolve({ slot: 900, height: LAST + 1n }) });
    const { runtime, sleeps } = fakeRuntime((at) => {
      if (at === 1_500) log.listener(null);
      if (at === 1_500) log.listener = () => undefined;
    });
    expect(await land(rpc, runtime)).toEqual({ outcome: 'expired' });
    expect(sleeps.filter((ms) => ms === 100)).toHaveLength(20);
  });

  it('waits for the confirmation of a processed transaction, also if it failed', async () => {
    for (const error of [null, '{"InstructionError":[3,{"Custom":6001}]}']) {
      const { rpc } = fakeRpc({
        status: (_, count) => ({
          slot: 40 + count,
          commitment: count < 4 ? 'processed' : 'confirmed',
          error,
        }),
      });
      const landing = await land(rpc, fakeRuntime().runtime);
      // A failure is asked about once more.
      expect(landing).toEqual(
        error === null
          ? { outcome: 'confirmed', slot: 44 }
          : { outcome: 'failed', error, slot: 45 },
      );
    }
  });

  it('continues when the first send fails, because the node may have taken the transaction', async () => {
    const { rpc } = fakeRpc({
      send: () => Promise.reject(new Error('lost')),
      status: (_, count) => (count === 2 ? confirmed : null),
    });
    expect(await land(rpc, fakeRuntime().runtime)).toEqual({ outcome: 'confirmed', slot: 42 });
  });

  it('does not wait for a node that hangs on a send or on the height', async () => {
    const never = () => new Promise<never>(() => undefined);
    const { rpc } = fakeRpc({
      send: never,
      tip: never,
      status: (_, count) => (count === 20 ? confirmed : null),
    });
    expect(await land(rpc, fakeRuntime().runtime)).toEqual({ outcome: 'confirmed', slot: 42 });
  });

  it('expires only past the last height at finalized, after it looked back', async () => {
    const commitments: string[] = [];
    let height = LAST;
    const asked: unknown[] = [];
    const { rpc, log } = fakeRpc({
      tip: (commitment) => {
        commitments.push(commitment);
        return Promise.resolve({
          slot: 800 + commitments.length,
          height: commitments.length > 5 ? ++height : height,
        });
      },
      status: (options) => {
        if (options.history) asked.push(options);
        return null;
      },
    });
    expect(await land(rpc, fakeRuntime().runtime)).toEqual({ outcome: 'expired' });
    expect(new Set(commitments)).toEqual(new Set(['finalized']));
    expect(commitments).toHaveLength(6);
    expect(asked).toEqual([{ history: true, minContextSlot: undefined }]);
    expect(log.sent).toHaveLength(7);
  });

  it('finds a transaction that landed or failed in the last moment by its history', async () => {
    for (const error of [null, '"X"']) {
      const { rpc } = fakeRpc({
        tip: () => Promise.resolve({ slot: 900, height: LAST + 1n }),
        status: ({ history }) => (history ? { slot: 7, commitment: 'finalized', error } : null),
      });
      expect(await land(rpc, fakeRuntime().runtime)).toEqual(
        error === null ? { outcome: 'confirmed', slot: 7 } : { outcome: 'failed', error, slot: 7 },
      );
    }
  });

  it('does not expire while no node can look back', async () => {
    let tries = 0;
    const { rpc } = fakeRpc({
      tip: () => Promise.resolve({ slot: 900, height: LAST + 1n }),
      statuses: (_, options) =>
        options?.history === true && ++tries < 5
          ? Promise.reject(new Error('lags'))
          : Promise.resolve([null]),
    });
    expect(await land(rpc, fakeRuntime().runtime)).toEqual({ outcome: 'expired' });
    expect(tries).toBe(5);
  });

  it('ends as unknown when the node is down for a minute', async () => {
    const { rpc, log } = fakeRpc({ statuses: () => Promise.reject(new Error('gone')) });
    const { runtime, now } = fakeRuntime();
    expect(await land(rpc, runtime)).toEqual({ outcome: 'unknown' });
    expect(now()).toBe(61_000);
    expect(log.listening).toBe(0);
  });

  it('ends as unknown when the chain stands still', async () => {
    const { rpc } = fakeRpc({});
    const { runtime, now } = fakeRuntime();
    expect(await land(rpc, runtime)).toEqual({ outcome: 'unknown' });
    expect(now()).toBe(301_000);
  });

  it('ends as unknown when it is aborted, and stops listening', async () => {
    const controller = new AbortController();
    const { rpc, log } = fakeRpc({});
    const { runtime } = fakeRuntime((at) => {
      if (at > 3_000) controller.abort();
    });
    expect(await land(rpc, runtime, controller.signal)).toEqual({ outcome: 'unknown' });
    expect(log.listening).toBe(0);
    expect(log.sent).toHaveLength(2);
  });

  it('sends nothing when it is aborted before its start', async () => {
    const { rpc, log } = fakeRpc({});
    expect(await land(rpc, fakeRuntime().runtime, AbortSignal.abort())).toEqual({
      outcome: 'unknown',
    });
    expect(log).toMatchObject({ sent: [], statuses: 0, listening: 0 });
  });
});
