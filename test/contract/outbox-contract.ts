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

/** A journal with an outbox, as a process has it open. It is empty at first. */
export interface OpenOutbox {
  readonly journal: JournalWithOutbox;
  close(): Promise<void>;
  /** Opens the same store beside it, as another process would, if the store allows that. */
  beside?(): Promise<OpenOutbox>;
  /**
   * Opens the same store again, as another process would. A journal for a single process has to be
   * closed first.
   */
  reopen?(): Promise<OpenOutbox>;
}

/** Narrows a journal to a journal that keeps events. */
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

/**
 * The contract of an outbox, whatever its store.
 *
 * @param fills - Whether to fill the outbox with 50,000 jobs, once for each code that drops some.
 */
export function outboxContract(name: string, make: () => Promise<OpenOutbox>, fills = true): void {
  describe(`${name}, as an outbox`, () => {
    let opened: OpenOutbox;
    let journal: JournalWithOutbox;
    let outbox: Outbox;
    /** Later than all writes of the test, so every job is due. */
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
    /** Returns a taken job with the event `payment.failed`. */
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

    describe('the events of attempts', () => {
      it('report each public step of a purchase once, in order', async () => {
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

      it('report a failed payment: abandoned, released, or unsettled', async () => {
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

      it('report no attempt that is only reserved, signed or listed', async () => {
        const { id, wallet, network } = await signed();
        await reserved({ swap: swapOf('undecided') });
        await journal.similar({ wallet, network }, 'fingerprint', undefined);
        for await (const attempt of journal.attempts({ wallet, network }))
          expect(attempt.wallet).toBe(wallet);
        await journal.release(id);
        expect(await take()).toEqual([]);
      });

      it('report no write that is refused or changes nothing', async () => {
        const attempt = await signed();
        await expect(journal.put({ ...attempt, state: 'abandoned' })).rejects.toThrow();
        await journal.put({ ...attempt, state: 'settled' });
        // A process may not know yet that the payment is decided.
        await journal.put({ ...attempt, state: 'unsettled' });
        await journal.put({ ...attempt, doubt: 'payment_uncertain' });
        const released = await reserved();
        await journal.release(released.id);
        await expect(journal.put({ ...released, state: 'abandoned' })).rejects.toThrow();
        const refused = attemptOf();
        expect(await journal.reserve(refused, [totalCap(1n)])).toMatchObject({
          cap: { limit: 1n },
        });
        await expect(journal.put({ ...refused, state: 'abandoned' })).rejects.toThrow();
        await journal.release(refused.id);
        expect(namesOf(await take())).toEqual([
          `payment.settled of ${attempt.id}`,
          `payment.failed of ${released.id}`,
        ]);
      });

      it('report every one of many simultaneous decisions once', async () => {
        const attempts = await Promise.all(Array.from({ length: 50 }, () => signed()));
        await Promise.all(
          attempts.flatMap((attempt) => [
            journal.put({ ...attempt, state: 'settled' }),
            journal.put({ ...attempt, state: 'settled', delivered: true }),
          ]),
        );
        expect(namesOf(await take()).sort()).toEqual(
          attempts.map(({ id }) => `payment.settled of ${id}`).sort(),
        );
      });
    });

    describe('the jobs of an outbox', () => {
      it('go to one worker only, and to none once they are finished', async () => {
        const job = await oneTaken();
        expect(await take()).toEqual([]);
        // Not every outbox can list them.
        expect((await outbox.waiting?.()) ?? [job]).toEqual([job]);
        await outbox.finish(job, []);
        expect(await take({ now: now + LEASE_MS })).toEqual([]);
      });

      it('are handed out unchanged again once their lease is over', async () => {
        const job = await oneTaken();
        expect(await take({ now: now + LEASE_MS - 1 })).toEqual([]);
        expect(await take({ now: now + LEASE_MS })).toEqual([job]);
        expect(await take({ now: now + LEASE_MS + 1 })).toEqual([]);
        expect(await take({ now: now + 2 * LEASE_MS })).toEqual([job]);
      });

      it('may be finished by their first worker after another worker took them', async () => {
        const job = await oneTaken();
        const [again] = await take({ now: now + LEASE_MS });
        await outbox.finish(job, []);
        expect(again).toEqual(job);
        await outbox.finish(job, [nextOf(job, { failures: 1 })]);
        expect(await take({ now: now + 3 * LEASE_MS })).toEqual([]);
      });

      it('are replaced in one step by jobs with new ids and all given fields', async () => {
        const job = await oneTaken();
        const next = [
          nextOf(job, { endpoint: 'one', failures: 3, dueAt: now }),
          nextOf(job, { endpoint: 'two', dueAt: now }),
          nextOf(job, { endpoint: 'two', dueAt: now }),
        ];
        await outbox.finish(job, next);
        const taken = await take();
        expect(new Set(idsOf([job, ...taken])).size).toBe(4);
        expect(
          taken.map((replacement) => nextOf(replacement)).sort((a, b) => b.failures - a.failures),
        ).toEqual(next);
      });

      it('are replaced once, however often the same worker asks', async () => {
        const job = await oneTaken();
        const next = [nextOf(job, { endpoint: 'one', dueAt: now })];
        await Promise.all([outbox.finish(job, next), outbox.finish(job, next)]);
        await outbox.finish(job, next);
        await outbox.finish(job, []);
        const taken = await take();
        expect(taken.map((found) => nextOf(found))).toEqual(next);
        const [replacement] = taken;
        if (replacement === undefined) throw new Error('it was replaced');
        await outbox.finish(replacement, []);
        await outbox.finish(job, next);
        expect(await take({ now: now + 2 * LEASE_MS })).toEqual([]);
      });

      it('are handed out from their due time on', async () => {
        const job = await oneTaken();
        await outbox.finish(job, [nextOf(job, { endpoint: 'late', dueAt: now + 5_000 })]);
        expect(await take({ now: now + 4_999 })).toEqual([]);
        expect(
          (await take({ now: now + 5_000 })).map(({ endpoint, dueAt }) => [endpoint, dueAt]),
        ).toEqual([['late', now + 5_000]]);
      });

      it('are handed out at once if the clock was set back since they got their due time', async () => {
        const job = await oneTaken();
        await outbox.finish(job, [
          nextOf(job, { endpoint: 'jumped', dueAt: now + 365 * 24 * HOUR_MS }),
          nextOf(job, { endpoint: 'waits', dueAt: now + 24 * HOUR_MS }),
        ]);
        const places = async (at: number) =>
          (await take({ now: at })).map((one) => one.endpoint).sort();
        expect(await places(now - 1)).toEqual(['jumped']);
        expect(await places(now + 24 * HOUR_MS)).toEqual(['jumped', 'waits']);
      });

      it('come in the order of their due times, as many as requested', async () => {
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

      it('come in the order in which they were written', async () => {
        const ids: string[] = [];
        for (let count = 0; count < 20; count += 1) {
          const { id } = await reserved();
          await journal.release(id);
          ids.push(id);
        }
        expect(namesOf(await take())).toEqual(ids.map((id) => `payment.failed of ${id}`));
      });

      it('come before jobs that became due later, if they were taken earlier', async () => {
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

      it('are shared by no two simultaneous workers, and none is missed', async () => {
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

      it('are finished many at once, each with its own replacements', async () => {
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

    describe('an outbox that many callers share', () => {
      /** Makes jobs of a caller for an endpoint. */
      const jobsOf = (
        job: OutboxJob,
        caller: string,
        endpoint: string,
        count: number,
        dueAt = now,
      ) =>
        Array.from({ length: count }, (_, place) =>
          nextOf(job, { caller, endpoint, failures: place, dueAt }),
        );
      const namesAt = (jobs: readonly OutboxJob[]) =>
        jobs.map(({ caller, endpoint }) => `${caller}/${endpoint}`);

      it('hands out jobs of each endpoint in turn, however long they have waited', async () => {
        const job = await oneTaken();
        await outbox.finish(job, [
          ...jobsOf(job, 'many', 'a', 60, now - 2_000),
          ...jobsOf(job, 'few', 'b', 1),
          ...jobsOf(job, 'other', 'c', 2),
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

      it('hands out events of a quiet wallet among many jobs and events', async () => {
        const job = await oneTaken();
        await outbox.finish(
          job,
          Array.from({ length: 40 }, (_, place) =>
            jobsOf(job, `caller ${place}`, `${place}`, 3, now - 5_000),
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

      it('limits jobs by endpoint and by caller, and omits excluded ones', async () => {
        const job = await oneTaken();
        await outbox.finish(job, [
          ...jobsOf(job, 'one', 'a', 9),
          ...jobsOf(job, 'one', 'b', 9),
          ...jobsOf(job, 'two', 'c', 9),
          ...jobsOf(job, 'two', 'd', 9),
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
        // Events belong to no caller.
        const { id } = await reserved();
        await journal.release(id);
        expect(
          namesOf(
            await take({ perEndpoint: 1, perCaller: 1, without: { callers: ['one', 'two', ''] } }),
          ),
        ).toEqual([`payment.failed of ${id}`]);
        expect(await take()).toHaveLength(36 - 6 - 6 - 1);
      });

      it('limits waiting jobs per endpoint, drops the oldest and reports how many', async () => {
        const dropped: number[] = [];
        outbox.onDropped((count) => dropped.push(count));
        const job = await oneTaken();
        await outbox.finish(job, jobsOf(job, 'few', 'b', 3, now - 9_000));
        const [first] = await take({ limit: 1 });
        if (first === undefined) throw new Error('it was added');
        await outbox.finish(first, jobsOf(job, 'many', 'a', MOST_JOBS.ofOne + 5));
        await until(
          'what is too much was dropped',
          () => dropped.reduce((sum, count) => sum + count, 0) === 5 || undefined,
        );
        const { id } = await reserved();
        await journal.release(id);
        const left = await take({ limit: 20_000 });
        expect(left.filter(({ caller }) => caller === 'few')).toHaveLength(2);
        expect(namesOf(left)).toContain(`payment.failed of ${id}`);
        // The first jobs are gone.
        const kept = left.filter(({ caller }) => caller === 'many').map(({ failures }) => failures);
        expect([kept.length, Math.min(...kept), Math.max(...kept)]).toEqual([
          MOST_JOBS.ofOne,
          5,
          MOST_JOBS.ofOne + 4,
        ]);
      });

      if (fills)
        it('limits waiting jobs in all, and drops those of the largest endpoint first', async () => {
          let lost = 0;
          outbox.onDropped((count) => (lost += count));
          const job = await oneTaken();
          const each = MOST_JOBS.ofOne - 1_000;
          const callers = Math.ceil(MOST_JOBS.inAll / each);
          await outbox.finish(job, jobsOf(job, 'few', 'b', callers + 100, now - 9_000));
          const taken = await take({ limit: callers });
          await Promise.all(
            taken.map((first, place) =>
              outbox.finish(first, jobsOf(job, `caller ${place}`, 'a', each)),
            ),
          );
          await until(
            'what is too much was dropped',
            () => lost >= callers * each + 100 - MOST_JOBS.inAll || undefined,
          );
          const left = await take({ limit: 100_000 });
          expect(left.length).toBeLessThanOrEqual(MOST_JOBS.inAll);
          expect(left.filter(({ caller }) => caller === 'few')).toHaveLength(100);
          const counts = taken.map(
            (_, place) => left.filter(({ caller }) => caller === `caller ${place}`).length,
          );
          expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
        });
    });

    describe('the endpoints of an outbox', () => {
      it('are kept as given, in the order of their creation', async () => {
        const wide = endpointOf({
          wallets: ['a wallet', 'another'],
          secrets: [{ secret: 'whsec_bmV3' }, { secret: 'whsec_b2xk', until: 1_800_000_000_001 }],
          acceptedAt: 1_800_000_000_002,
          disabledAt: 1_800_000_000_003,
          caller: '',
        });
        const endpoints = [endpointOf(), wide, endpointOf({ wallets: [] })];
        for (const endpoint of endpoints) expect(await outbox.addEndpoint(endpoint, 2)).toBe(true);
        expect(await outbox.endpoints()).toStrictEqual(endpoints);
      });

      it('are changed as a whole, in their place, and keep their id', async () => {
        const [first, second] = [endpointOf({ wallets: ['a'], disabledAt: 1 }), endpointOf()];
        for (const endpoint of [first, second]) await outbox.addEndpoint(endpoint, 2);
        const changed = endpointOf({
          id: first.id,
          url: 'https://elsewhere.test/',
          events: ['payment.failed'],
        });
        const given: Endpoint[] = [];
        const change = (endpoint: Endpoint) => (
          given.push(endpoint),
          { ...changed, id: 'another' }
        );
        expect(await outbox.changeEndpoint(first.id, change)).toStrictEqual(changed);
        expect(given[0]).toStrictEqual(first);
        expect(await outbox.endpoints()).toStrictEqual([changed, second]);
      });

      it('stay as they are if the change is empty, and if the id is unknown', async () => {
        const endpoint = endpointOf();
        await outbox.addEndpoint(endpoint, 1);
        expect(await outbox.changeEndpoint(endpoint.id, () => undefined)).toBeUndefined();
        expect(await outbox.changeEndpoint('nobody', () => endpoint)).toBeUndefined();
        await outbox.removeEndpoint(endpoint.id);
        expect(await outbox.changeEndpoint(endpoint.id, (found) => found)).toBeUndefined();
        expect(await outbox.endpoints()).toEqual([]);
      });

      it('lose no change of many simultaneous changes from two processes', async () => {
        const endpoint = endpointOf({ wallets: [] });
        await outbox.addEndpoint(endpoint, 1);
        const other = await opened.beside?.();
        const outboxes = [outbox, other?.journal.outbox ?? outbox];
        const names = Array.from({ length: 30 }, (_, index) => `${index}`);
        const added = (name: string) => (endpoint: Endpoint) => ({
          ...endpoint,
          wallets: [...(endpoint.wallets ?? []), name],
        });
        await Promise.all(
          names.map(async (name, index) =>
            outboxes[index % 2]?.changeEndpoint(endpoint.id, added(name)),
          ),
        );
        expect(
          (await outbox.endpoints()).map(({ wallets }) =>
            wallets?.map(Number).sort((a, b) => a - b),
          ),
        ).toEqual([names.map(Number)]);
        await other?.close();
      });

      it('are limited in number for each caller, also across processes', async () => {
        const other = await opened.beside?.();
        const outboxes = [outbox, other?.journal.outbox ?? outbox];
        const answers = await Promise.all(
          Array.from({ length: 12 }, async (_, index) =>
            outboxes[index % 2]?.addEndpoint(endpointOf(), 5),
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

      it('are not overwritten by an endpoint with the same id', async () => {
        const endpoint = endpointOf();
        await outbox.addEndpoint(endpoint, 9);
        expect(
          await outbox.addEndpoint(endpointOf({ id: endpoint.id, caller: 'another' }), 9),
        ).toBe(false);
        expect(await outbox.endpoints()).toStrictEqual([endpoint]);
      });

      it('are removed once, and their waiting jobs stay', async () => {
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

      it('start empty', async () => {
        expect(await outbox.endpoints()).toEqual([]);
        expect(await outbox.removeEndpoint('nobody')).toBe(false);
      });
    });

    describe('listeners of an outbox', () => {
      it('calls a listener for a written event and for a replaced job', async () => {
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

      it('calls every listener even if a listener throws, and fails no write', async () => {
        const heard: string[] = [];
        const stops = ['one', 'two'].map((listener) =>
          outbox.onAdded(() => {
            heard.push(listener);
            throw new Error('a listener fails');
          }),
        );
        await journal.release((await reserved()).id);
        for (const stop of stops) stop();
        expect(new Set(heard)).toEqual(new Set(['one', 'two']));
        expect(await take()).toHaveLength(1);
      });
    });

    it('keeps jobs and endpoints when a durable outbox is opened again', async () => {
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
      expect((await take({ now: now + 9_000 })).map((job) => nextOf(job))).toEqual([
        nextOf(done, { endpoint: endpoint.id, failures: 2, dueAt: now + 9_000 }),
      ]);
    });
  });
}
