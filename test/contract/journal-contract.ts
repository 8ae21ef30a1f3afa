import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { attemptStates, mayFollow, type AttemptState } from '../../src/journal/states.js';
import type { Attempt, Journal, Owner } from '../../src/journal/types.js';
import { capCounts, takenOf, type Cap } from '../../src/policy/caps.js';
import { costOf, type SwapCost } from '../../src/policy/cost.js';
import {
  attemptOf,
  DAY_MS,
  dayCap,
  fullAttemptOf,
  idsOf,
  listOf,
  NOW,
  signedSwapOf,
  totalCap,
} from '../helpers/attempts.js';

/** A journal as a process has it open. */
export interface OpenJournal {
  readonly journal: Journal;
  close(): Promise<void>;
  /**
   * Opens the same store again, as another process would. A journal for a single process has to be
   * closed first.
   */
  readonly reopen?: () => Promise<OpenJournal>;
}

const STATES = Object.keys(attemptStates) as AttemptState[];

/**
 * Returns the effect of a put. A decided attempt stays as it is, even if a process does not know
 * that yet; any other change that the table forbids is refused.
 */
function whatBecomes(
  from: AttemptState,
  to: AttemptState,
): 'replaces' | 'leaves' | 'is refused, and leaves' {
  if (mayFollow(from, to)) return 'replaces';
  return attemptStates[from].decided ? 'leaves' : 'is refused, and leaves';
}

/** The states through which an attempt gets into each state. */
const WAYS: Readonly<Record<AttemptState, readonly AttemptState[]>> = {
  reserved: [],
  abandoned: ['abandoned'],
  unpaid: ['unpaid'],
  signed: ['signed'],
  settled: ['signed', 'settled'],
  unsettled: ['signed', 'unsettled'],
};

async function* noOwners(): AsyncIterable<Owner> {}

/**
 * Returns the amount that an attempt takes of a cap at `now`. A reservation always counts, an open
 * payment for a day longer than the window, and a decided attempt from the time it left.
 */
function takesAt(cap: Cap, attempt: Attempt, now: number): bigint {
  const { state, at, leftAt = at } = attempt;
  if (!capCounts(cap, attempt)) return 0n;
  const longer = state === 'signed' || state === 'abandoned' ? DAY_MS : 0;
  const isIn =
    cap.windowMs === undefined || state === 'reserved' || leftAt > now - cap.windowMs - longer;
  return isIn ? (costOf(attempt, attemptStates[state].counts).get(cap.unit) ?? 0n) : 0n;
}

const swapCost = (taken: number): SwapCost => ({
  ...{
    swaps: 1,
    lossMicroUsd: `${taken}`,
    feeMicroUsd: '1',
    lamports: `${2 * taken}`,
    boughtMicroUsd: '0',
  },
  inputs: { other: `${3 * taken}` },
});

/**
 * The contract of a journal, whatever its store. Tests of durability run only for `durable`
 * journals.
 */
export function journalContract(
  name: string,
  open: () => Promise<OpenJournal>,
  { durable = false } = {},
): void {
  describe(`${name}, as a journal`, () => {
    let opened: OpenJournal;
    let journal: Journal;
    let owner: Owner;

    beforeEach(async () => {
      opened = await open();
      journal = opened.journal;
      // All tests may use the same store.
      owner = { wallet: randomUUID(), network: 'network' };
    });

    afterEach(async () => {
      await opened.close();
    });

    const own = (over: Partial<Attempt> = {}) => attemptOf({ ...owner, ...over });
    const reserved = async (over: Partial<Attempt> = {}): Promise<Attempt> => {
      const attempt = own(over);
      expect(await journal.reserve(attempt, [])).toBeUndefined();
      return attempt;
    };
    const brought = async (state: AttemptState, over: Partial<Attempt> = {}): Promise<Attempt> => {
      let attempt = await reserved(over);
      for (const next of WAYS[state]) await journal.put((attempt = { ...attempt, state: next }));
      return attempt;
    };
    const used = async (cap: Cap, now = NOW) => (await journal.used(owner, [cap], now))[0];
    const all = () => listOf(journal.attempts(owner));

    describe('reserving', () => {
      it('lets as many of 200 simultaneous payments pass as fit a cap', async () => {
        const cap = dayCap(505_000n);
        const looks: (bigint | undefined)[] = [];
        const results = await Promise.all(
          Array.from({ length: 200 }, async () => {
            const result = await journal.reserve(own(), [cap]);
            looks.push(await used(cap));
            return result;
          }),
        );
        expect(results.filter((result) => result === undefined)).toHaveLength(50);
        for (const refusal of results.filter((result) => result !== undefined))
          expect(refusal).toEqual({ cap, used: 500_000n });
        expect(looks).toHaveLength(200);
        for (const look of looks) expect(look).toBeLessThanOrEqual(cap.limit);
        expect(await used(cap)).toBe(500_000n);
        expect(await all()).toHaveLength(50);
      });

      it('reserves under several caps at once, each in its own unit', async () => {
        const caps = [
          dayCap(1_000_000n),
          dayCap(7n, { unit: 'payments' }),
          totalCap(60_000n, { unit: 'mint', mint: 'mint' }),
        ];
        const reserve = (over: Partial<Attempt>) =>
          Array.from({ length: 20 }, () => journal.reserve(own(over), caps));
        await Promise.all([...reserve({}), ...reserve({ mint: 'other', microUsd: '100001' })]);
        const attempts = await all();
        const used = await journal.used(owner, caps, NOW);
        expect(used).toEqual(
          caps.map((cap) => attempts.reduce((sum, attempt) => sum + takenOf(cap, attempt), 0n)),
        );
        caps.forEach(({ limit }, index) => expect(used[index]).toBeLessThanOrEqual(limit));
        expect(used[1]).toBe(7n);
      });

      it('reserves up to the last unit of a cap, and no further', async () => {
        const cap = dayCap(50_000n);
        expect(await journal.reserve(own({ microUsd: '49999' }), [cap])).toBeUndefined();
        expect(await journal.reserve(own({ microUsd: '2' }), [cap])).toEqual({
          cap,
          used: 49_999n,
        });
        expect(await journal.reserve(own({ microUsd: '1' }), [cap])).toBeUndefined();
        expect(await journal.reserve(own({ microUsd: '1' }), [cap])).toEqual({
          cap,
          used: 50_000n,
        });
      });

      it('reserves an attempt that takes nothing of a cap, even if it is overfull', async () => {
        await reserved();
        const { microUsd: _price, ...unpriced } = own();
        expect(
          await journal.reserve(unpriced, [
            dayCap(5n),
            dayCap(5n, { unit: 'other' }),
            dayCap(5n, { host: 'b.test' }),
          ]),
        ).toBeUndefined();
        expect(await journal.reserve(own({ microUsd: '0' }), [dayCap(5n)])).toBeUndefined();
        expect(await used(dayCap(5n))).toBe(10_000n);
      });

      it('reserves nothing if a cap has no room, and returns the given cap', async () => {
        const caps = [
          dayCap(100_000n),
          dayCap(15_000n, { host: 'api.test' }),
          totalCap(5_000n, { host: 'b.test', name: 'other' }),
        ];
        expect(await journal.reserve(own(), caps)).toBeUndefined();
        expect(await journal.reserve(own(), caps)).toStrictEqual({ cap: caps[1], used: 10_000n });
        expect(await journal.reserve(own({ host: 'b.test' }), caps)).toStrictEqual({
          cap: caps[2],
          used: 0n,
        });
        expect(await journal.reserve(own({ host: 'c.test' }), caps)).toBeUndefined();
        expect(await journal.used(owner, caps, NOW)).toEqual([20_000n, 10_000n, 0n]);
        expect(await all()).toHaveLength(2);
      });

      it('reserves amounts far beyond the range of doubles and of 64 bits', async () => {
        const huge = 10n ** 30n;
        const cap = totalCap(3n * huge, { unit: 'mint' });
        const reserve = () =>
          journal.reserve(own({ amount: huge.toString(), microUsd: huge.toString() }), [cap]);
        expect([await reserve(), await reserve()]).toEqual([undefined, undefined]);
        expect(await journal.reserve(own({ amount: (huge + 1n).toString() }), [cap])).toEqual({
          cap,
          used: 2n * huge,
        });
        expect(await used(totalCap(0n))).toBe(2n * huge);
      });

      it('refuses a negative amount and a negative price, which would be credit', async () => {
        await expect(journal.reserve(own({ microUsd: '-1' }), [])).rejects.toThrow();
        await expect(journal.reserve(own({ amount: '-1' }), [])).rejects.toThrow();
        expect(await all()).toEqual([]);
      });

      it('refuses an id that exists', async () => {
        const first = await reserved();
        await expect(journal.reserve({ ...first, host: 'b.test' }, [])).rejects.toThrow();
        expect(await all()).toEqual([first]);
      });

      it('counts like a linear sum after any sequence of steps', async () => {
        const spot = fc.record({
          host: fc.constantFrom('a.test', 'a.test:8443', 'b.test'),
          payTo: fc.constantFrom('one', 'two'),
          mint: fc.constantFrom('mint', 'other'),
        });
        const step = fc.record({
          what: fc.constantFrom(
            'reserve',
            'reserve',
            'reserve',
            'raise',
            'signed',
            'settled',
            'unsettled',
            'abandoned',
            'unpaid',
            'release',
          ),
          swap: fc.constantFrom('swapped', 'swapping', undefined),
          left: fc.boolean(),
          which: fc.nat(30),
          take: fc.nat(60),
          priced: fc.boolean(),
          spot,
          after: fc.integer({ min: -1, max: DAY_MS / 3_000 }).map((seconds) => seconds * 1_000),
        });
        const caps = [
          dayCap(100n),
          dayCap(4n, { unit: 'payments', windowMs: 3_600_000 }),
          totalCap(300n, { host: 'a.test' }),
          dayCap(120n, { unit: 'mint', payTo: 'one' }),
          totalCap(500n, { unit: 'other', mint: 'other', host: 'b.test' }),
          dayCap(900n, { unit: 'lamports', windowMs: 2 * DAY_MS }),
          dayCap(3n, { unit: 'swaps', windowMs: 7_200_000 }),
        ];
        const run = async (
          steps: readonly (typeof step extends fc.Arbitrary<infer T> ? T : never)[],
        ) => {
          const newOwner = { wallet: randomUUID(), network: 'network' };
          const model = new Map<string, Attempt>();
          const modelUsed = (cap: Cap, now: number, without?: Attempt) =>
            [...model.values()].reduce(
              (sum, attempt) =>
                attempt.id === without?.id ? sum : sum + takesAt(cap, attempt, now),
              0n,
            );
          /** Returns a cap that the step takes more of than before, and that has no room for it. */
          const blocking = (next: Attempt, now: number, before?: Attempt) => {
            const takes = (attempt: Attempt, cap: Cap) =>
              capCounts(cap, attempt)
                ? (costOf(attempt, attemptStates[attempt.state].counts).get(cap.unit) ?? 0n)
                : 0n;
            const full = caps.find((cap) => {
              const taken = takes(next, cap);
              return (
                taken > (before === undefined ? 0n : takes(before, cap)) &&
                modelUsed(cap, now, before) + taken > cap.limit
              );
            });
            return full === undefined
              ? undefined
              : { cap: full, used: modelUsed(full, now, before) };
          };
          let now = NOW;
          for (const { what, which, take, priced, spot: place, after, swap, left } of steps) {
            now += after;
            const known = [...model.values()][which % Math.max(1, model.size)];
            if (what === 'reserve') {
              const text = String(take);
              const { microUsd: _price, ...next } = attemptOf({
                ...newOwner,
                ...place,
                at: now,
                amount: text,
              });
              const attempt = priced ? { ...next, microUsd: text } : next;
              const expected = blocking(attempt, now);
              expect(await journal.reserve(attempt, caps)).toEqual(expected);
              if (expected === undefined) model.set(attempt.id, attempt);
            } else if (known !== undefined && what === 'release') {
              await journal.release(known.id);
              if (attemptStates[known.state].release && known.swapped === undefined)
                model.delete(known.id);
            } else if (known !== undefined && what === 'raise') {
              const next: Attempt = {
                ...known,
                ...(swap === undefined ? {} : { [swap]: swapCost(take) }),
              };
              const expected = blocking(next, known.at, known);
              if (whatBecomes(known.state, known.state) !== 'replaces') continue;
              expect(await journal.raise(next, caps)).toEqual(expected);
              if (expected === undefined) model.set(known.id, next);
            } else if (known !== undefined && what !== 'release' && what !== 'raise') {
              const next: Attempt = { ...known, state: what, ...(left ? { leftAt: now } : {}) };
              const put = journal.put(next);
              if (whatBecomes(known.state, what) === 'is refused, and leaves')
                await expect(put).rejects.toThrow(known.id);
              else await put;
              if (mayFollow(known.state, what)) model.set(known.id, next);
            }
            expect(await journal.used(newOwner, caps, now)).toEqual(
              caps.map((cap) => modelUsed(cap, now)),
            );
          }
          expect(await listOf(journal.attempts(newOwner))).toEqual([...model.values()]);
        };
        await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 30 }), run), { numRuns: 25 });
      });
    });

    describe('counting', () => {
      it.each(STATES)('counts an attempt that is %s as the table of states says', async (state) => {
        await brought(state);
        const expected = attemptStates[state].counts ? 10_000n : 0n;
        const caps = [
          dayCap(0n),
          totalCap(0n),
          dayCap(0n, { host: 'api.test' }),
          totalCap(0n, { unit: 'mint' }),
        ];
        expect(await journal.used(owner, caps, NOW)).toEqual(caps.map(() => expected));
        expect(await used(dayCap(0n, { unit: 'payments' }))).toBe(
          attemptStates[state].counts ? 1n : 0n,
        );
      });

      it('counts to the second within a window, and for ever without a window', async () => {
        await brought('settled');
        for (const windowMs of [1, 1_000, DAY_MS, 30 * DAY_MS]) {
          const cap = dayCap(0n, { windowMs });
          const looks = [-60_000, 0, windowMs - 1, windowMs, windowMs + 1].map((later) =>
            used(cap, NOW + later),
          );
          expect(await Promise.all(looks)).toEqual([10_000n, 10_000n, 10_000n, 0n, 0n]);
        }
        expect(await used(totalCap(0n), NOW + 1_000 * DAY_MS)).toBe(10_000n);
      });

      it('counts open payments a day longer, and landed payments from their landing', async () => {
        const attempt = await brought('signed');
        const looks = async () => {
          const after = [NOW + 1_000, NOW + DAY_MS + 999, NOW + DAY_MS + 1_000];
          return Promise.all(after.map((at) => used(dayCap(0n, { windowMs: 1_000 }), at)));
        };
        expect(await looks()).toEqual([10_000n, 10_000n, 0n]);
        await journal.put({ ...attempt, state: 'settled', leftAt: NOW + DAY_MS });
        expect(await looks()).toEqual([10_000n, 10_000n, 0n]);
        expect(await used(dayCap(0n, { windowMs: 1_000 }), NOW + DAY_MS + 998)).toBe(10_000n);
      });

      it('counts the cost of swaps in every state, and never forgets it', async () => {
        const [taken, caps] = [
          swapCost(40),
          [dayCap(0n), totalCap(0n, { unit: 'other' }), totalCap(0n, { unit: 'swaps' })],
        ];
        for (const state of STATES) {
          const newOwner: Owner = { wallet: randomUUID(), network: 'network' };
          const attempt = await brought(state, { ...newOwner, swapped: taken });
          const price = attemptStates[state].counts ? 10_000n : 0n;
          expect(await journal.used(newOwner, caps, NOW), state).toEqual([price + 41n, 120n, 1n]);
          await journal.release(attempt.id);
          expect(await journal.used(newOwner, caps, NOW), state).toEqual([price + 41n, 120n, 1n]);
        }
      });

      it('raises the cost of an attempt under caps, or refuses without a change', async () => {
        const cap = dayCap(10_100n);
        const attempt = await reserved();
        expect(await journal.raise({ ...attempt, swapping: swapCost(100) }, [cap])).toEqual({
          cap,
          used: 0n,
        });
        expect(await all()).toEqual([attempt]);
        expect(await journal.raise({ ...attempt, swapping: swapCost(99) }, [cap])).toBeUndefined();
        expect(await used(cap)).toBe(10_100n);
        // An attempt that takes no more than before is never refused.
        expect(
          await journal.raise({ ...attempt, swapping: swapCost(98) }, [dayCap(1n)]),
        ).toBeUndefined();
        const rivals = await Promise.all([
          reserved({ microUsd: '0' }),
          reserved({ microUsd: '0' }),
          reserved({ microUsd: '0' }),
        ]);
        const raised = await Promise.all(
          rivals.map((rival) => journal.raise({ ...rival, swapping: swapCost(0) }, [cap])),
        );
        expect(raised.filter((block) => block === undefined)).toHaveLength(1);
        expect(await used(cap)).toBe(10_100n);
      });

      it('counts a reserved attempt however long it waits', async () => {
        const attempt = await reserved();
        expect(await used(dayCap(0n, { windowMs: 1_000 }), NOW + DAY_MS)).toBe(10_000n);
        expect(await used(dayCap(0n, { windowMs: 1_000, host: 'another' }), NOW + DAY_MS)).toBe(0n);
        expect(
          await journal.reserve(own({ at: NOW + DAY_MS }), [
            dayCap(1n, { unit: 'payments', windowMs: 1_000 }),
          ]),
        ).toMatchObject({
          used: 1n,
        });
        // Once spent, it counts from that time on.
        await journal.put({ ...attempt, state: 'signed', at: NOW + 5_000 });
        await journal.put({ ...attempt, state: 'settled', at: NOW + 5_000 });
        expect([
          await used(dayCap(0n, { windowMs: 1_000 }), NOW + 5_999),
          await used(dayCap(0n, { windowMs: 1_000 }), NOW + 6_000),
        ]).toEqual([10_000n, 0n]);
      });

      it.each(['reserved', 'signed'] as const)(
        'counts an attempt that is %s once, wherever the window begins',
        async (state) => {
          await brought(state, { at: NOW + 200 });
          const looks = [999, 1_000, 1_199, 1_200, 1_999, 2_000].map((later) =>
            used(dayCap(0n, { windowMs: 1_000 }), NOW + later),
          );
          expect(new Set(await Promise.all(looks))).toEqual(new Set([10_000n]));
        },
      );

      it('counts a window up to the time of the attempt to be reserved', async () => {
        await brought('settled');
        const at = (later: number) => journal.reserve(own({ at: NOW + later }), [dayCap(10_000n)]);
        expect(await at(DAY_MS - 1)).toMatchObject({ used: 10_000n });
        expect(await at(DAY_MS)).toBeUndefined();
      });

      it('counts exactly the attempts that a cap covers', async () => {
        const places = ['a.test', 'a.test:8443', 'b.test.'].flatMap((host) =>
          ['one', 'two'].flatMap((payTo) =>
            ['mint', 'other'].map((mint) => ({ host, payTo, mint })),
          ),
        );
        let amount = 1;
        for (const place of places) {
          await reserved({ ...place, amount: String(amount), microUsd: String(10_000 * amount) });
          amount *= 2;
        }
        const filters = ['a.test', 'a.test:8443', 'b.test', undefined].flatMap((host) =>
          ['one', undefined].flatMap((payTo) =>
            ['other', undefined].map((mint) => ({ host, payTo, mint })),
          ),
        );
        const caps = filters.flatMap(({ host, payTo, mint }) =>
          ['USD', 'payments', 'mint'].map((unit) =>
            totalCap(0n, {
              unit,
              ...(host === undefined ? {} : { host }),
              ...(payTo === undefined ? {} : { payTo }),
              ...(mint === undefined ? {} : { mint }),
            }),
          ),
        );
        const attempts = await all();
        expect(await journal.used(owner, caps, NOW)).toEqual(
          caps.map((cap) =>
            attempts
              .filter((attempt) => capCounts(cap, attempt))
              .reduce((sum, attempt) => sum + takenOf(cap, attempt), 0n),
          ),
        );
      });

      it('counts the present cost of an attempt, not its earlier cost', async () => {
        const first = await reserved();
        await journal.put({ ...first, microUsd: '3', amount: '4', host: 'b.test' });
        expect(
          await journal.used(
            owner,
            [totalCap(0n), totalCap(0n, { unit: 'mint' }), totalCap(0n, { host: 'api.test' })],
            NOW,
          ),
        ).toEqual([3n, 4n, 0n]);
      });

      it('returns no sums if no caps are given', async () => {
        await reserved();
        expect(await journal.used(owner, [], NOW)).toEqual([]);
      });
    });

    describe('idempotency keys', () => {
      it('gives a key to one of many attempts, and shows that attempt to the rest', async () => {
        const rivals = Array.from({ length: 50 }, () => own({ idempotencyKey: 'key' }));
        const results = await Promise.all(rivals.map((rival) => journal.reserve(rival, [])));
        const winners = rivals.filter((_, index) => results[index] === undefined);
        expect(winners).toHaveLength(1);
        expect(results.filter((result) => result !== undefined)).toEqual(
          Array.from({ length: 49 }, () => ({ taken: winners[0] })),
        );
        expect(await all()).toEqual(winners);
      });

      it.each(STATES)(
        'frees the key of an attempt that is %s only if it does not count',
        async (state) => {
          const first = await brought(state, { idempotencyKey: 'key' });
          const free = !attemptStates[state].counts;
          expect(await journal.reserve(own({ idempotencyKey: 'key' }), [])).toEqual(
            free ? undefined : { taken: first },
          );
        },
      );

      it('lets a second payment share the key of its first payment only', async () => {
        const first = await brought('signed', { idempotencyKey: 'key' });
        const other = await reserved();
        expect(
          await journal.reserve(own({ idempotencyKey: 'key', resigns: other.id }), []),
        ).toEqual({ taken: first });
        const second = await reserved({ idempotencyKey: 'key', resigns: first.id });
        expect(
          await journal.reserve(own({ idempotencyKey: 'key', resigns: first.id }), []),
        ).toEqual({ taken: second });
        expect(await journal.similar(owner, '', 'key')).toEqual([first, second]);
      });

      it('frees the key of an attempt that is released, or that drops its key', async () => {
        const first = await reserved({ idempotencyKey: 'key' });
        await journal.release(first.id);
        const { idempotencyKey: _key, ...second } = await reserved({ idempotencyKey: 'key' });
        await journal.put({ ...second, state: 'signed' });
        expect(await journal.similar(owner, '', 'key')).toEqual([]);
        const third = await reserved({ idempotencyKey: 'key' });
        expect(await journal.similar(owner, '', 'key')).toEqual([third]);
      });

      it('keeps keys apart for each wallet and network', async () => {
        for (const over of [{}, { wallet: randomUUID() }, { network: 'another' }])
          await reserved({ idempotencyKey: 'key', ...over });
      });
    });

    describe('the table of states', () => {
      const pairs = STATES.flatMap((from) =>
        STATES.map((to) => [from, to, whatBecomes(from, to)] as const),
      );

      it.each(pairs)(
        'follows the table for an attempt that is %s and is put as %s: %s the stored attempt',
        async (from, to, what) => {
          const before = await brought(from, { idempotencyKey: 'key' });
          const { idempotencyKey: _key, ...next } = fullAttemptOf({
            ...before,
            state: to,
            delivered: false,
            toldAt: NOW,
          });
          const put = journal.put(next);
          if (what === 'is refused, and leaves') await expect(put).rejects.toThrow(before.id);
          else await put;
          expect(await all()).toStrictEqual([what === 'replaces' ? next : before]);
          expect(await journal.similar(owner, '', 'key')).toHaveLength(what === 'replaces' ? 0 : 1);
        },
      );

      it.each(STATES)(
        'releases an attempt that is %s as the table of states says',
        async (state) => {
          const attempt = await brought(state);
          await journal.release(attempt.id);
          expect(await all()).toEqual(attemptStates[state].release ? [] : [attempt]);
          expect(await used(dayCap(0n))).toBe(
            attemptStates[state].counts && !attemptStates[state].release ? 10_000n : 0n,
          );
        },
      );

      it.each(STATES)('refuses to put a released attempt as %s', async (state) => {
        const released = await reserved({ idempotencyKey: 'key' });
        await journal.release(released.id);
        await expect(journal.put({ ...released, state })).rejects.toThrow();
        expect(await all()).toEqual([]);
        expect(await journal.similar(owner, released.fingerprint, undefined)).toEqual([]);
        expect(await journal.similar(owner, '', 'key')).toEqual([]);
        expect(await used(dayCap(0n))).toBe(0n);
      });

      it('keeps the first of two decisions', async () => {
        const signed = await brought('signed');
        await Promise.all([
          journal.put({ ...signed, state: 'settled' }),
          journal.put({ ...signed, state: 'unsettled' }),
        ]);
        const [decided] = await all();
        expect(['settled', 'unsettled']).toContain(decided?.state);
        await journal.put({
          ...signed,
          state: decided?.state === 'settled' ? 'unsettled' : 'settled',
        });
        expect(await all()).toEqual([decided]);
      });

      it('keeps either the signature or the release of an attempt, not both', async () => {
        for (let round = 0; round < 20; round += 1) {
          const attempt = await reserved();
          const [put] = await Promise.allSettled([
            journal.put({ ...attempt, state: 'signed' }),
            journal.release(attempt.id),
          ]);
          expect((await all()).filter(({ id }) => id === attempt.id)).toHaveLength(
            put.status === 'fulfilled' ? 1 : 0,
          );
        }
      });

      it('releases nothing for an unknown id', async () => {
        const kept = await reserved();
        await journal.release(randomUUID());
        expect(await all()).toEqual([kept]);
      });
    });

    describe('a swap that may still land', () => {
      const swap = signedSwapOf();
      const outcome = { state: 'failed', code: 'swap_expired' } as const;
      const swapping = swapCost(40);
      /** Returns an attempt as another process listed it, and as it stands with a signed swap. */
      const overtaken = async () => {
        const listed = await reserved({ swapping });
        const standing = { ...listed, swap };
        await journal.put(standing);
        return { listed, standing };
      };
      const price = 10_000n;

      it('keeps its attempt from release, reserved or abandoned', async () => {
        const { standing } = await overtaken();
        await journal.release(standing.id);
        expect([await all(), await used(dayCap(0n))]).toEqual([[standing], price + 41n]);
        await journal.put({ ...standing, state: 'abandoned' });
        await journal.release(standing.id);
        expect([await all(), await used(dayCap(0n))]).toEqual([
          [{ ...standing, state: 'abandoned' }],
          41n,
        ]);
      });

      it.each<[string, Partial<Attempt>]>([
        ['abandoned, from an older record', { state: 'abandoned' }],
        ['unpaid, from an older record', { state: 'unpaid', swapped: swapCost(1) }],
        [
          'abandoned, with the swap before it',
          { state: 'abandoned', swap: { ...swap, signature: 'the one before' } },
        ],
        [
          'unpaid, with the outcome of the swap before it',
          { state: 'unpaid', swap: { ...swap, signature: 'the one before', outcome } },
        ],
        ['unpaid, without its outcome', { state: 'unpaid', swap }],
      ])('refuses to end its attempt as %s', async (_, end) => {
        const { listed, standing } = await overtaken();
        await expect(journal.put({ ...listed, ...end })).rejects.toThrow(standing.id);
        expect([await all(), await used(dayCap(0n))]).toEqual([[standing], price + 41n]);
      });

      it('lets its attempt end and be released once it is decided', async () => {
        const { standing } = await overtaken();
        await journal.put({ ...standing, state: 'abandoned' });
        const { swapping: _bound, ...ended } = {
          ...standing,
          state: 'abandoned' as const,
          swap: { ...swap, outcome },
        };
        await journal.put(ended);
        expect(await all()).toEqual([ended]);
        await journal.release(ended.id);
        expect(await all()).toEqual([]);
        const second = (await overtaken()).standing;
        const unpaid: Attempt = {
          ...second,
          state: 'unpaid',
          swap: { ...swap, outcome },
          swapped: swapCost(1),
        };
        await journal.put(unpaid);
        expect(await all()).toEqual([unpaid]);
      });

      it('writes its outcome and the cost of the next swap at once, under the caps', async () => {
        const { standing } = await overtaken();
        const next: Attempt = { ...standing, swap: { ...swap, outcome }, swapping: swapCost(50) };
        expect(await journal.raise(next, [dayCap(price + 50n)])).toEqual({
          cap: dayCap(price + 50n),
          used: 0n,
        });
        expect(await all()).toEqual([standing]);
        expect(await journal.raise(next, [dayCap(price + 51n)])).toBeUndefined();
        expect(await all()).toEqual([next]);
      });

      it('keeps either the signed swap or the end of its attempt, not both', async () => {
        for (let round = 0; round < 20; round += 1) {
          const attempt = await reserved({ swapping });
          const end =
            round % 2 === 0
              ? journal.release(attempt.id)
              : journal.put({ ...attempt, state: 'unpaid', swapped: swapCost(1) });
          const [put] = await Promise.allSettled([journal.put({ ...attempt, swap }), end]);
          const stands = (await all()).find(({ id }) => id === attempt.id);
          expect(stands?.swap).toEqual(put.status === 'fulfilled' ? swap : undefined);
        }
      });
    });

    describe('finding attempts', () => {
      it('lists attempts in the order of their reservation', async () => {
        const made: Attempt[] = [];
        for (let index = 0; index < 25; index += 1)
          made.push(await reserved({ at: NOW - (index % 7) * 1_000 }));
        for (const index of [20, 3, 11]) {
          const next: Attempt = { ...made[index]!, state: 'signed' };
          await journal.put(next);
          made[index] = next;
        }
        expect(await all()).toEqual(made);
        expect(await journal.similar(owner, 'fingerprint', undefined)).toEqual(made);
        expect(await listOf(journal.attempts(owner, { state: 'signed' }))).toEqual([
          made[3],
          made[11],
          made[20],
        ]);
      });

      it('lists each owner of an open attempt once', async () => {
        // All tests may use the same store.
        const strangers = [randomUUID(), randomUUID(), randomUUID()].map((wallet): Owner => ({
          wallet,
          network: 'network',
        }));
        const ownersHere = async () => {
          const all = await listOf(journal.owners?.() ?? noOwners());
          return all.filter(
            ({ wallet }) =>
              wallet === owner.wallet || strangers.some((stranger) => stranger.wallet === wallet),
          );
        };
        expect(await ownersHere()).toEqual([]);
        const first = await reserved();
        await brought('signed');
        await brought('abandoned', { ...strangers[0] });
        await brought('settled', { ...strangers[1] });
        await brought('unsettled', { ...strangers[2] });
        await brought('signed', { network: 'another' });
        const found = (await ownersHere()).map(({ wallet, network }) => `${network} ${wallet}`);
        expect(found.sort()).toEqual(
          [
            `another ${owner.wallet}`,
            `network ${strangers[0]?.wallet ?? ''}`,
            `network ${owner.wallet}`,
          ].sort(),
        );
        await journal.release(first.id);
        expect(await ownersHere()).toHaveLength(3);
      });

      it('filters by state and by time together', async () => {
        const [a, b, c] = [
          await brought('signed', { at: NOW - 1, leftAt: NOW + 1 }),
          await brought('signed', { at: NOW }),
          await brought('settled', { at: NOW + 1 }),
        ];
        const ids = (filter: Parameters<Journal['attempts']>[1]) =>
          idsOf(journal.attempts(owner, filter));
        expect(await ids({})).toEqual([a.id, b.id, c.id]);
        expect(await ids({ state: 'signed' })).toEqual([a.id, b.id]);
        expect(await ids({ since: NOW })).toEqual([b.id, c.id]);
        expect(await ids({ state: 'signed', since: NOW })).toEqual([b.id]);
        expect(await ids({ state: 'abandoned' })).toEqual([]);
      });

      it('lists all of 1,200 attempts', async () => {
        const many = Array.from({ length: 1_200 }, () => own());
        await Promise.all(many.map((attempt) => journal.reserve(attempt, [])));
        expect((await idsOf(journal.attempts(owner))).sort()).toEqual(
          many.map(({ id }) => id).sort(),
        );
      });

      it('finds attempts by the key of a call, or else by its fingerprint', async () => {
        const plain = await reserved();
        const keyed = await reserved({ idempotencyKey: 'key' });
        const other = await reserved({ idempotencyKey: 'other key', fingerprint: 'other' });
        const similar = async (...args: [string, string | undefined]) =>
          (await journal.similar(owner, ...args)).map(({ id }) => id);
        expect(await similar('fingerprint', undefined)).toEqual([plain.id, keyed.id]);
        expect(await similar('anything', 'key')).toEqual([keyed.id]);
        expect(await similar('other', 'other key')).toEqual([other.id]);
        expect(await similar('fingerprint', 'no such key')).toEqual([]);
        expect(await similar('key', undefined)).toEqual([]);
      });

      it('omits delivered attempts for a call without a key, except second payments', async () => {
        const first = await brought('signed');
        const second = await brought('settled', { resigns: first.id });
        const third = await brought('settled');
        for (const delivered of [second, third])
          await journal.put({ ...delivered, delivered: true });
        const found = async () =>
          (await journal.similar(owner, first.fingerprint, undefined)).map(({ id }) => id);
        expect(await found()).toEqual([first.id, second.id]);
        await journal.put({ ...third, delivered: false });
        expect(await found()).toEqual([first.id, second.id, third.id]);
      });

      it('finds attempts of the owner alone', async () => {
        const [wallet, network] = [{ wallet: randomUUID() }, { network: 'another' }];
        const first = await reserved({ idempotencyKey: 'key' });
        const strangers = [
          await reserved({ ...wallet, idempotencyKey: 'key' }),
          await reserved({ ...network, idempotencyKey: 'key' }),
        ];
        for (const mine of [first, ...strangers]) {
          expect(await listOf(journal.attempts(mine))).toEqual([mine]);
          expect(await journal.similar(mine, mine.fingerprint, undefined)).toEqual([mine]);
          expect(await journal.similar(mine, '', 'key')).toEqual([mine]);
          expect(await journal.used(mine, [dayCap(0n), totalCap(0n)], NOW)).toEqual([
            10_000n,
            10_000n,
          ]);
        }
        expect(
          await journal.reserve(own({ wallet: randomUUID() }), [dayCap(10_000n)]),
        ).toBeUndefined();
      });

      it('lists attempts while they change', async () => {
        const first = await reserved();
        await reserved();
        const seen: string[] = [];
        for await (const { id } of journal.attempts(owner)) {
          seen.push(id);
          await journal.put({ ...first, state: 'signed' });
        }
        expect(new Set(seen).size).toBe(seen.length);
        expect(seen).toContain(first.id);
      });
    });

    describe('stored attempts', () => {
      const bare = () => {
        const { microUsd: _price, ...rest } = own();
        return rest;
      };
      const undefinedFields = () => {
        const attempt = bare();
        for (const field of [
          'toldAt',
          'microUsd',
          'swap',
          'payment',
          'receipt',
          'idempotencyKey',
          'resigns',
        ])
          Reflect.set(attempt, field, undefined);
        return attempt;
      };

      it.each([
        ['an attempt with every field', () => fullAttemptOf(owner)],
        ['an attempt with required fields only', bare],
        ['an attempt with undefined fields, as absent fields', undefinedFields],
      ])('keeps exactly %s', async (_what, make) => {
        const attempt = make();
        const expected: unknown = JSON.parse(JSON.stringify(attempt));
        expect(await journal.reserve(attempt, [])).toBeUndefined();
        expect(await all()).toStrictEqual([expected]);
        expect(await journal.similar(owner, attempt.fingerprint, undefined)).toStrictEqual([
          expected,
        ]);
        const next = own({ id: attempt.id, state: attempt.state });
        await journal.put(next);
        expect(await all()).toStrictEqual([next]);
        await journal.put(attempt);
        expect(await all()).toStrictEqual([expected]);
      });

      it('keeps an attempt even if the caller changes its object afterwards', async () => {
        const attempt = own();
        await journal.reserve(attempt, []);
        Reflect.set(attempt, 'microUsd', '0');
        expect((await all())[0]?.microUsd).toBe('10000');
      });

      it('keeps an attempt even if the caller changes an object that the journal returned', async () => {
        const key = { idempotencyKey: 'key' };
        const attempt = await brought('signed', key);
        const taken = await journal.reserve(own(key), []);
        const found = await journal.similar(owner, attempt.fingerprint, 'key');
        for (const given of [...(await all()), ...found, ...Object.values(taken ?? {})])
          Reflect.set(given, 'state', 'unsettled');
        expect((await all())[0]?.state).toBe('signed');
        expect(await journal.reserve(own(key), [])).toMatchObject({ taken: { state: 'signed' } });
      });
    });

    if (durable) {
      describe('a durable journal', () => {
        it('returns everything when it is opened again', async () => {
          const cap = dayCap(200_000n);
          const full = fullAttemptOf({ ...owner, microUsd: '7' });
          await journal.reserve(full, []);
          for (const state of STATES)
            await brought(state, { idempotencyKey: `key of ${state}`, fingerprint: state });
          const released = await reserved({ idempotencyKey: 'key' });
          await journal.release(released.id);
          const before = await all();
          expect(before).toHaveLength(1 + STATES.length);
          await opened.close();
          opened = await reopened(opened);
          journal = opened.journal;
          expect(await all()).toStrictEqual(before);
          expect(await used(cap)).toBe(30_007n);
          expect(await journal.similar(owner, 'signed', undefined)).toEqual(
            before.filter(({ state }) => state === 'signed'),
          );
          expect(await journal.reserve(own({ idempotencyKey: 'key of signed' }), [])).toMatchObject(
            { taken: { state: 'signed' } },
          );
          expect(await journal.reserve(own({ idempotencyKey: 'key' }), [])).toBeUndefined();
          await expect(journal.put(released)).rejects.toThrow();
          expect(await journal.reserve(own({ microUsd: '159994' }), [cap])).toEqual({
            cap,
            used: 40_007n,
          });
        });

        it('counts each simultaneous attempt once after it is opened again', async () => {
          const cap = dayCap(1_000_000n);
          await Promise.all(Array.from({ length: 200 }, () => journal.reserve(own(), [cap])));
          await opened.close();
          opened = await reopened(opened);
          journal = opened.journal;
          expect(await used(cap)).toBe(1_000_000n);
          expect(await journal.reserve(own({ microUsd: '1' }), [cap])).toEqual({
            cap,
            used: 1_000_000n,
          });
        });
      });
    }
  });
}

export async function reopened({ reopen }: OpenJournal): Promise<OpenJournal> {
  if (reopen === undefined)
    throw new Error('A durable journal, or one for several processes, needs `reopen` here.');
  return reopen();
}
