import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventsOf } from '../../src/outbox/notices.js';
import {
  MOST_JOBS,
  type Endpoint,
  type NextJob,
  type Outbox,
  type OutboxJob,
} from '../../src/outbox/outbox.js';
import type { Attempt, Journal } from '../../src/journal/types.js';
import { attemptOf, fullAttemptOf, totalCap } from '../helpers/attempts.js';
import { until } from '../helpers/chain.js';

export type JournalWithOutbox = Journal & { readonly outbox: Outbox };

/** A journal that keeps events, as one process has it open. Nothing else is in it. */
export interface OpenOutbox {
  readonly journal: JournalWithOutbox;
  close(): Promise<void>;
  /** Opens the same beside it, as another process would, if several may. */
  beside?(): Promise<OpenOutbox>;
  /**
   * Opens what this one keeps again, as another process would; a journal for one process only once
   * this one is closed.
   */
  reopen?(): Promise<OpenOutbox>;
}

/** Narrows to a journal that keeps events. */
export function withOutbox<J extends Journal>(journal: J): J & { readonly outbox: Outbox } {
  if (hasOutbox(journal)) return journal;
  throw new TypeError('This journal keeps no events.');
}

function hasOutbox<J extends Journal>(journal: J): journal is J & { readonly outbox: Outbox } {
  return journal.outbox !== undefined;
}

const LEASE_MS = 30_000;
const HOUR_MS = 3_600_000;

const swapOf = (signature: string): NonNullable<Attempt['swap']> => ({
  ...{
    signature,
    transaction: 'AAEC',
    blockhash: 'hash',
    blockhashSlot: 1,
    lastValidBlockHeight: '9',
    provider: 'provider',
  },
  ...{ inputMint: 'in', outputMint: 'mint', source: 'from', output: 'to' },
  quoted: { inAmount: '3', outAmount: '4', feeLamports: '5' },
});

/** Every promise of the port that an outbox makes, whatever keeps it. */
export function outboxContract(name: string, make: () => Promise<OpenOutbox>): void {
  describe(`${name} is an outbox`, () => {
    let opened: OpenOutbox;
    let journal: JournalWithOutbox;
    let outbox: Outbox;
    /** Later than all that is written meanwhile, so that it is due. */
    let now: number;

    const use = (next: OpenOutbox) => {
      opened = next;
      ({ journal } = next);
      ({ outbox } = journal);
    };

    beforeEach(async () => {
      use(await make());
      now = Date.now() + HOUR_MS;
    });

    afterEach(async () => {
      await opened.close();
    });

    const take = (over: Partial<Parameters<Outbox['take']>[0]> = {}) =>
      outbox.take({ limit: 1_000, leaseMs: LEASE_MS, now, ...over });
    const idsOf = (jobs: readonly { readonly id: string }[]) => jobs.map(({ id }) => id);
    const eventIds = (jobs: readonly OutboxJob[]) => jobs.map(({ event }) => event.id);
    const namesOf = (jobs: readonly OutboxJob[]) =>
      jobs.map(({ event }) => `${event.type} of ${event.data.id}`);

    const reserved = async (over: Partial<Attempt> = {}): Promise<Attempt> => {
      const attempt = attemptOf(over);
      expect(await journal.reserve(attempt, [])).toBeUndefined();
      return attempt;
    };
    const signed = async (over: Partial<Attempt> = {}): Promise<Attempt> => {
      const { payment, receipt } = fullAttemptOf();
      const attempt: Attempt = {
        ...(await reserved(over)),
        state: 'signed',
        ...(payment && { payment }),
        ...(receipt && { receipt }),
      };
      await journal.put(attempt);
      return attempt;
    };
    /** A job, taken; its event is `payment.failed`. */
    const oneTaken = async (): Promise<OutboxJob> => {
      await journal.release((await reserved()).id);
      const [job] = await take();
      if (job === undefined) throw new Error('nothing was written');
      return job;
    };
    const nextOf = ({ id: _id, ...rest }: OutboxJob, over: Partial<NextJob> = {}): NextJob => ({
      ...rest,
      ...over,
    });
    const endpointOf = (over: Partial<Endpoint> = {}): Endpoint => ({
      id: randomUUID(),
      url: 'https://receiver.test/hook?key=%22&b=\\',
      events: ['payment.settled', 'swap.failed'],
      caller: 'caller "with" ü \u2028 🪙',
      secrets: [{ secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' }],
      createdAt: 1_800_000_000_000,
      ...over,
    });

    describe('that is written with the attempts', () => {
      it('tells each step of a purchase that the outside hears of, once, in order', async () => {
        const { id, ...rest } = await reserved();
        const swap = {
          ...swapOf('first'),
          outcome: { state: 'failed', code: 'swap_expired' },
        } as const;
        const second = {
          ...swapOf('second'),
          outcome: { state: 'confirmed', inAmount: '1', outAmount: '2', feeLamports: '3' },
        } as const;
        const { payment, receipt } = fullAttemptOf();
        const paid = { ...(payment && { payment }), ...(receipt && { receipt }) };
        const steps: Attempt[] = [
          { ...rest, id, swap: swapOf('first') },
          { ...rest, id, swap },
          { ...rest, id, swap },
          { ...rest, id, swap: swapOf('second') },
          { ...rest, id, state: 'signed', swap: second, ...paid },
          { ...rest, id, state: 'signed', swap: second, ...paid, doubt: 'payment_uncertain' },
          { ...rest, id, state: 'signed', swap: second, ...paid, doubt: 'payment_rejected' },
          { ...rest, id, state: 'settled', swap: second, ...paid, doubt: 'payment_rejected' },
          { ...rest, id, state: 'settled', delivered: true, swap: second, ...paid },
        ];
        for (const step of steps) await journal.put(step);
        const jobs = await take();
        expect(namesOf(jobs)).toEqual(
          ['swap.failed', 'swap.confirmed', 'payment.uncertain', 'payment.settled'].map(
            (type) => `${type} of ${id}`,
          ),
        );
        const expected = steps.flatMap((step, index) =>
          eventsOf(steps[index - 1] ?? { ...rest, id }, step, 0),
        );
        const untimed = ({ timestamp: _timestamp, ...event }: OutboxJob['event']) => event;
        expect(jobs.map(({ event }) => untimed(event))).toEqual(expected.map(untimed));
        for (const { event, failures, dueAt, endpoint } of jobs) {
          expect([failures, endpoint]).toEqual([0, undefined]);
          expect(Math.abs(Date.parse(event.timestamp) - Date.now())).toBeLessThan(HOUR_MS);
          expect(dueAt).toBeLessThan(now);
        }
      });

      it('tells of a payment that came to nothing: abandoned, released, or never to land', async () => {
        const abandoned = await reserved();
        await journal.put({ ...abandoned, state: 'abandoned' });
        await journal.release(abandoned.id);
        const released = await reserved();
        await journal.release(released.id);
        await journal.release(released.id);
        const unsettled = await signed();
        await journal.put({ ...unsettled, state: 'unsettled' });
        expect(namesOf(await take())).toEqual(
          [abandoned, released, unsettled].map(({ id }) => `payment.failed of ${id}`),
        );
      });

      it('tells nothing of what is only reserved, signed, or listed', async () => {
        const { id, wallet, network } = await signed();
        await reserved({ swap: swapOf('undecided') });
        await journal.similar({ wallet, network }, 'fingerprint', undefined);
        for await (const attempt of journal.attempts({ wallet, network }))
          expect(attempt.wallet).toBe(wallet);
        await journal.release(id);
        expect(await take()).toEqual([]);
      });

      it('tells nothing of a write that is refused, or that leaves what stands', async () => {
        const one = await signed();
        await expect(journal.put({ ...one, state: 'abandoned' })).rejects.toThrow();
        await journal.put({ ...one, state: 'settled' });
        // A process that does not know yet that it is decided.
        await journal.put({ ...one, state: 'unsettled' });
        await journal.put({ ...one, doubt: 'payment_uncertain' });
        const gone = await reserved();
        await journal.release(gone.id);
        await expect(journal.put({ ...gone, state: 'abandoned' })).rejects.toThrow();
        const refused = attemptOf();
        expect(await journal.reserve(refused, [totalCap(1n)])).toMatchObject({
          cap: { limit: 1n },
        });
        await expect(journal.put({ ...refused, state: 'abandoned' })).rejects.toThrow();
        await journal.release(refused.id);
        expect(namesOf(await take())).toEqual([
          `payment.settled of ${one.id}`,
          `payment.failed of ${gone.id}`,
        ]);
      });

      it('tells all of many that are decided at once, none of them twice', async () => {
        const attempts = await Promise.all(Array.from({ length: 50 }, () => signed()));
        await Promise.all(
          attempts.flatMap((one) => [
            journal.put({ ...one, state: 'settled' }),
            journal.put({ ...one, state: 'settled', delivered: true }),
          ]),
        );
        expect(namesOf(await take()).sort()).toEqual(
          attempts.map(({ id }) => `payment.settled of ${id}`).sort(),
        );
      });
    });

    describe('whose jobs', () => {
      it('are given to one taker only, and no more once they are ended', async () => {
        const job = await oneTaken();
        expect(await take()).toEqual([]);
        // Not every outbox can list them.
        expect((await outbox.waiting?.()) ?? [job]).toEqual([job]);
        await outbox.finish(job, []);
        expect(await take({ now: now + LEASE_MS })).toEqual([]);
      });

      it('are given again once their lease is over, as they were', async () => {
        const job = await oneTaken();
        expect(await take({ now: now + LEASE_MS - 1 })).toEqual([]);
        expect(await take({ now: now + LEASE_MS })).toEqual([job]);
        expect(await take({ now: now + LEASE_MS + 1 })).toEqual([]);
        expect(await take({ now: now + 2 * LEASE_MS })).toEqual([job]);
      });

      it('are ended by the worker that had them, also when another has them by now', async () => {
        const job = await oneTaken();
        const [again] = await take({ now: now + LEASE_MS });
        await outbox.finish(job, []);
        expect(again).toEqual(job);
        await outbox.finish(job, [nextOf(job, { failures: 1 })]);
        expect(await take({ now: now + 3 * LEASE_MS })).toEqual([]);
      });

      it('are replaced in one step, each replacement with all that it was given and a name of its own', async () => {
        const job = await oneTaken();
        const next = [
          nextOf(job, { endpoint: 'one', failures: 3, dueAt: now }),
          nextOf(job, { endpoint: 'two', dueAt: now }),
          nextOf(job, { endpoint: 'two', dueAt: now }),
        ];
        await outbox.finish(job, next);
        const taken = await take();
        expect(new Set(idsOf([job, ...taken])).size).toBe(4);
        expect(taken.map((one) => nextOf(one)).sort((a, b) => b.failures - a.failures)).toEqual(
          next,
        );
      });

      it('are replaced once, however often that is said', async () => {
        const job = await oneTaken();
        const next = [nextOf(job, { endpoint: 'one', dueAt: now })];
        await Promise.all([outbox.finish(job, next), outbox.finish(job, next)]);
        await outbox.finish(job, next);
        await outbox.finish(job, []);
        const taken = await take();
        expect(taken.map((one) => nextOf(one))).toEqual(next);
        const [one] = taken;
        if (one === undefined) throw new Error('it was replaced');
        await outbox.finish(one, []);
        await outbox.finish(job, next);
        expect(await take({ now: now + 2 * LEASE_MS })).toEqual([]);
      });

      it('are given from the time on that they are due', async () => {
        const job = await oneTaken();
        await outbox.finish(job, [nextOf(job, { endpoint: 'late', dueAt: now + 5_000 })]);
        expect(await take({ now: now + 4_999 })).toEqual([]);
        expect(
          (await take({ now: now + 5_000 })).map(({ endpoint, dueAt }) => [endpoint, dueAt]),
        ).toEqual([['late', now + 5_000]]);
      });

      it('are given in the order in which they are due, as many as are asked for', async () => {
        const job = await oneTaken();
        const order = [3, 1, 4, 0, 5, 2];
        await outbox.finish(
          job,
          order.map((place) => nextOf(job, { endpoint: `${place}`, dueAt: now - 1_000 + place })),
        );
        const endpoints = async (limit: number) =>
          (await take({ limit })).map(({ endpoint }) => endpoint);
        expect(await endpoints(2)).toEqual(['0', '1']);
        expect(await endpoints(3)).toEqual(['2', '3', '4']);
        expect(await endpoints(3)).toEqual(['5']);
        expect(await endpoints(3)).toEqual([]);
      });

      it('come in the order in which they were written, if one was written after the other', async () => {
        const ids: string[] = [];
        for (let count = 0; count < 20; count += 1) {
          const { id } = await reserved();
          await journal.release(id);
          ids.push(id);
        }
        expect(namesOf(await take())).toEqual(ids.map((id) => `payment.failed of ${id}`));
      });

      it('that were taken longest ago come before those that were due later', async () => {
        const job = await oneTaken();
        await outbox.finish(job, [nextOf(job, { endpoint: 'first', dueAt: now })]);
        expect(await take()).toHaveLength(1);
        await outbox.finish(await oneTaken(), [
          nextOf(job, { endpoint: 'second', dueAt: now + 1 }),
        ]);
        expect((await take({ now: now + LEASE_MS })).map(({ endpoint }) => endpoint)).toEqual([
          'first',
          'second',
        ]);
      });

      it('are never shared by takers that ask at once, and none is missed', async () => {
        const attempts = await Promise.all(Array.from({ length: 120 }, () => reserved()));
        await Promise.all(attempts.map(({ id }) => journal.release(id)));
        const taken = await Promise.all(Array.from({ length: 30 }, () => take({ limit: 5 })));
        const rest = await take();
        const all = [...taken.flat(), ...rest];
        expect(new Set(idsOf(all)).size).toBe(all.length);
        expect(namesOf(all).sort()).toEqual(
          attempts.map(({ id }) => `payment.failed of ${id}`).sort(),
        );
        for (const some of taken) expect(some.length).toBeLessThanOrEqual(5);
      });

      it('are ended many at once, each with what takes its place', async () => {
        const attempts = await Promise.all(Array.from({ length: 60 }, () => reserved()));
        await Promise.all(attempts.map(({ id }) => journal.release(id)));
        const jobs = await take();
        await Promise.all(
          jobs.map((job, index) =>
            outbox.finish(job, index % 2 === 0 ? [] : [nextOf(job, { failures: 1, dueAt: now })]),
          ),
        );
        const left = await take();
        expect(eventIds(left).sort()).toEqual(
          eventIds(jobs.filter((_, index) => index % 2 === 1)).sort(),
        );
        expect(left.every(({ failures }) => failures === 1)).toBe(true);
      });
    });

    describe('that many callers share', { timeout: 120_000 }, () => {
      /** Jobs of one caller for one of its endpoints. */
      const of = (job: OutboxJob, caller: string, endpoint: string, count: number, dueAt = now) =>
        Array.from({ length: count }, (_, place) =>
          nextOf(job, { caller, endpoint, failures: place, dueAt }),
        );
      const namesAt = (jobs: readonly OutboxJob[]) =>
        jobs.map(({ caller, endpoint }) => `${caller}/${endpoint}`);

      it('gives one of each in turn, however long those of one have waited', async () => {
        const job = await oneTaken();
        await outbox.finish(job, [
          ...of(job, 'many', 'a', 60, now - 2_000),
          ...of(job, 'few', 'b', 1),
          ...of(job, 'other', 'c', 2),
        ]);
        expect(new Set(namesAt(await take({ limit: 3 })))).toEqual(
          new Set(['many/a', 'few/b', 'other/c']),
        );
        const rest = [...(await take({ limit: 3 })), ...(await take({ limit: 100 }))];
        expect(namesAt(rest).sort()).toEqual([
          ...Array.from({ length: 59 }, () => 'many/a'),
          'other/c',
        ]);
        expect(await take()).toEqual([]);
      });

      it('hands out events of one wallet beside the jobs of many callers and the events of other wallets', async () => {
        const job = await oneTaken();
        await outbox.finish(
          job,
          Array.from({ length: 40 }, (_, place) =>
            of(job, `caller ${place}`, `${place}`, 3, now - 5_000),
          ).flat(),
        );
        for (let count = 0; count < 40; count += 1)
          await journal.release((await reserved({ wallet: 'busy' })).id);
        const { id } = await reserved({ wallet: 'quiet' });
        await journal.release(id);
        const given: OutboxJob[] = [];
        for (let question = 0; question < 5; question += 1)
          given.push(...(await take({ limit: 10 })));
        expect(namesOf(given)).toContain(`payment.failed of ${id}`);
      });

      it('gives no more for one endpoint or one caller than is asked for, and nothing for those that are left out', async () => {
        const job = await oneTaken();
        await outbox.finish(job, [
          ...of(job, 'one', 'a', 9),
          ...of(job, 'one', 'b', 9),
          ...of(job, 'two', 'c', 9),
          ...of(job, 'two', 'd', 9),
        ]);
        const some = namesAt(await take({ perEndpoint: 2, perCaller: 3 })).sort();
        expect([some.length, new Set(some).size]).toEqual([6, 4]);
        expect(
          namesAt(await take({ perEndpoint: 2, without: { callers: ['one'], but: ['b'] } })).sort(),
        ).toEqual(
          ['one/b', 'one/b', 'two/c', 'two/c', 'two/d', 'two/d'], // prettier-ignore
        );
        expect(
          namesAt(await take({ perEndpoint: 1, without: { endpoints: ['a', 'b', 'c'] } })),
        ).toEqual(['two/d']);
        expect(await take({ without: { callers: ['one', 'two'] } })).toEqual([]);
        // Events are of no caller.
        const { id } = await reserved();
        await journal.release(id);
        expect(
          namesOf(
            await take({ perEndpoint: 1, perCaller: 1, without: { callers: ['one', 'two', ''] } }),
          ),
        ).toEqual([`payment.failed of ${id}`]);
        expect(await take()).toHaveLength(36 - 6 - 6 - 1);
      });

      it('keeps so many of one, drops what it has had longest, says how many, and loses no attempt', async () => {
        const dropped: number[] = [];
        outbox.onDropped((count) => dropped.push(count));
        const job = await oneTaken();
        await outbox.finish(job, of(job, 'few', 'b', 3, now - 9_000));
        const [first] = await take({ limit: 1 });
        if (first === undefined) throw new Error('it was added');
        await outbox.finish(first, of(job, 'many', 'a', MOST_JOBS.ofOne + 5));
        await until(
          'what is too much was dropped',
          () => dropped.reduce((sum, count) => sum + count, 0) === 5 || undefined,
        );
        const { id } = await reserved();
        await journal.release(id);
        const left = await take({ limit: 20_000 });
        expect(left.filter(({ caller }) => caller === 'few')).toHaveLength(2);
        expect(namesOf(left)).toContain(`payment.failed of ${id}`);
        // Those that were put there first are gone.
        const kept = left.filter(({ caller }) => caller === 'many').map(({ failures }) => failures);
        expect([kept.length, Math.min(...kept), Math.max(...kept)]).toEqual([
          MOST_JOBS.ofOne,
          5,
          MOST_JOBS.ofOne + 4,
        ]);
      });

      it('keeps so many in all: where there are more, those go first of which one has the most', async () => {
        let lost = 0;
        outbox.onDropped((count) => (lost += count));
        const job = await oneTaken();
        const each = MOST_JOBS.ofOne - 1_000;
        const callers = Math.ceil(MOST_JOBS.inAll / each);
        await outbox.finish(job, of(job, 'few', 'b', callers + 100, now - 9_000));
        const all = await take({ limit: callers });
        await Promise.all(
          all.map((one, place) => outbox.finish(one, of(job, `caller ${place}`, 'a', each))),
        );
        await until(
          'what is too much was dropped',
          () => lost >= callers * each + 100 - MOST_JOBS.inAll || undefined,
        );
        const left = await take({ limit: 100_000 });
        expect(left.length).toBeLessThanOrEqual(MOST_JOBS.inAll);
        expect(left.filter(({ caller }) => caller === 'few')).toHaveLength(100);
        const counts = all.map(
          (_, place) => left.filter(({ caller }) => caller === `caller ${place}`).length,
        );
        expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
      });
    });

    describe('whose endpoints', () => {
      it('are kept as they were given, in the order in which they were made', async () => {
        const wide = endpointOf({
          wallets: ['a wallet', 'another'],
          secrets: [{ secret: 'whsec_bmV3' }, { secret: 'whsec_b2xk', until: 1_800_000_000_001 }],
          acceptedAt: 1_800_000_000_002,
          disabledAt: 1_800_000_000_003,
          caller: '',
        });
        const all = [endpointOf(), wide, endpointOf({ wallets: [] })];
        for (const one of all) expect(await outbox.addEndpoint(one, 2)).toBe(true);
        expect(await outbox.endpoints()).toStrictEqual(all);
      });

      it('are changed as a whole, in their place, and keep their id', async () => {
        const [first, second] = [endpointOf({ wallets: ['a'], disabledAt: 1 }), endpointOf()];
        for (const one of [first, second]) await outbox.addEndpoint(one, 2);
        const changed = endpointOf({
          id: first.id,
          url: 'https://elsewhere.test/',
          events: ['payment.failed'],
        });
        const given: Endpoint[] = [];
        const change = (one: Endpoint) => (given.push(one), { ...changed, id: 'another' });
        expect(await outbox.changeEndpoint(first.id, change)).toStrictEqual(changed);
        expect(given[0]).toStrictEqual(first);
        expect(await outbox.endpoints()).toStrictEqual([changed, second]);
      });

      it('are left if nothing is to be changed, and if there is none', async () => {
        const endpoint = endpointOf();
        await outbox.addEndpoint(endpoint, 1);
        expect(await outbox.changeEndpoint(endpoint.id, () => undefined)).toBeUndefined();
        expect(await outbox.changeEndpoint('nobody', () => endpoint)).toBeUndefined();
        await outbox.removeEndpoint(endpoint.id);
        expect(await outbox.changeEndpoint(endpoint.id, (one) => one)).toBeUndefined();
        expect(await outbox.endpoints()).toEqual([]);
      });

      it('lose none of the changes that come at once, also from elsewhere', async () => {
        const endpoint = endpointOf({ wallets: [] });
        await outbox.addEndpoint(endpoint, 1);
        const other = await opened.beside?.();
        const all = [outbox, other?.journal.outbox ?? outbox];
        const names = Array.from({ length: 30 }, (_, index) => `${index}`);
        const added = (name: string) => (one: Endpoint) => ({
          ...one,
          wallets: [...(one.wallets ?? []), name],
        });
        await Promise.all(
          names.map(async (name, index) =>
            all[index % 2]?.changeEndpoint(endpoint.id, added(name)),
          ),
        );
        expect(
          (await outbox.endpoints()).map(({ wallets }) =>
            wallets?.map(Number).sort((a, b) => a - b),
          ),
        ).toEqual([names.map(Number)]);
        await other?.close();
      });

      it('are of one caller as many as are let, also if they are added at once and from elsewhere', async () => {
        const other = await opened.beside?.();
        const all = [outbox, other?.journal.outbox ?? outbox];
        const answers = await Promise.all(
          Array.from({ length: 12 }, async (_, index) =>
            all[index % 2]?.addEndpoint(endpointOf(), 5),
          ),
        );
        expect(answers.filter((added) => added === true)).toHaveLength(5);
        expect(await outbox.endpoints()).toHaveLength(5);
        expect(await outbox.addEndpoint(endpointOf({ caller: 'another' }), 5)).toBe(true);
        const [first] = await outbox.endpoints();
        await outbox.removeEndpoint(first?.id ?? '');
        expect([
          await outbox.addEndpoint(endpointOf(), 5),
          await outbox.addEndpoint(endpointOf(), 5),
        ]).toEqual([true, false]);
        await other?.close();
      });

      it('are not added over those that are there', async () => {
        const endpoint = endpointOf();
        await outbox.addEndpoint(endpoint, 9);
        expect(
          await outbox.addEndpoint(endpointOf({ id: endpoint.id, caller: 'another' }), 9),
        ).toBe(false);
        expect(await outbox.endpoints()).toStrictEqual([endpoint]);
      });

      it('are removed once, and what waits for them stays', async () => {
        const [first, second] = [endpointOf(), endpointOf()];
        await outbox.addEndpoint(first, 9);
        await outbox.addEndpoint(second, 9);
        const job = await oneTaken();
        await outbox.finish(job, [nextOf(job, { endpoint: first.id, dueAt: now })]);
        expect([
          await outbox.removeEndpoint(first.id),
          await outbox.removeEndpoint(first.id),
        ]).toEqual([true, false]);
        expect(await outbox.endpoints()).toStrictEqual([second]);
        expect((await take()).map(({ endpoint }) => endpoint)).toEqual([first.id]);
      });

      it('are none at first', async () => {
        expect(await outbox.endpoints()).toEqual([]);
        expect(await outbox.removeEndpoint('nobody')).toBe(false);
      });
    });

    describe('that says when it was added to', () => {
      it('calls if an event was written, and if a job takes the place of another', async () => {
        let calls = 0;
        const stop = outbox.onAdded(() => (calls += 1));
        const { id } = await reserved();
        await journal.release(id);
        expect(calls).toBeGreaterThan(0);
        const [job] = await take();
        if (job === undefined) throw new Error('nothing was written');
        const before = calls;
        await outbox.finish(job, [nextOf(job, { dueAt: now })]);
        expect(calls).toBeGreaterThan(before);
        const last = calls;
        stop();
        await journal.release((await reserved()).id);
        expect(calls).toBe(last);
        expect(await take()).toHaveLength(2);
      });

      it('calls all that listen, also if one throws, and fails no write over it', async () => {
        const heard: string[] = [];
        const stops = ['one', 'two'].map((who) =>
          outbox.onAdded(() => {
            heard.push(who);
            throw new Error('a listener fails');
          }),
        );
        await journal.release((await reserved()).id);
        for (const stop of stops) stop();
        expect(new Set(heard)).toEqual(new Set(['one', 'two']));
        expect(await take()).toHaveLength(1);
      });
    });

    it('keeps jobs and endpoints when it is opened again, if it is durable', async () => {
      const { reopen } = opened;
      const endpoint = endpointOf({ wallets: ['a'] });
      await outbox.addEndpoint(endpointOf(), 9);
      await outbox.addEndpoint(endpoint, 9);
      const [removed] = await outbox.endpoints();
      await outbox.removeEndpoint(removed?.id ?? '');
      const done = await oneTaken();
      await outbox.finish(done, [
        nextOf(done, { endpoint: endpoint.id, failures: 2, dueAt: now + 9_000 }),
      ]);
      await outbox.finish(await oneTaken(), []);
      const { id } = await reserved();
      await journal.release(id);
      if (reopen !== undefined) {
        await opened.close();
        use(await reopen());
      }
      expect(await outbox.endpoints()).toStrictEqual([endpoint]);
      expect(namesOf(await take())).toEqual([`payment.failed of ${id}`]);
      expect((await take({ now: now + 9_000 })).map((one) => nextOf(one))).toEqual([
        nextOf(done, { endpoint: endpoint.id, failures: 2, dueAt: now + 9_000 }),
      ]);
    });
  });
}
