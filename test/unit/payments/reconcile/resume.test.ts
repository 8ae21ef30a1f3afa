import { createMemory, createResumed } from '../../../../src/payments/memory.js';
import { describe, expect, it, vi } from 'vitest';
import { createHistories } from '../../../../src/payments/reconcile/histories.js';
import { endUnpaid } from '../../../../src/payments/reconcile/orphaned-attempts.js';
import { bodyClaim } from '../../../../src/payments/execute/release-claim.js';
import { freeOrphanedBudget, resume } from '../../../../src/payments/reconcile/resume.js';
import { resumeOnce } from '../../../../src/payments/reconcile/resume-once.js';
import { createEvents } from '../../../../src/events.js';
import { createMemoryJournal } from '../../../../src/journal/memory.js';
import { memoryOutbox } from '../../../../src/outbox/memory.js';
import { newWallet } from '../../../../src/journal/registry.js';
import type { Attempt } from '../../../../src/journal/types.js';
import { noSwapCost } from '../../../../src/policy/cost.js';
import { SOLANA_DEVNET, SOLANA_MAINNET } from '../../../../src/network.js';
import type { Runtime } from '../../../../src/internal/runtime.js';
import { systemRuntime } from '../../../../src/internal/runtime.js';
import { addressOf } from '../../../../src/solana/address.js';
import type { Rpc } from '../../../../src/solana/rpc/rpc.js';
import { withOutbox } from '../../../contract/outbox-contract.js';
import { fakeRpc, OURS, payment, refused, START, type FakeNode } from './fake-chain.js';

type Core = Parameters<typeof resume>[0];
const HOUR = 3_600_000;
const [WALLET, MINT] = [
  addressOf(new Uint8Array(32).fill(1)),
  addressOf(new Uint8Array(32).fill(2)),
];
const NOW = 10 * HOUR;
const cap = { name: 'maxPerDay', unit: 'USD', windowMs: 24 * HOUR, limit: 10_000_000n } as const;

function attempt(id: string, part: Partial<Attempt> = {}): Attempt {
  return {
    id,
    wallet: WALLET,
    network: SOLANA_MAINNET,
    state: 'reserved',
    delivered: false,
    url: 'https://seller.example/',
    method: 'GET',
    host: 'seller.example',
    fingerprint: id,
    at: NOW - HOUR,
    payTo: 'p',
    mint: MINT,
    amount: '1',
    microUsd: '1000000',
    ...part,
  };
}

function signed(id: string, part: Parameters<typeof payment>[0] = {}): Attempt {
  const made = payment(part);
  const receipt = {
    ...{
      id,
      url: 'https://seller.example/',
      method: 'GET',
      at: NOW,
      state: 'pending' as const,
      cost: { networkFeeLamports: '0', rentLamports: '0' },
      timings: {},
    },
    payment: {
      ...{
        network: SOLANA_MAINNET,
        mint: MINT,
        amount: '1',
        decimals: 6,
        uiAmount: '0.000001',
        payTo: 'p',
        payer: WALLET,
      },
      payerSignature: made.payerSignature,
    },
  };
  return attempt(id, { state: 'signed', payment: made, receipt });
}

/** A context over a journal with these attempts. Its time stands still until `pass` is called. */
async function coreWith(attempts: readonly Attempt[], node: FakeNode, part: Partial<Rpc> = {}) {
  const journal = withOutbox(createMemoryJournal(memoryOutbox()));
  for (const attempt of attempts) await journal.reserve(attempt, []);
  let now = NOW;
  const naps = new Set<{ readonly until: number; readonly wake: () => void }>();
  const runtime: Runtime = {
    ...systemRuntime,
    now: () => now,
    sleep: () => new Promise((resolve) => void setImmediate(resolve)),
    idle: (ms, signal) =>
      new Promise((resolve, reject) => {
        naps.add({ until: now + ms, wake: resolve });
        signal?.addEventListener('abort', () => reject(signal.reason));
      }),
  };
  const closing = new AbortController();
  const rpc = fakeRpc([node], part);
  const config = {
    signer: { address: WALLET },
    network: SOLANA_MAINNET,
    runtime,
    timeouts: { payment: 60_000 },
  };
  // The parts of a context that resuming needs.
  const wallet = newWallet();
  const core = {
    ...wallet.coordination,
    config,
    events: createEvents(runtime.now),
    rpc,
    histories: createHistories(rpc, runtime),
    blockhashes: { expire: () => undefined },
    memory: createMemory(),
    wallet,
    journal,
    resumed: createResumed(),
    closing,
  } as unknown as Core;
  const states = async () => {
    const stateOf: Record<string, string> = {};
    for await (const { id, state } of journal.attempts({ wallet: WALLET, network: SOLANA_MAINNET }))
      stateOf[id] = state;
    return stateOf;
  };
  const used = async () =>
    (await journal.used({ wallet: WALLET, network: SOLANA_MAINNET }, [cap], now))[0];
  const pass = async (ms: number) => {
    now += ms;
    for (const nap of naps) {
      if (nap.until > now) continue;
      naps.delete(nap);
      nap.wake();
    }
    // A look at the chain takes several turns.
    for (let turn = 0; turn < 100; turn += 1) await new Promise(setImmediate);
  };
  const events = async () =>
    (await journal.outbox.take({ limit: 100, leaseMs: 1, now: Infinity })).map(
      ({ event }) => event,
    );
  return { core, journal, rpc, states, events, used, pass, naps, closing };
}

const past: FakeNode = { slot: 2_000, height: 501n };
const failedSwap: FakeNode = { ...past, history: { s: { slot: 1, error: '"X"' } } };
const route = { inputMint: 'i', outputMint: MINT, provider: 'p', source: 'from', output: 'to' };
const quoted = { inAmount: '7', outAmount: '8', feeLamports: '9' };
const lifetime = { blockhash: 'hash', blockhashSlot: 1_000, lastValidBlockHeight: '500' };
const swap = {
  signature: 's',
  transaction: 't',
  before: { amount: `${START}`, slot: 1_000 },
  ...lifetime,
  quoted,
  ...route,
};
const found =
  (commitment: 'processed' | 'confirmed', error: string | null = null) =>
  () =>
    Promise.resolve([{ slot: 1, commitment, error }]);
const nowhere = () => Promise.resolve([null]);
const change = (account: string, before: bigint, after: bigint) => ({
  account,
  mint: MINT,
  before,
  after,
});

/** The report of an attempt that was freed. */
const freed = (id: string, state: 'abandoned' | 'unpaid', lamports = '0') => ({
  ...{ id, url: 'https://seller.example/', method: 'GET', at: NOW - HOUR, state },
  cost: { usd: '0', parts: { payments: '0', swaps: '0', fees: '0' }, lamports },
});

it('asks about all signed payments at the same time', async () => {
  const sources = new Set(['a', 'b', 'c']);
  const held = [...sources].map((source) => signed(source, { source, payerSignature: source }));
  let go = (): void => undefined;
  const allAsked = new Promise<void>((resolve) => void (go = resolve));
  // No answer comes before the last question.
  const signaturesFor: Rpc['signaturesFor'] = async (address) => {
    if (!sources.delete(address)) return [];
    if (sources.size === 0) go();
    await allAsked;
    return [];
  };
  const { core, closing } = await coreWith(held, past, { signaturesFor });
  expect(await resume(core)).toEqual([]);
  closing.abort();
});

describe('an orphaned reservation without a signature', () => {
  it('is freed when no call claims it', async () => {
    const { core, states, used } = await coreWith([attempt('dead')], past);
    expect(await used()).toBe(1_000_000n);
    expect(await resume(core)).toEqual([freed('dead', 'unpaid')]);
    expect([await states(), await used()]).toEqual([{}, 0n]);
    expect(await resume(core)).toEqual([]);
  });

  it('is kept while a call claims it, however long that takes', async () => {
    const { core, states } = await coreWith([attempt('slow')], past);
    await core.claims.take(['slow']);
    await resume(core);
    expect(await states()).toEqual({ slow: 'reserved' });
  });

  it('is left to a call that continues it at the same time', async () => {
    const { core, journal, states } = await coreWith([attempt('young')], past);
    const { live } = core.claims;
    // The attempt is signed between the read of the journal and the read of live claims.
    const claims = {
      ...core.claims,
      live: async (ids: readonly string[]) => (await journal.put(signed('young')), live(ids)),
    };
    await resume({ ...core, claims });
    expect(await states()).toEqual({ young: 'signed' });
  });

  it('is not reported as freed if it is signed just before its release', async () => {
    const { core, journal, states } = await coreWith([attempt('young')], past);
    const release = async (id: string) => (await journal.put(signed(id)), journal.release(id));
    expect(await resume({ ...core, journal: { ...journal, release } })).toEqual([]);
    expect(await states()).toEqual({ young: 'signed' });
  });

  it('is not looked up again after it was reported', async () => {
    const { core, journal } = await coreWith([attempt('dead')], past);
    await resume(core);
    const attempts = vi.spyOn(journal, 'attempts');
    await resume(core);
    expect(attempts.mock.calls.filter(([, filter]) => filter?.since !== undefined)).toEqual([]);
  });

  it('is not reported when its own call gave it up, because that call has its error', async () => {
    const { core, states } = await coreWith([attempt('own')], past);
    await endUnpaid(core, attempt('own'));
    expect([await resume(core), await states()]).toEqual([[], {}]);
  });

  it('is reported among the newest thousand if no call asked before', async () => {
    const { core } = await coreWith(
      Array.from({ length: 1_002 }, (_, index) => attempt(`${index}`)),
      past,
    );
    await freeOrphanedBudget(core);
    const reported = (await resume(core)).map(({ id }) => id);
    expect([reported.length, reported[0], reported[999]]).toEqual([1_000, '2', '1001']);
  });

  it('is searched for once for many calls, and each of them learns that budget was freed', async () => {
    const { core, journal, states } = await coreWith([attempt('dead')], past);
    const { live } = core.claims;
    let looks = 0;
    let crowd: Promise<boolean>[] = [];
    const claims = {
      ...core.claims,
      live: async (ids: readonly string[]) => {
        looks += 1;
        // These calls were refused while the first call looks, which may free their budget.
        if (looks === 1) crowd = Array.from({ length: 50 }, () => freeOrphanedBudget(crowded));
        return live(ids);
      },
    };
    const crowded = { ...core, claims };
    expect(await freeOrphanedBudget(crowded)).toBe(true);
    expect(await Promise.all(crowd)).toEqual(crowd.map(() => true));
    expect([looks, await states()]).toEqual([1, {}]);
    await journal.reserve(attempt('next'), []);
    expect([await freeOrphanedBudget(crowded), await freeOrphanedBudget(crowded), looks]).toEqual([
      true,
      false,
      2,
    ]);
  });

  it('is searched for again for a call that came while a search failed', async () => {
    const { core } = await coreWith([attempt('dead')], past);
    let second: Promise<boolean> | undefined;
    const live = vi.fn(core.claims.live).mockImplementationOnce(async () => {
      second = freeOrphanedBudget(failing);
      throw new Error('silent');
    });
    const failing = { ...core, claims: { ...core.claims, live } };
    await expect(freeOrphanedBudget(failing)).rejects.toThrow('silent');
    expect(await second).toBe(true);
  });

  it('is reported by the next call if a payment freed it before', async () => {
    const { core } = await coreWith([attempt('dead')], past);
    expect(await freeOrphanedBudget(core)).toBe(true);
    expect([await resume(core), await resume(core)]).toEqual([[freed('dead', 'unpaid')], []]);
  });
});

describe('a signed payment with an answer in progress', () => {
  it('is left to its call while that call reads the answer', async () => {
    const { core, states } = await coreWith([signed('read')], past);
    await core.claims.take([bodyClaim('read')]);
    expect(await resume(core)).toEqual([]);
    expect(await states()).toEqual({ read: 'signed' });
    await core.claims.drop([bodyClaim('read')]);
    await resume(core);
    expect(await states()).toEqual({ read: 'unsettled' });
  });
});

describe('an orphaned reservation with a signed swap', () => {
  it.each([
    ['is freed when the swap is past its last height', past, { statuses: nowhere }, {}],
    [
      'is freed when the swap landed',
      { ...past, height: 500n },
      { statuses: found('confirmed') },
      {},
    ],
    [
      'is kept while the swap is only processed',
      { ...past, height: 500n },
      { statuses: found('processed') },
      { dead: 'abandoned' },
    ],
    [
      'is kept while the swap may land',
      { ...past, height: 500n },
      { statuses: nowhere },
      { dead: 'abandoned' },
    ],
    ['is kept while no node answers', { ...past, down: true }, {}, { dead: 'abandoned' }],
  ])('%s', async (_, node, part, left) => {
    const { core, states } = await coreWith([attempt('dead', { swap })], node, part);
    const [reports, again] = [await resume(core), await resume(core)];
    expect(await states()).toEqual(left);
    // Its price is free in every case.
    expect([reports.map(({ state }) => state), again]).toEqual([
      ['dead' in left ? 'abandoned' : 'unpaid'],
      [],
    ]);
  });

  it('is reported with the amounts that its swap brought and took', async () => {
    const swapping = { ...noSwapCost, swaps: 1, lamports: '7000' };
    const landed = { statuses: found('confirmed') };
    const { core } = await coreWith([attempt('dead', { swap, swapping })], past, landed);
    const { signature, inputMint, outputMint, provider } = swap;
    const { inAmount, outAmount } = quoted;
    expect(await resume(core)).toEqual([
      {
        ...freed('dead', 'unpaid', '7000'),
        swap: { signature, inputMint, inAmount, outputMint, outAmount, provider },
      },
    ]);
  });

  it.each([
    [
      'that the swap can never land',
      past,
      { statuses: nowhere },
      'swap.failed',
      { code: 'swap_expired' },
    ],
    [
      'that the swap landed and failed',
      failedSwap,
      { statuses: found('confirmed', '"X"') },
      'swap.failed',
      { code: 'swap_failed' },
    ],
    [
      'the quoted amounts of the swap, if no node shows the real amounts',
      past,
      { statuses: found('confirmed') },
      'swap.confirmed',
      quoted,
    ],
    [
      'the amounts of the swap',
      past,
      {
        statuses: found('confirmed'),
        transaction: () =>
          Promise.resolve({
            ...{
              slot: 1,
              error: null,
              signatures: ['s'],
              feeLamports: 5_000n,
              lamports: new Map(),
              tellsTokens: true,
            },
            tokenChanges: [change('from', 10n, 4n), change('to', 0n, 3n)],
          }),
      },
      'swap.confirmed',
      { inAmount: '6', outAmount: '3', feeLamports: '5000' },
    ],
  ] as const)(
    'reports %s, once, after the failure of its payment',
    async (_, node, part, type, details) => {
      const { core, events, states, pass } = await coreWith(
        [attempt('dead', { swap })],
        node,
        part,
      );
      await resume(core);
      await resume(core);
      await pass(HOUR);
      expect(await events()).toMatchObject([
        { type: 'payment.failed', data: { id: 'dead' } },
        { type, data: { id: 'dead', signature: 's', ...details } },
      ]);
      expect(await states()).toEqual({});
    },
  );

  it('reports the end of its swap once when two calls resume it together or in turn', async () => {
    const { core, journal, events, states } = await coreWith([attempt('dead', { swap })], past, {
      statuses: nowhere,
    });
    await Promise.all([resume(core), resume({ ...core })]);
    expect((await events()).map(({ type }) => type)).toEqual(['payment.failed', 'swap.failed']);
    await journal.reserve(attempt('again', { swap, state: 'abandoned' }), []);
    // Another process releases the attempt between the look at the chain and the write.
    const put = async (late: Attempt) => (await journal.release(late.id), journal.put(late));
    await resume({ ...core, journal: { ...journal, put } });
    expect(await states()).toEqual({});
  });

  it('is kept if the end of its swap cannot be recorded', async () => {
    const { core, journal, events, states } = await coreWith(
      [attempt('dead', { swap, state: 'abandoned' })],
      past,
      { statuses: nowhere },
    );
    await resume({ ...core, journal: { ...journal, put: () => Promise.reject(new Error('EIO')) } });
    expect([await states(), await events()]).toEqual([{ dead: 'abandoned' }, []]);
    await resume({ ...core });
    expect([await states(), (await events()).map(({ type }) => type)]).toEqual([
      {},
      ['swap.failed'],
    ]);
  });

  it('is freed when the swap ends later', async () => {
    let status: Awaited<ReturnType<Rpc['statuses']>>[number] = null;
    const { core, states, pass } = await coreWith(
      [attempt('dead', { swap })],
      { ...failedSwap, height: 1n },
      { statuses: () => Promise.resolve([status]) },
    );
    expect(await resume(core)).toEqual([freed('dead', 'abandoned')]);
    status = { slot: 1, commitment: 'finalized', error: '"X"' };
    await pass(1_000);
    expect(await states()).toEqual({});
    expect([await resume(core), await resume(core)]).toEqual([[freed('dead', 'unpaid')], []]);
  });

  it('frees its budget and its key at once', async () => {
    const { core, journal, used } = await coreWith(
      [attempt('dead', { swap, idempotencyKey: 'order' })],
      { ...past, height: 1n },
      { statuses: found('processed') },
    );
    await resume(core);
    expect(await used()).toBe(0n);
    expect(
      await journal.similar({ wallet: WALLET, network: SOLANA_MAINNET }, 'dead', 'order'),
    ).toEqual([]);
  });

  it('is monitored once, until the client closes', async () => {
    const { core, naps, closing, states, pass } = await coreWith([attempt('dead', { swap })], {
      ...past,
      down: true,
    });
    await resume(core);
    await resume(core);
    await new Promise(setImmediate);
    expect(naps.size).toBe(1);
    closing.abort();
    await pass(HOUR);
    expect(await states()).toEqual({ dead: 'abandoned' });
  });
});

describe('a signed payment', () => {
  const tx = { slot: 1_010, memo: '[5] nonce', signatures: ['tx', OURS] };

  it('is decided while the node gives no answer about another payment', async () => {
    const node = { ...past, history: { tx } };
    const stuck = signed('stuck', { source: 'other', payerSignature: 'another' });
    const { core, states, rpc } = await coreWith([stuck, signed('paid'), attempt('dead')], node);
    const { signaturesFor } = rpc;
    const faulty: Rpc = {
      ...rpc,
      signaturesFor: (address, options) =>
        address === 'other' ? Promise.reject(refused()) : signaturesFor(address, options),
    };
    const lone: Rpc = { ...faulty, perNode: () => [faulty] };
    const receipts = await resume({
      ...core,
      rpc: lone,
      histories: createHistories(lone, core.config.runtime),
    });
    expect(receipts).toMatchObject([
      { id: 'paid', state: 'settled', payment: { signature: 'tx' } },
      freed('dead', 'unpaid'),
    ]);
    expect(await states()).toEqual({ stuck: 'signed', paid: 'settled' });
  });

  it('is reported once, by the first call after the chain decided between two calls', async () => {
    const node: FakeNode = { slot: 1_010, height: 10n };
    const { core, states, pass } = await coreWith(
      [signed('paid'), signed('lost', { payerSignature: 'another' })],
      node,
    );
    expect(await resume(core)).toEqual([]);
    Object.assign(node, past, { history: { tx } });
    await pass(HOUR);
    await pass(HOUR);
    expect(await states()).toEqual({ paid: 'settled', lost: 'unsettled' });
    expect(await resume(core)).toMatchObject([
      { id: 'paid', state: 'settled' },
      { id: 'lost', state: 'unsettled' },
    ]);
    expect(await resume(core)).toEqual([]);
  });

  it('is reported if a payment resumed it before', async () => {
    const { core, states, pass } = await coreWith([signed('paid')], { ...past, history: { tx } });
    await resumeOnce(core);
    await pass(HOUR);
    expect(await states()).toEqual({ paid: 'settled' });
    expect(await resume(core)).toMatchObject([{ id: 'paid', state: 'settled' }]);
    expect(await resume(core)).toEqual([]);
  });

  it('is ignored if it belongs to another network', async () => {
    const foreign = { ...signed('devnet'), network: SOLANA_DEVNET };
    const { core, rpc } = await coreWith(
      [foreign, attempt('other', { network: SOLANA_DEVNET })],
      past,
    );
    expect(await resume(core)).toEqual([]);
    expect(rpc.asked).toEqual([]);
  });

  it('makes resuming fail when no node answers, with funds that are uncertain', async () => {
    const { core, states } = await coreWith([signed('paid')], { ...past, down: true });
    await expect(resume(core)).rejects.toMatchObject({
      name: 'TransportError',
      ...{ code: 'rpc_unavailable', funds: 'uncertain', moved: [], retry: 'same' },
    });
    expect(await states()).toEqual({ paid: 'signed' });
  });
});
