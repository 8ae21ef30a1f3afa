import { memoryJournal } from 'exact-change';
import { verifyWebhook, type WebhookDelivery } from 'exact-change/webhooks';
import { describe, expect, it, vi } from 'vitest';
import type { Answer } from '../../../adapters/webhooks/deliver.js';
import { SCHEDULE_MS } from '../../../adapters/webhooks/schedule.js';
import { attemptOf } from '../../helpers/attempts.js';
import {
  answered,
  createClock,
  hubOf,
  ok,
  settled,
  withOutbox,
  type Delivery,
  type Hub,
} from './clock.js';
import { WALLET } from './signed.js';

const SECOND_MS = 1_000;
const DAY_MS = 24 * 3_600_000;

/** Plays a receiver that never answers: rejects when the delivery is aborted. */
const hanging = ({ signal }: Delivery): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('cut off'))));
/** Returns the jobs in the outbox long after now: waiting, or taken and unfinished. */
const leftIn = async ({ journal, clock }: Hub) =>
  journal.outbox.take({ limit: 10_000, leaseMs: 1, now: clock.now() + 1000 * DAY_MS });

/** A worker with an endpoint, and with an event that it got `ms` ago. */
async function tellingOne(ms: number, ...args: Parameters<typeof hubOf>) {
  const worker = hubOf(...args);
  const { id } = await worker.register('/a');
  worker.webhooks.start();
  const attempt = await worker.fail();
  await worker.clock.pass(ms);
  return { ...worker, id, attempt };
}

describe('onDelivery', () => {
  it('receives a report of each delivery, even after it threw', async () => {
    const reports: WebhookDelivery[] = [];
    const { register, webhooks, clock, fail, deliveries } = hubOf(
      (path) => (path === '/bad' ? answered(503) : ok),
      {
        onDelivery(report) {
          reports.push(report);
          throw new Error('a log that fails');
        },
      },
    );
    const [good, bad] = [await register('/good'), await register('/bad')];
    webhooks.start();
    const id = await fail();
    await clock.pass(6 * SECOND_MS);
    const told = { event: 'payment.failed', eventId: `${id}_payment_failed` };
    expect(reports).toMatchObject([
      { ...told, endpoint: good.id, failures: 0, delivered: true, status: 200 },
      { ...told, endpoint: bad.id, failures: 0, delivered: false, status: 503 },
      { ...told, endpoint: bad.id, failures: 1, delivered: false, status: 503 },
    ]);
    expect(deliveries).toHaveLength(3);
  });

  it('receives a report of an accepted delivery that is cut off in the body of its answer', async () => {
    const reports: WebhookDelivery[] = [];
    const accepted = ({ signal }: Delivery) =>
      new Promise<Answer>((resolve) => signal.addEventListener('abort', () => resolve(ok)));
    const { webhooks, clock, ...worker } = await tellingOne(
      SECOND_MS,
      (_, delivery) => accepted(delivery),
      { onDelivery: (report) => reports.push(report) },
    );
    const closed = webhooks.close();
    await clock.pass(11 * SECOND_MS);
    await closed;
    expect(await leftIn({ webhooks, clock, ...worker })).toEqual([]);
    expect(reports).toMatchObject([{ delivered: true, status: 200 }]);
  });
});

describe('an event', () => {
  it('reaches each subscribed endpoint once, signed with its secret', async () => {
    const worker = hubOf(() => ok);
    const { register, webhooks, clock, fail, deliveries } = worker;
    const [a, b] = [
      await register('/a'),
      await register('/b', ['payment.settled', 'payment.failed']),
    ];
    await register('/other', ['payment.settled']);
    const mine = await webhooks.register({
      url: 'https://hooks.example.com/mine',
      events: ['payment.failed'],
      wallets: [WALLET],
    });
    const otherWallet = 'So11111111111111111111111111111111111111112';
    await webhooks.register({
      url: 'https://hooks.example.com/theirs',
      events: ['payment.failed'],
      wallets: [otherWallet],
    });
    webhooks.start();
    const id = await fail();
    await clock.pass(0);
    expect(deliveries.map(({ path }) => path).sort()).toEqual(['/a', '/b', '/mine']);
    const secrets = { '/a': a.secret, '/b': b.secret, '/mine': mine.secret };
    for (const [path, secret] of Object.entries(secrets)) {
      const { message } = deliveries.find((delivery) => delivery.path === path)!;
      const event = verifyWebhook({
        secret,
        headers: message.headers,
        body: message.body,
        now: clock.now(),
      });
      expect(event).toMatchObject({
        id: `${id}_payment_failed`,
        type: 'payment.failed',
        data: { id, wallet: WALLET },
      });
      expect(message.headers).toMatchObject({
        'content-type': 'application/json',
        'user-agent': 'exact-change',
      });
      const otherSecrets = Object.values(secrets).filter((candidate) => candidate !== secret);
      expect(() =>
        verifyWebhook({
          secrets: otherSecrets,
          headers: message.headers,
          body: message.body,
          now: clock.now(),
        }),
      ).toThrow(/no signature/);
    }
    expect(await leftIn(worker)).toEqual([]);
  });

  it('leaves the outbox when no endpoint subscribes to it', async () => {
    const worker = hubOf(() => ok);
    worker.webhooks.start();
    await worker.fail();
    await worker.clock.pass(0);
    expect(worker.deliveries).toEqual([]);
    expect(await leftIn(worker)).toEqual([]);
  });

  it('is delivered when it was written before the start or by another process', async () => {
    const { register, webhooks, journal, clock, fail, deliveries } = hubOf(() => ok);
    await register('/a');
    await fail();
    webhooks.start();
    await clock.pass(0);
    expect(deliveries).toHaveLength(1);
    // Without onAdded the worker learns of events by polling only, as with another process.
    const silent = hubOf(
      () => ok,
      { journal: { ...journal, outbox: { ...journal.outbox, onAdded: () => () => undefined } } },
      clock,
    );
    await webhooks.close();
    silent.webhooks.start();
    await clock.pass(10 * SECOND_MS);
    await fail();
    await clock.pass(0);
    expect(silent.deliveries).toHaveLength(0);
    await clock.pass(2 * SECOND_MS);
    expect(silent.deliveries).toHaveLength(1);
  });

  it('reaches an endpoint that another process registered a moment ago', async () => {
    const { journal, clock, ...teller } = hubOf(() => ok);
    const otherHub = hubOf(() => ok, { journal }, clock);
    await otherHub.register('/old');
    teller.webhooks.start();
    for (let event = 0; event < 2; event += 1) {
      await clock.pass(10 * SECOND_MS);
      await teller.fail();
      await clock.pass(0);
    }
    const { id } = await otherHub.register('/new');
    await teller.fail();
    await clock.pass(0);
    expect(teller.deliveries.map(({ path }) => path)).toEqual(['/old', '/old', '/old', '/new']);
    // The other process may also assign the event to its endpoint.
    await otherHub.webhooks.remove(id);
    await clock.pass(10 * SECOND_MS);
    await teller.fail();
    await clock.pass(0);
    const newer = await otherHub.register('/newer');
    const attempt = attemptOf({ wallet: WALLET });
    await journal.reserve(attempt, []);
    const released = journal.release(attempt.id);
    const [job] = await journal.outbox.take({
      limit: 1,
      leaseMs: 60 * SECOND_MS,
      now: clock.now(),
    });
    await journal.outbox.finish(job!, [
      { event: job!.event, endpoint: newer.id, failures: 0, dueAt: clock.now() },
    ]);
    await released;
    await clock.pass(10 * SECOND_MS);
    expect(teller.deliveries.map(({ path }) => path).slice(4)).toEqual(['/old', '/newer']);
  });

  it('reaches an endpoint that another process enabled again a moment ago', async () => {
    let status = 410;
    const { journal, clock, ...teller } = hubOf(() => answered(status));
    const otherHub = hubOf(() => ok, { journal }, clock);
    const { id } = await otherHub.register('/a');
    teller.webhooks.start();
    await teller.fail();
    await clock.pass(10 * SECOND_MS);
    await teller.fail();
    await clock.pass(0);
    expect(teller.deliveries).toHaveLength(1);
    status = 200;
    await otherHub.webhooks.rotate(id);
    const attempt = await teller.fail();
    await clock.pass(0);
    expect(teller.deliveries.map(({ id }) => id).slice(1)).toEqual([`${attempt}_payment_failed`]);
  });

  /** A journal whose outbox counts how often it is looked into. */
  const countingJournal = () => {
    const journal = withOutbox(memoryJournal({ outbox: true }));
    const take = vi.fn(journal.outbox.take);
    return { journal: { ...journal, outbox: { ...journal.outbox, take } }, polls: take.mock.calls };
  };

  it('is found within two seconds after the clock was set back', async () => {
    const clock = createClock();
    let backMs = 0;
    const runtime = { ...clock.runtime, now: () => clock.now() - backMs };
    const { journal, polls } = countingJournal();
    hubOf(() => ok, { journal }, { ...clock, runtime }).webhooks.start();
    await clock.pass(10 * SECOND_MS);
    backMs = 3_600 * SECOND_MS;
    polls.length = 0;
    await clock.pass(60 * SECOND_MS);
    expect(polls.length).toBeGreaterThanOrEqual(29);
  });

  it('is looked for every one or two seconds while the outbox is empty', async () => {
    const { journal, polls } = countingJournal();
    const { webhooks, clock } = hubOf(() => ok, { journal });
    webhooks.start();
    await clock.pass(60 * SECOND_MS);
    expect(polls.length).toBeGreaterThanOrEqual(30);
    expect(polls.length).toBeLessThanOrEqual(61);
  });
});

describe('an event that is not accepted', () => {
  it('is retried by the schedule with the same id and body, then disables the endpoint', async () => {
    const ends: WebhookDelivery[] = [];
    const worker = hubOf(() => answered(500), { onDelivery: (delivery) => ends.push(delivery) });
    const { register, webhooks, clock, fail, deliveries, errors } = worker;
    const { id, secret, url } = await register('/a');
    webhooks.start();
    const attempt = await fail();
    await clock.pass(0);
    expect(ends).toMatchObject([
      { endpoint: id, event: 'payment.failed', status: 500, failures: 0 },
    ]);
    for (const [failures, delay] of SCHEDULE_MS.entries()) {
      expect(deliveries).toHaveLength(failures + (failures === 0 ? 1 : 0));
      if (failures === 0) continue;
      await clock.pass(
        Math.max(0, deliveries[failures - 1]!.at + delay - 2 * SECOND_MS - clock.now()),
      );
      expect(deliveries).toHaveLength(failures);
      await clock.pass(5 * SECOND_MS);
    }
    expect(deliveries).toHaveLength(SCHEDULE_MS.length);
    expect(
      new Set(deliveries.map(({ message }) => `${message.headers['webhook-id']} ${message.body}`))
        .size,
    ).toBe(1);
    for (const { message, at } of deliveries)
      verifyWebhook({ secret, headers: message.headers, body: message.body, now: at });
    expect(ends).toHaveLength(SCHEDULE_MS.length);
    expect(ends.filter(({ nextAt }) => nextAt === undefined)).toEqual(ends.slice(-1));
    expect(errors).toHaveLength(1);
    expect(errors[0]).toMatchObject({
      code: 'service_unavailable',
      retry: 'never',
      details: { status: 500 },
    });
    expect(String(errors[0])).toContain(id);
    expect(String(errors[0])).toContain(attempt);
    for (const hidden of [secret, url]) expect(JSON.stringify(errors[0])).not.toContain(hidden);
    expect(await webhooks.list()).toEqual([
      expect.objectContaining({ id, disabledAt: expect.any(Number) }),
    ]);
    expect(await leftIn(worker)).toEqual([]);
    await fail();
    await clock.pass(DAY_MS);
    expect(deliveries).toHaveLength(SCHEDULE_MS.length);
  });

  it.each<[string, () => Promise<never> | Answer]>([
    ['a redirect', () => answered(302)],
    ['a 404', () => answered(404)],
    ['an invalid status', () => answered(0)],
    ['a lost connection', () => Promise.reject(new Error('ECONNRESET'))],
  ])('is retried after %s', async (_, answer) => {
    let calls = 0;
    const { deliveries, errors } = await tellingOne(DAY_MS, () =>
      (calls += 1) === 1 ? answer() : ok,
    );
    expect(deliveries).toHaveLength(2);
    expect(errors).toEqual([]);
  });

  it.each([200, 201, 202, 204, 299])('is not retried after a %i', async (status) => {
    const { deliveries } = await tellingOne(5 * DAY_MS, () => answered(status));
    expect(deliveries).toHaveLength(1);
  });

  it.each([429, 503])('waits for the Retry-After of a %i', async (status) => {
    let calls = 0;
    const { clock, deliveries } = await tellingOne(3_600 * SECOND_MS - SECOND_MS, () =>
      (calls += 1) === 1 ? answered(status, '3600') : ok,
    );
    expect(deliveries).toHaveLength(1);
    await clock.pass(4 * SECOND_MS);
    expect(deliveries).toHaveLength(2);
  });

  it('disables an endpoint that answers 410 until its secret is rotated', async () => {
    let status = 410;
    const { register, webhooks, clock, fail, deliveries, errors } = hubOf(() => answered(status));
    const { id } = await register('/a');
    webhooks.start();
    await Promise.all([fail(), fail(), fail()]);
    await clock.pass(5 * DAY_MS);
    const before = deliveries.length;
    expect(before).toBeLessThanOrEqual(3);
    expect(errors).toEqual(
      Array(before).fill(
        expect.objectContaining({ code: 'service_unavailable', details: { status: 410 } }),
      ),
    );
    status = 200;
    expect(await webhooks.rotate(id)).not.toHaveProperty('disabledAt');
    await fail();
    await clock.pass(0);
    expect(deliveries).toHaveLength(before + 1);
  });

  it('leaves an endpoint enabled when its secret is rotated during a 410', async () => {
    let answer = (): void => undefined;
    const { webhooks, clock, id } = await tellingOne(
      0,
      () => new Promise((resolve) => (answer = () => resolve(answered(410)))),
    );
    await webhooks.rotate(id);
    answer();
    await clock.pass(0);
    expect(await webhooks.list()).toEqual([
      expect.not.objectContaining({ disabledAt: expect.anything() }),
    ]);
  });

  it('is reported and dropped when the endpoint accepts all other events', async () => {
    const isPoison = ({ message }: Delivery) => message.body.includes('"method":"POISON"');
    const { register, webhooks, clock, fail, deliveries, errors } = hubOf((_, delivery) =>
      isPoison(delivery) ? answered(500) : ok,
    );
    const { id } = await register('/a');
    webhooks.start();
    const poison = await fail({ method: 'POISON' });
    for (let day = 0; day < 5; day += 1) {
      await fail();
      for (const _ of SCHEDULE_MS) await clock.pass(DAY_MS / SCHEDULE_MS.length);
    }
    expect(deliveries.filter(isPoison)).toHaveLength(SCHEDULE_MS.length);
    expect(deliveries.filter((delivery) => !isPoison(delivery))).toHaveLength(5);
    expect(errors).toEqual([
      expect.objectContaining({ code: 'service_unavailable', details: { status: 500 } }),
    ]);
    expect(String(errors[0])).toMatch(
      new RegExp(`${id}.*${poison}_payment_failed.*what comes after it`),
    );
    expect(await webhooks.list()).toEqual([
      expect.not.objectContaining({ disabledAt: expect.anything() }),
    ]);
  });

  it('disables the endpoint when no event was accepted after its first failure', async () => {
    let answer = ok;
    const { webhooks, clock, fail } = await tellingOne(DAY_MS, () => answer);
    answer = answered(500);
    await fail();
    for (let day = 0; day < 5 * SCHEDULE_MS.length; day += 1)
      await clock.pass(DAY_MS / SCHEDULE_MS.length);
    expect(await webhooks.list()).toEqual([
      expect.objectContaining({ disabledAt: expect.any(Number) }),
    ]);
  });

  it('records the last acceptance of an endpoint at most once an hour', async () => {
    const journal = withOutbox(memoryJournal({ outbox: true }));
    const times: (number | undefined)[] = [];
    const changeEndpoint: typeof journal.outbox.changeEndpoint = async (id, change) => {
      const changed = await journal.outbox.changeEndpoint(id, change);
      if (changed !== undefined) times.push(changed.acceptedAt);
      return changed;
    };
    const { register, webhooks, clock, fail } = hubOf(() => ok, {
      journal: { ...journal, outbox: { ...journal.outbox, changeEndpoint } },
    });
    await register('/a');
    webhooks.start();
    const first = clock.now();
    for (let quarter = 0; quarter < 6; quarter += 1) {
      await fail();
      await fail();
      await clock.pass(DAY_MS / 96);
    }
    expect(times).toEqual([first, first + DAY_MS / 24]);
  });

  it('is dropped when its endpoint is removed', async () => {
    const worker = hubOf(() => answered(500));
    const { register, webhooks, clock, fail, deliveries, errors } = worker;
    const { id } = await register('/a');
    webhooks.start();
    await fail();
    await clock.pass(0);
    expect(await webhooks.remove(id)).toBe(true);
    await clock.pass(5 * DAY_MS);
    expect(deliveries).toHaveLength(1);
    expect(errors).toEqual([]);
    expect(await leftIn(worker)).toEqual([]);
  });
});

describe('a rotated secret', () => {
  it('signs beside the new secret for a day, and then stops', async () => {
    const { register, webhooks, clock, fail, deliveries } = hubOf(() => ok);
    const before = await register('/a');
    webhooks.start();
    const after = await webhooks.rotate(before.id);
    expect(after?.secret).not.toBe(before.secret);
    const accepts = (secret: string | undefined) => {
      const { message, at } = deliveries[deliveries.length - 1]!;
      try {
        return (
          verifyWebhook({ secret, headers: message.headers, body: message.body, now: at }).type ===
          'payment.failed'
        );
      } catch {
        return false;
      }
    };
    await fail();
    await clock.pass(0);
    expect([accepts(before.secret), accepts(after?.secret)]).toEqual([true, true]);
    expect(deliveries[0]!.message.headers['webhook-signature']).toMatch(/^v1,\S+ v1,\S+$/);
    await clock.pass(DAY_MS);
    await fail();
    await clock.pass(0);
    expect([accepts(before.secret), accepts(after?.secret)]).toEqual([false, true]);
    expect(deliveries[1]!.message.headers['webhook-signature']).toMatch(/^v1,\S+$/);
  });
});

describe('many events', () => {
  it('stay within the limits of parallel deliveries, in total and per endpoint', async () => {
    const open = new Set<Delivery>();
    let most = 0;
    const releases: (() => void)[] = [];
    const { register, webhooks, clock, fail, deliveries } = hubOf(
      (_, delivery) => {
        open.add(delivery);
        most = Math.max(most, open.size);
        return new Promise((resolve) =>
          releases.push(() => {
            open.delete(delivery);
            resolve(ok);
          }),
        );
      },
      { concurrency: 5, perEndpoint: 2 },
    );
    for (const path of ['/a', '/b', '/c', '/d']) await register(path);
    webhooks.start();
    for (let event = 0; event < 10; event += 1) await fail();
    while (deliveries.length < 40 || releases.length > 0) {
      await clock.pass(SECOND_MS);
      for (const path of ['/a', '/b', '/c', '/d'])
        expect([...open].filter((delivery) => delivery.path === path).length).toBeLessThanOrEqual(
          2,
        );
      for (const release of releases.splice(0)) release();
    }
    expect(most).toBe(5);
    expect(new Set(deliveries.map((delivery) => `${delivery.path} ${delivery.id}`)).size).toBe(40);
  });

  it('all reach a quick endpoint within five seconds, once each', async () => {
    const { register, webhooks, clock, fail, deliveries } = hubOf(() => ok, {
      concurrency: 4,
      perEndpoint: 1,
    });
    await register('/a');
    webhooks.start();
    for (let event = 0; event < 500; event += 1) await fail();
    await clock.pass(5 * SECOND_MS);
    expect(new Set(deliveries.map(({ id }) => id)).size).toBe(500);
    expect(deliveries).toHaveLength(500);
  });

  it('for a slow endpoint do not delay a quick endpoint', async () => {
    const { register, webhooks, clock, fail, deliveries } = hubOf(
      (path, delivery) => (path === '/slow' ? hanging(delivery) : ok),
      {
        concurrency: 8,
        perEndpoint: 2,
      },
    );
    await register('/slow');
    webhooks.start();
    for (let event = 0; event < 200; event += 1) await fail();
    await clock.pass(SECOND_MS);
    await register('/quick');
    const attempt = await fail();
    await clock.pass(15 * SECOND_MS);
    expect(deliveries.filter((delivery) => delivery.path === '/slow')).toHaveLength(2);
    expect(deliveries.filter((delivery) => delivery.path === '/quick').map(({ id }) => id)).toEqual(
      [`${attempt}_payment_failed`],
    );
  });

  it('for a slow endpoint are put off, so that another endpoint is not delayed', async () => {
    const clock = createClock();
    const answer = async (path: string) => {
      if (path === '/slow') await clock.runtime.sleep(200);
      return ok;
    };
    const { register, webhooks, journal, fail, deliveries } = hubOf(
      answer,
      { concurrency: 8, perEndpoint: 2 },
      clock,
    );
    // Without onAdded the worker finds jobs that it put off by polling.
    journal.outbox.onAdded = () => () => undefined;
    const { finish } = journal.outbox;
    let putOff = 0;
    journal.outbox.finish = (job, next) => {
      if (job.endpoint !== undefined) putOff += next.length;
      return finish(job, next);
    };
    await register('/slow');
    const wallet = 'So11111111111111111111111111111111111111112';
    await webhooks.register({
      url: 'https://hooks.example.com/quick',
      events: ['payment.failed'],
      wallets: [wallet],
    });
    for (let event = 0; event < 1_000; event += 1) await fail();
    const attempt = await fail({ wallet });
    webhooks.start();
    await clock.pass(10 * SECOND_MS);
    expect(deliveries.filter((delivery) => delivery.path === '/quick').map(({ id }) => id)).toEqual(
      [`${attempt}_payment_failed`],
    );
    await clock.pass(20 * SECOND_MS);
    expect(putOff).toBeLessThan(2_000);
    expect(deliveries.length).toBeGreaterThan(250);
  });

  it('reach an endpoint that answered in time while 20 slow endpoints hang', async () => {
    const { webhooks, register, clock, fail, deliveries } = hubOf((path, delivery) =>
      path === '/quick' ? ok : hanging(delivery),
    );
    webhooks.start();
    await register('/quick');
    await fail();
    await clock.pass(SECOND_MS);
    for (let place = 0; place < 20; place += 1) await register(`/slow/${place}`);
    for (let event = 0; event < 10; event += 1) await fail();
    await clock.pass(60 * SECOND_MS);
    expect(deliveries.filter((delivery) => delivery.path !== '/quick')).toHaveLength(12);
    const told = deliveries.filter((delivery) => delivery.path === '/quick');
    expect(told).toHaveLength(11);
    const attempt = await fail();
    await clock.pass(15 * SECOND_MS);
    expect(
      deliveries
        .filter((delivery) => delivery.path === '/quick')
        .map(({ id }) => id)
        .slice(11),
    ).toEqual([`${attempt}_payment_failed`]);
  });
});

describe('an outbox that fails', () => {
  it.each(['take', 'finish', 'endpoints'] as const)(
    'loses no event when %s fails, rests longer after each failure, and is reported',
    async (step) => {
      const journal = withOutbox(memoryJournal({ outbox: true }));
      let broken = false;
      const tries: number[] = [];
      const clock = createClock();
      const failing =
        <A extends unknown[], R>(name: string, work: (...args: A) => Promise<R>) =>
        async (...args: A): Promise<R> => {
          if (!broken || name !== step) return work(...args);
          tries.push(clock.now());
          throw new Error('ENOSPC whsec_SECRET');
        };
      const { take, finish, endpoints } = journal.outbox;
      const outbox = {
        ...journal.outbox,
        take: failing('take', take),
        finish: failing('finish', finish),
        endpoints: failing('endpoints', endpoints),
      };
      const { register, webhooks, fail, deliveries, errors } = hubOf(
        () => ok,
        { journal: { ...journal, outbox } },
        clock,
      );
      await register('/a');
      await clock.pass(2 * SECOND_MS);
      broken = true;
      webhooks.start();
      const ids = [await fail(), await fail()].map((id) => `${id}_payment_failed`);
      await clock.pass(120 * SECOND_MS);
      expect(errors.length).toBeGreaterThan(0);
      for (const error of errors) {
        expect(error).toMatchObject({
          name: 'TransportError',
          code: 'journal_unavailable',
          funds: 'untouched',
        });
        expect(JSON.stringify(error)).not.toContain('SECRET');
      }
      const gaps = tries.slice(1).map((at, index) => at - tries[index]!);
      expect(tries.length).toBeLessThan(30);
      expect(Math.max(...gaps)).toBeGreaterThan(SECOND_MS);
      broken = false;
      await clock.pass(200 * SECOND_MS);
      expect([...new Set(deliveries.map(({ id }) => id))].sort()).toEqual([...ids].sort());
      expect(
        await journal.outbox.take({ limit: 10, leaseMs: 1, now: clock.now() + DAY_MS }),
      ).toEqual([]);
    },
  );

  it('does not stop deliveries when onError throws', async () => {
    const onError = () => {
      throw new Error('the log is full');
    };
    const { register, clock, fail, deliveries } = await tellingOne(0, () => answered(410), {
      onError,
    });
    await register('/b');
    await fail();
    await clock.pass(0);
    expect(deliveries.map(({ path }) => path)).toEqual(['/a', '/b']);
  });
});

describe('close()', () => {
  it('waits for the delivery under way, and leaves later events in the outbox', async () => {
    let finish = (): void => undefined;
    const { register, webhooks, clock, fail, deliveries, journal } = hubOf(
      () => new Promise((resolve) => (finish = () => resolve(ok))),
      {
        concurrency: 1,
      },
    );
    await register('/a');
    webhooks.start();
    await fail();
    await fail();
    await clock.pass(SECOND_MS);
    expect(deliveries).toHaveLength(1);
    let ended = false;
    const closed = webhooks.close().then(() => (ended = true));
    expect(webhooks.close()).toBeInstanceOf(Promise);
    await clock.pass(SECOND_MS);
    expect(ended).toBe(false);
    finish();
    await closed;
    expect(deliveries).toHaveLength(1);
    // The job is free at once, because close() gave its lease back.
    const left = await journal.outbox.take({ limit: 10, leaseMs: 1, now: clock.now() });
    expect(left).toHaveLength(1);
    expect(left[0]).toMatchObject({ failures: 0 });
  });

  it('aborts a delivery after ten seconds, and the next process repeats it', async () => {
    const { webhooks, clock, deliveries, journal, attempt } = await tellingOne(0, (_, delivery) =>
      hanging(delivery),
    );
    const closed = webhooks.close();
    await clock.pass(11 * SECOND_MS);
    await closed;
    expect(deliveries).toHaveLength(1);
    const next = hubOf(() => ok, { journal }, clock);
    next.webhooks.start();
    await clock.pass(0);
    expect(next.deliveries.map(({ id }) => id)).toEqual([`${attempt}_payment_failed`]);
  });

  it('prevents a later start, and leaves no timer', async () => {
    const { webhooks, clock, register } = hubOf(() => ok);
    await webhooks.close();
    expect(() => webhooks.start()).toThrow(expect.objectContaining({ code: 'client_closed' }));
    await expect(register('/a')).resolves.toMatchObject({ url: 'https://hooks.example.com/a' });
    await settled();
    expect(clock.now()).toBeGreaterThan(0);
  });
});

it('delivers each event once when two workers share a journal', async () => {
  const clock = createClock();
  const first = hubOf(() => ok, {}, clock);
  const second = hubOf(() => ok, { journal: first.journal }, clock);
  await first.register('/a');
  first.webhooks.start();
  second.webhooks.start();
  for (let event = 0; event < 50; event += 1) await first.fail();
  await clock.pass(10 * SECOND_MS);
  const ids = [...first.deliveries, ...second.deliveries].map(({ id }) => id);
  expect(ids).toHaveLength(50);
  expect(new Set(ids).size).toBe(50);
});
