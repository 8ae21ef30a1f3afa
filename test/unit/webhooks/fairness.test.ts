import { describe, expect, it } from 'vitest';
import type { Answer } from '../../../adapters/webhooks/deliver.js';
import { createTurns, type Turn } from '../../../src/outbox/turns.js';
import { MOST_JOBS } from '../../../src/outbox/outbox.js';
import { eachNth, onePerRow, share, unsampled } from '../../helpers/sampled.js';
import { answered, createClock, hubOf, ok, type Clock, type Delivery, type Hub } from './clock.js';
import { WALLET } from './signed.js';

const SECOND_MS = 1_000;
/** The wallet of the quick caller; all other events belong to another wallet. */
const MINE = 'So11111111111111111111111111111111111111112';

/** Plays a receiver that never answers: rejects at the delivery timeout. */
const hanging = (clock: Clock, { signal }: Delivery): Promise<never> =>
  clock.runtime.sleep(20 * SECOND_MS, signal).then(() => Promise.reject(new Error('timeout')));

type Receiver = (clock: Clock, delivery: Delivery) => Promise<Answer> | Answer;

const RECEIVERS: Readonly<Record<string, Receiver>> = {
  hang: hanging,
  'answer after 5 s': async (clock, { signal }) => (
    await clock.runtime.sleep(5 * SECOND_MS, signal),
    ok
  ),
  'answer after 400 ms': async (clock, { signal }) => (await clock.runtime.sleep(400, signal), ok),
  refuse: () => answered(500),
  'ask to wait': () => answered(429, '1'),
  'break off': () => Promise.reject(new Error('reset')),
};

/**
 * Registers `callers` callers with `endpoints` endpoints each, which behave like `receiver`, and
 * queues `events` events. Endpoints below /mine answer at once.
 */
async function crowd(
  callers: number,
  endpoints: number,
  events: number,
  receiver: Receiver,
): Promise<Hub> {
  const clock = createClock();
  const hub = hubOf(
    (path, delivery) => (path.startsWith('/mine') ? ok : receiver(clock, delivery)),
    {},
    clock,
  );
  for (let caller = 0; caller < callers; caller += 1) {
    for (let place = 0; place < endpoints; place += 1) {
      const url = `https://hooks.example.com/theirs/${caller}/${place}`;
      await hub.webhooks.register(
        { url, events: ['payment.failed'], wallets: [WALLET] },
        `caller ${caller}`,
      );
    }
  }
  for (let event = 0; event < events; event += 1) await hub.fail();
  return hub;
}

const mine = ({ webhooks }: Hub, path: string) =>
  webhooks.register(
    { url: `https://hooks.example.com${path}`, events: ['payment.failed'], wallets: [MINE] },
    'me',
  );

/** Returns the longest time that an event for `path` waits, over 6 events in sequence. */
async function longestWait(hub: Hub, path: string): Promise<number> {
  const { clock, deliveries, fail } = hub;
  const waits: number[] = [];
  for (let event = 0; event < 6; event += 1) {
    const since = clock.now();
    const id = await fail({ wallet: MINE });
    for (let step = 0; step < 100; step += 1) {
      const told = deliveries.find(
        (delivery) => delivery.path === path && delivery.id === `${id}_payment_failed`,
      );
      if (told !== undefined) {
        waits.push(told.at - since);
        break;
      }
      await clock.pass(100);
    }
    await clock.pass(2_700);
  }
  return waits.length === 6 ? Math.max(...waits) : Infinity;
}

describe('events of a quick caller', () => {
  it('arrive within a second while a hundred endpoints of another caller hang', async () => {
    const hub = await crowd(1, 100, 100, hanging);
    hub.webhooks.start();
    await hub.clock.pass(10 * SECOND_MS);
    await mine(hub, '/mine');
    expect(await longestWait(hub, '/mine')).toBeLessThanOrEqual(SECOND_MS);
    await mine(hub, '/mine/other');
    expect(await longestWait(hub, '/mine/other')).toBeLessThanOrEqual(SECOND_MS);
    // A caller may have 12 deliveries under way at once, even while it is alone.
    const first = hub.deliveries.filter((delivery) => delivery.path !== '/mine');
    expect(first.filter(({ at }) => at === first[0]?.at).length).toBeLessThanOrEqual(12);
  });

  const crowds = Object.keys(RECEIVERS).flatMap((name) =>
    [5, 100].map((callers) => [callers, name] as const),
  );
  it.each(share(crowds, eachNth(onePerRow(crowds, 2), 4)))(
    'arrive within a second while the endpoints of %i callers %s',
    async (callers, name) => {
      const hub = await crowd(callers, 3, 15, RECEIVERS[name]!);
      await mine(hub, '/mine');
      hub.webhooks.start();
      await hub.clock.pass(10 * SECOND_MS);
      expect(await longestWait(hub, '/mine')).toBeLessThanOrEqual(SECOND_MS);
    },
  );

  it('arrive within a second while another caller keeps registering endpoints', async () => {
    const hub = await crowd(1, 20, 20, hanging);
    await mine(hub, '/mine');
    hub.webhooks.start();
    for (let round = 0; round < 5; round += 1) {
      for (let place = 0; place < 10; place += 1) {
        const url = `https://hooks.example.com/theirs/${round}/${place}/new`;
        await hub.webhooks.register(
          { url, events: ['payment.failed'], wallets: [WALLET] },
          'caller 0',
        );
        await hub.fail();
      }
      expect(await longestWait(hub, '/mine')).toBeLessThanOrEqual(SECOND_MS);
    }
  });

  it('start within 200 deliveries while another wallet has thousands of events', async () => {
    const hub = await crowd(1, 1, 5_000, () => ok);
    await mine(hub, '/mine');
    const id = await hub.fail({ wallet: MINE });
    hub.webhooks.start();
    await hub.clock.pass(0);
    const place = hub.deliveries.findIndex((delivery) => delivery.id === `${id}_payment_failed`);
    expect(place).toBeGreaterThanOrEqual(0);
    // Counted in deliveries: events of both wallets take turns.
    expect(place).toBeLessThan(200);
  });
});

unsampled('deliveries under way', () => {
  it('stay within the limits; a delivery that gives way counts as no failure', async () => {
    const clock = createClock();
    const open = new Map<string, number>();
    let most = 0;
    let mostPerCaller = 0;
    const cut: string[] = [];
    const hub = hubOf(
      async (path, delivery) => {
        const caller = path.split('/')[2] ?? '';
        open.set(caller, (open.get(caller) ?? 0) + 1);
        mostPerCaller = Math.max(mostPerCaller, open.get(caller) ?? 0);
        most = Math.max(
          most,
          [...open.values()].reduce((sum, count) => sum + count, 0),
        );
        try {
          return await hanging(clock, delivery);
        } finally {
          open.set(caller, (open.get(caller) ?? 1) - 1);
          if (delivery.signal.aborted) cut.push(`${path} ${delivery.id}`);
        }
      },
      { concurrency: 4, perEndpoint: 2 },
      clock,
    );
    const register = (caller: number) =>
      hub.webhooks.register(
        {
          url: `https://hooks.example.com/c/${caller}`,
          events: ['payment.failed'],
          wallets: [WALLET],
        },
        `${caller}`,
      );
    for (let caller = 0; caller < 16; caller += 1) await register(caller);
    for (let event = 0; event < 5; event += 1) await hub.fail();
    hub.webhooks.start();
    await clock.pass(10 * SECOND_MS);
    expect([most, mostPerCaller]).toEqual([32, 2]);
    for (let caller = 16; caller < 32; caller += 1) await register(caller);
    await hub.fail();
    await clock.pass(8 * SECOND_MS);
    // Each new caller gets a delivery, in place of the second delivery of an earlier caller.
    expect(Array.from({ length: 32 }, (_, caller) => open.get(`${caller}`))).toEqual(
      Array.from({ length: 32 }, () => 1),
    );
    expect([most, mostPerCaller, cut.length]).toEqual([32, 2, 16]);
    const left = await hub.journal.outbox.take({
      limit: 1_000,
      leaseMs: 1,
      now: clock.now() + 1_000 * SECOND_MS,
    });
    expect(left.filter(({ failures }) => failures > 0)).toEqual([]);
  });
});

unsampled('the scheduling of deliveries', () => {
  it('takes jobs in logarithmic time of the number of waiting jobs', () => {
    let reads = 0;
    const readsFor = (count: number): number => {
      const turns = createTurns(() => true);
      for (let job = 0; job < count; job += 1) {
        const turn = {
          id: `${job}`,
          owner: `caller ${job % 7}`,
          place: `${job % 70}`,
          ordinal: job,
        };
        const seen: Turn = {
          ...turn,
          get dueAt() {
            reads += 1;
            return job % 11;
          },
        };
        turns.add(seen);
      }
      reads = 0;
      for (let question = 0; question < 10; question += 1)
        expect(turns.take({ limit: 16, now: 100 })).toHaveLength(16);
      return reads;
    };
    // A heap reads as many jobs as it is deep, which is the logarithm of its size.
    expect(readsFor(50_000)).toBeLessThan(2 * readsFor(1_000));
  });

  it('never blocks the event loop while 30,000 deliveries wait', async () => {
    const hub = await crowd(1, 100, 300, hanging);
    let running = true;
    let longest = 0;
    const watch = (async () => {
      for (let before = process.cpuUsage(); running; before = process.cpuUsage()) {
        await new Promise((resolve) => setImmediate(resolve));
        longest = Math.max(longest, process.cpuUsage(before).user);
      }
    })();
    hub.webhooks.start();
    await hub.clock.pass(60 * SECOND_MS);
    running = false;
    await watch;
    // Microseconds of CPU, because a busy machine stops the process. A quadratic scan took 36 s;
    // the work between two turns takes milliseconds.
    expect(longest).toBeLessThan(2_000_000);
  });
});

unsampled('an outbox that nothing empties', () => {
  it('drops its oldest jobs at its limit, and reports drops once a minute', async () => {
    const hub = hubOf(() => ok);
    const { clock, errors, fail, journal } = hub;
    for (let event = 0; event < MOST_JOBS.ofOne; event += 1) await fail();
    expect(errors).toEqual([]);
    for (let event = 0; event < 7; event += 1) await fail();
    await clock.pass(61 * SECOND_MS);
    const last = await fail();
    await clock.pass(0);
    const told = (count: number) =>
      expect.objectContaining({
        code: 'journal_unavailable',
        details: { step: 'outbox full' },
        message: expect.stringContaining(` ${count} of what waited longest`),
      });
    expect(errors).toEqual([told(1), told(7)]);
    const left = await journal.outbox.take({ limit: 20_000, leaseMs: 1, now: clock.now() });
    expect([left.length, left.at(-1)?.event.data.id]).toEqual([MOST_JOBS.ofOne, last]);
  });
});
