import { isPaid, type OpenPayment } from '../../../../src/journal/open-payment.js';
import type { Attempt } from '../../../../src/journal/types.js';
import { describe, expect, it } from 'vitest';
import { createMemory } from '../../../../src/payments/memory.js';
import { createHistories } from '../../../../src/payments/reconcile/histories.js';
import { monitorPayment } from '../../../../src/payments/reconcile/payment-monitor.js';
import { withCoordination, newWallet } from '../../../../src/journal/registry.js';
import { createMemoryJournal } from '../../../../src/journal/memory.js';
import { systemRuntime } from '../../../../src/internal/runtime.js';
import { attemptOf, fullAttemptOf, listOf } from '../../../helpers/attempts.js';
import { seenSince } from '../../../helpers/seen-since.js';
import { fakeRpc, OURS, payment, type FakeNode } from './fake-chain.js';

type Core = Parameters<typeof monitorPayment>[0];

/** A payment of 40 out of 100 that is monitored on this node. */
async function monitored(node: FakeNode) {
  const wallet = newWallet();
  const { ledger } = wallet.coordination;
  await ledger.see('source', { amount: 100n, at: 0, slot: 1_005 });
  await ledger.hold('source', 'a', 40n);
  const closing = new AbortController();
  let heard = (): void => undefined;
  const asked = new Promise<void>((resolve) => (heard = resolve));
  const rpc = fakeRpc([node]);
  const listening = {
    ...rpc,
    tip: (...args: Parameters<typeof rpc.tip>) => (heard(), rpc.tip(...args)),
  };
  const both = { ...rpc, perNode: () => [listening] };
  // The parts of a context that a monitor needs.
  const core = {
    ...wallet.coordination,
    wallet,
    closing,
    journal: withCoordination(
      { ...createMemoryJournal(), put: () => Promise.resolve() },
      wallet.coordination,
    ),
    config: { runtime: systemRuntime, timeouts: { payment: 60_000 } },
    rpc: both,
    histories: createHistories(both, systemRuntime),
    blockhashes: { expire: () => undefined },
    memory: createMemory(),
  } as unknown as Core;
  const receipt = { payment: {}, cost: { networkFeeLamports: '0', rentLamports: '0' } };
  const open = {
    attempt: { id: 'a', state: 'signed', mint: 'mint', amount: '40', payment: payment(), receipt },
    seen: new Set(),
  } as unknown as OpenPayment;
  // The available amount and the held amount.
  const left = async () => [
    await ledger.available('source', seenSince(0)),
    await ledger.held('source'),
  ];
  return { core, open, closing, asked, left };
}

const tx = { slot: 1_010, memo: 'nonce', signatures: ['tx', OURS] };

describe('the hold of a payment', () => {
  it('is spent when the payment settles', async () => {
    const { core, open, left } = await monitored({ slot: 2_000, height: 1n, history: { tx } });
    await monitorPayment(core, open, () => undefined);
    expect(await left()).toEqual([60n, 0n]);
  });

  it('is released when the payment can never settle, and the balance must be read again', async () => {
    const { core, open, left } = await monitored({ slot: 2_000, height: 501n });
    await monitorPayment(core, open, () => undefined);
    expect(await left()).toEqual([undefined, 0n]);
  });

  it('counts as spent if the client closes first, because no other call ends it', async () => {
    const { core, open, closing, asked, left } = await monitored({ slot: 2_000, height: 1n });
    const end = monitorPayment(core, open, () => undefined);
    await asked;
    expect(await left()).toEqual([60n, 40n]);
    closing.abort();
    await end;
    expect(await left()).toEqual([60n, 0n]);
  });

  it('stays while another client of the wallet monitors the payment', async () => {
    const { core, open, closing, asked, left } = await monitored({ slot: 2_000, height: 1n });
    const other = { ...core, closing: new AbortController() };
    const ends = [
      monitorPayment(core, open, () => undefined),
      monitorPayment(other, open, () => undefined),
    ] as const;
    await asked;
    closing.abort();
    await ends[0];
    expect(await left()).toEqual([60n, 40n]);
    other.closing.abort();
    await ends[1];
    expect(await left()).toEqual([60n, 0n]);
  });
});

describe('a decision that two clients of a wallet make at once', () => {
  it('keeps its receipt if the journal answers one of them with an older record', async () => {
    const { core, open } = await monitored({ slot: 2_000, height: 1n, history: { tx } });
    const doubted = { ...open.attempt, receipt: { ...open.attempt.receipt, state: 'uncertain' } };
    let ended = (): void => undefined;
    const isEnded = new Promise<void>((resolve) => (ended = resolve));
    let bothRead = (): void => undefined;
    const isRead = new Promise<void>((resolve) => (bothRead = resolve));
    let reads = 0;
    const puts: unknown[] = [];
    const journal = {
      ...core.journal,
      async *attempts() {
        // Both ask before either is answered, and the second is answered last.
        if ((reads += 1) === 2) bothRead();
        await (reads === 2 ? isEnded : isRead);
        yield doubted;
      },
      put: ({ state, receipt }: Attempt) => {
        puts.push([state, receipt?.state]);
        return Promise.resolve();
      },
    };
    const foreign = { ...open, isShared: true };
    const config = { ...core.config, signer: { address: 'wallet' }, network: 'network' };
    // The journal has only what a monitor calls.
    const client = { ...core, journal, config } as unknown as Core;
    const ends = [client, { ...client }].map((each) =>
      monitorPayment(each, foreign, () => ended()),
    );
    await Promise.all(ends);
    expect(new Set(puts.map(String))).toEqual(new Set(['settled,settled']));
  });
});

describe('a payment that was delivered in this process', () => {
  /** Monitors a payment that the journal has in this state, and returns what it has then. */
  async function closed(
    state: 'signed' | 'settled',
    delivers: (open: OpenPayment) => void,
    recorded: { readonly delivered?: boolean } = {},
  ) {
    const { core } = await monitored({ slot: 2_000, height: 1n, history: { tx } });
    const journal = createMemoryJournal();
    const { receipt } = fullAttemptOf();
    const parts = { id: 'a', mint: 'mint', amount: '40', payment: payment() };
    const signed = attemptOf({ ...parts, state: 'signed', ...(receipt && { receipt }) });
    if (!isPaid(signed)) throw new Error('The attempt has no receipt.');
    await journal.reserve(signed, []);
    await journal.put({ ...signed, state, ...recorded });
    const open: OpenPayment = { attempt: signed, isShared: true };
    const listing = {
      ...journal,
      async *attempts(...[owner, filter]: Parameters<typeof journal.attempts>) {
        const listed = await listOf(journal.attempts(owner, filter));
        delivers(open);
        yield* listed;
      },
    };
    const config = { ...core.config, signer: { address: signed.wallet }, network: signed.network };
    // The journal has only what a monitor calls.
    const context = { ...core, journal: listing, config } as unknown as Core;
    await monitorPayment(context, open, () => undefined);
    return (await listOf(journal.attempts(signed)))[0];
  }
  const known = (open: OpenPayment) => void (open.attempt = { ...open.attempt, delivered: true });
  const deliver = (open: OpenPayment) => {
    known(open);
    open.isDeliveredHere = true;
  };

  it('is recorded as delivered though another process closed it before', async () => {
    expect(await closed('settled', deliver)).toMatchObject({ state: 'settled', delivered: true });
  });

  it('is recorded as delivered though the journal answers with an older record', async () => {
    expect(await closed('signed', deliver)).toMatchObject({ state: 'settled', delivered: true });
  });

  it('counts as undelivered if another process has taken its delivery back since', async () => {
    expect(await closed('signed', known)).toMatchObject({ state: 'settled', delivered: false });
  });

  it('counts as undelivered after a take-back of which the journal does not know', async () => {
    const takeBack = (open: OpenPayment) => void (open.isDeliveredHere = false);
    const found = await closed('signed', takeBack, { delivered: true });
    expect(found).toMatchObject({ state: 'settled', delivered: false });
  });

  it('keeps what another process wrote if nothing was delivered here', async () => {
    expect(await closed('settled', () => undefined)).not.toHaveProperty('leftAt');
  });
});

describe('a decision that the journal could not record', () => {
  it('is made again after each wait, also while the subscription is silent', async () => {
    const { core, open } = await monitored({ slot: 2_000, height: 1n, history: { tx } });
    let now = 0;
    const tried: number[] = [];
    const put = () => (
      tried.push(now),
      now < 3_000 ? Promise.reject(new Error('down')) : Promise.resolve(undefined)
    );
    const idle = (ms: number) => ((now += ms), Promise.resolve());
    const live = {
      ...core,
      journal: { ...core.journal, put },
      config: { ...core.config, runtime: { ...core.config.runtime, idle } },
      rpc: { ...core.rpc, onAccount: () => ({ subscription: () => 1, end: () => undefined }) },
    };
    await monitorPayment(live, open, () => undefined);
    expect(open.attempt.state).toBe('settled');
    expect(tried).toEqual([0, 250, 750, 1_750, 3_750]);
  });
});

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

/** Returns how long a wait takes that begins at a time: longer than asked if the machine sleeps. */
type Wait = (ms: number, from: number) => number;

/** Monitors a payment on a node for a time; returns when it asked the node, and when it told. */
async function watchedOn(
  node: FakeNode,
  [from, until]: readonly [number, number],
  wait: Wait = (ms) => ms,
) {
  const { core, open, closing } = await monitored(node);
  open.attempt = { ...open.attempt, at: 0 };
  let now = from;
  const idle = (ms: number) => {
    now += wait(ms, now);
    if (now >= until) closing.abort();
    return Promise.resolve();
  };
  const runtime = { ...core.config.runtime, idle, now: () => now };
  const looks: number[] = [];
  const told: number[] = [];
  const rpc = fakeRpc([node]);
  const heard = {
    ...rpc,
    signaturesFor: (...args: Parameters<typeof rpc.signaturesFor>) => {
      looks.push(now - from);
      return rpc.signaturesFor(...args);
    },
  };
  const both = {
    ...rpc,
    perNode: () => [heard],
    onAccount: () => ({ subscription: () => 1, end: () => undefined }),
  };
  const histories = createHistories(both, runtime);
  const context = { ...core, rpc: both, histories, config: { ...core.config, runtime } };
  await monitorPayment(context, open, () => void told.push(now));
  return { looks, told };
}

describe('a payment that no node decides', () => {
  it('is looked up less and less often', async () => {
    const node = { slot: 2_000, height: 501n, valid: true };
    const { looks } = await watchedOn(node, [0, DAY]);
    expect(looks.filter((at) => at < 10 * MINUTE).length).toBeGreaterThan(50);
    expect(looks.length).toBeLessThan(600);
  });

  it('is looked up once an hour when each node says that it is more than a day old', async () => {
    const node = { slot: 300_000, height: 300_000n, firstSlot: 299_000 };
    expect((await watchedOn(node, [3 * DAY, 4 * DAY])).looks.length).toBeLessThan(30);
  });
});

describe('a payment that landed while no look was possible', () => {
  const young = { slot: 1_005, height: 10n, valid: true };
  const history = { tx };

  it('is told as soon as the machine wakes, however old it is', async () => {
    const node: FakeNode = { ...young };
    const { told } = await watchedOn(node, [0, 3 * DAY], (ms, from) => {
      if (from > 0) return ms;
      Object.assign(node, { slot: 400_000, height: 400_000n, history });
      return 2 * DAY;
    });
    expect(told).toEqual([2 * DAY]);
  });

  it('is told within seconds of the end of an outage, also if it is more than a day old', async () => {
    const node: FakeNode = { slot: 300_000, height: 300_000n, history, unlisted: true };
    const end = 3 * DAY + MINUTE;
    const { told } = await watchedOn(node, [3 * DAY, 4 * DAY], (ms, from) => {
      if (from + ms >= end) Object.assign(node, { unlisted: false });
      return ms;
    });
    expect(told).toHaveLength(1);
    expect(told[0]).toBeLessThan(end + MINUTE / 4);
  });

  it('is told within seconds of the end of an outage of hours', async () => {
    const node: FakeNode = { ...young };
    const { told } = await watchedOn(node, [0, DAY], (ms, from) => {
      Object.assign(node, from + ms < DAY / 4 ? { down: true } : { down: false, history });
      return ms;
    });
    expect(told).toHaveLength(1);
    expect(told[0]).toBeLessThan(DAY / 4 + MINUTE / 4);
  });
});
