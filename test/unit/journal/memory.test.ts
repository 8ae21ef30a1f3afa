import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { memoryJournal } from '../../../src/journal/memory.js';
import type { Attempt, AttemptState } from '../../../src/journal/types.js';
import type { Cap } from '../../../src/policy/caps.js';

const DAY_MS = 86_400_000;
const NOW = 1_800_000_000_000;
const day = (limit: bigint): Cap => ({ name: 'maxPerDay', limit, windowMs: DAY_MS });
const host = (name: string, limit: bigint): Cap => ({ name: 'maxPerHost', limit, windowMs: DAY_MS, host: name });

const OWNER = { wallet: 'wallet', network: 'solana' };

let made = 0;
function attempt(over: Partial<Attempt> = {}): Attempt {
  made += 1;
  return {
    id: `attempt-${made}`,
    wallet: 'wallet',
    network: 'solana',
    state: 'reserved',
    delivered: false,
    url: 'https://api.test/',
    method: 'GET',
    host: 'api.test',
    fingerprint: 'fingerprint',
    at: NOW,
    mint: 'mint',
    amount: '10000',
    microUsd: '10000',
    ...over,
  };
}

async function ids(attempts: AsyncIterable<Attempt>): Promise<string[]> {
  const found: string[] = [];
  for await (const { id } of attempts) found.push(id);
  return found;
}

describe('reserving', () => {
  it('is one step: of 20 parallel payments of 0.01 under 0.05, 5 pass', async () => {
    const journal = memoryJournal();
    const blocks = await Promise.all(Array.from({ length: 20 }, () => journal.reserve(attempt(), [day(50_000n)])));
    expect(blocks.filter((block) => block === undefined)).toHaveLength(5);
    expect(blocks.filter((block) => block !== undefined)).toEqual(Array.from({ length: 15 }, () => ({ cap: day(50_000n), used: 50_000n })));
    expect(await journal.used(OWNER, [day(50_000n)], NOW)).toEqual([50_000n]);
  });

  it('holds to the unit', async () => {
    const journal = memoryJournal();
    expect(await journal.reserve(attempt({ microUsd: '49999' }), [day(50_000n)])).toBeUndefined();
    expect(await journal.reserve(attempt({ microUsd: '2' }), [day(50_000n)])).toMatchObject({ used: 49_999n });
    expect(await journal.reserve(attempt({ microUsd: '1' }), [day(50_000n)])).toBeUndefined();
    expect(await journal.reserve(attempt({ microUsd: '1' }), [day(50_000n)])).toMatchObject({ used: 50_000n });
    expect(await journal.reserve(attempt({ microUsd: '0' }), [day(50_000n)])).toBeUndefined();
  });

  it('writes nothing where any cap has no room, and names that cap', async () => {
    const journal = memoryJournal();
    const caps = [day(100_000n), host('api.test', 15_000n), host('other.test', 5_000n)];
    expect(await journal.reserve(attempt(), caps)).toBeUndefined();
    expect(await journal.reserve(attempt(), caps)).toEqual({ cap: caps[1], used: 10_000n });
    expect(await journal.reserve(attempt({ host: 'other.test' }), caps)).toEqual({ cap: caps[2], used: 0n });
    expect(await journal.reserve(attempt({ host: 'third.test' }), caps)).toBeUndefined();
    expect(await journal.used(OWNER, caps, NOW)).toEqual([20_000n, 10_000n, 0n]);
    expect(await ids(journal.attempts(OWNER))).toHaveLength(2);
  });

  it('never lets the sum above any cap, whatever the order of calls', async () => {
    const step = fc.record({
      what: fc.constantFrom('reserve', 'settle', 'unsettle', 'release'),
      which: fc.nat(30),
      cost: fc.integer({ min: 0, max: 60 }),
      host: fc.constantFrom('a.test', 'b.test'),
      after: fc.integer({ min: 0, max: DAY_MS / 3 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const journal = memoryJournal();
        const caps = [day(100n), host('a.test', 70n)];
        const open: Attempt[] = [];
        let now = NOW;
        for (const { what, which, cost, host: at, after } of steps) {
          now += after;
          const one = open[which % Math.max(1, open.length)];
          if (what === 'reserve') {
            const next = attempt({ at: now, host: at, microUsd: String(cost) });
            if ((await journal.reserve(next, caps)) === undefined) open.push(next);
          } else if (one !== undefined) {
            // The chain decides once.
            open.splice(open.indexOf(one), 1);
            if (what === 'release') await journal.release(one.id);
            else await journal.put({ ...one, state: what === 'settle' ? 'settled' : 'unsettled' });
          }
          const used = await journal.used(OWNER, caps, now);
          caps.forEach(({ limit }, index) => expect(used[index]).toBeLessThanOrEqual(limit));
        }
      }),
    );
  });

  it('gives one key to one attempt, until that has come to nothing', async () => {
    const journal = memoryJournal();
    const first = attempt({ idempotencyKey: 'key' });
    const results = await Promise.all(
      [first, attempt({ idempotencyKey: 'key' }), attempt({ idempotencyKey: 'key' })].map((one) => journal.reserve(one, [])),
    );
    expect(results).toEqual([undefined, { taken: first }, { taken: first }]);
    expect(await journal.reserve(attempt({ idempotencyKey: 'key', wallet: 'other' }), [])).toBeUndefined();
    await journal.put({ ...first, state: 'unsettled' });
    expect(await journal.reserve(attempt({ idempotencyKey: 'key' }), [])).toBeUndefined();
  });

  it('gives the key of an attempt that drops it to the next', async () => {
    const journal = memoryJournal();
    const first = attempt({ idempotencyKey: 'key' });
    const { idempotencyKey: _key, ...dropped } = first;
    await journal.reserve(first, []);
    await journal.put(dropped);
    expect(await journal.similar(OWNER, '', 'key')).toEqual([]);
    expect(await journal.reserve(attempt({ idempotencyKey: 'key' }), [])).toBeUndefined();
    expect(await journal.similar(OWNER, 'fingerprint', undefined)).toHaveLength(2);
  });

  it('takes no negative cost for credit', async () => {
    const journal = memoryJournal();
    await expect(journal.reserve(attempt({ microUsd: '-1' }), [day(10n)])).rejects.toThrow(RangeError);
    expect(await journal.used(OWNER, [day(10n)], NOW)).toEqual([0n]);
  });

  it('counts each wallet by itself, and each network', async () => {
    const journal = memoryJournal();
    expect(await journal.reserve(attempt(), [day(10_000n)])).toBeUndefined();
    expect(await journal.reserve(attempt({ wallet: 'other' }), [day(10_000n)])).toBeUndefined();
    expect(await journal.reserve(attempt({ network: 'other' }), [day(10_000n)])).toBeUndefined();
    expect(await journal.reserve(attempt(), [day(10_000n)])).toBeDefined();
  });
});

describe('the rolling window', () => {
  it.each([
    [0, false],
    [1, false],
    [DAY_MS - 1, false],
    [DAY_MS, true],
    [DAY_MS + 1, true],
    [-60_000, false],
  ])('%d ms after a payment its money is free again: %s', async (later, free) => {
    const journal = memoryJournal();
    await journal.reserve(attempt({ state: 'settled' }), [day(10_000n)]);
    expect(await journal.used(OWNER, [day(10_000n)], NOW + later)).toEqual([free ? 0n : 10_000n]);
    expect((await journal.reserve(attempt({ at: NOW + later }), [day(10_000n)])) === undefined).toBe(free);
  });

  it.each([
    ['reserved', 10_000n],
    ['signed', 10_000n],
    ['settled', 10_000n],
    ['unsettled', 0n],
  ] as const)('a payment that is %s uses %s', async (state: AttemptState, used) => {
    const journal = memoryJournal();
    const one = attempt();
    await journal.reserve(one, []);
    await journal.put({ ...one, state });
    expect(await journal.used(OWNER, [day(1n), host('api.test', 1n), host('other.test', 1n)], NOW)).toEqual([used, used, 0n]);
  });

  it('a payment without a price uses none, and one that is released none any more', async () => {
    const journal = memoryJournal();
    const { microUsd: _microUsd, ...unpriced } = attempt();
    expect(await journal.reserve(unpriced, [day(0n)])).toBeUndefined();
    const one = attempt();
    await journal.reserve(one, [day(10_000n)]);
    await journal.release(one.id);
    await journal.release('never there');
    expect(await journal.used(OWNER, [day(1n)], NOW)).toEqual([0n]);
    expect(await ids(journal.attempts(OWNER))).toEqual([unpriced.id]);
  });
});

describe('finding attempts', () => {
  it('lists them in the order in which they were made, also after changes and while they change', async () => {
    const journal = memoryJournal();
    const all = [attempt(), attempt({ wallet: 'other' }), attempt()];
    for (const one of all) await journal.reserve(one, []);
    const [first, , third] = all.map(({ id }) => id);
    await journal.put({ ...attempt(), id: first ?? '', state: 'settled' });
    expect(await ids(journal.attempts(OWNER))).toEqual([first, third]);
    expect(await ids(journal.attempts(OWNER, 'settled'))).toEqual([first]);
    const seen: string[] = [];
    for await (const { id } of journal.attempts(OWNER)) {
      seen.push(id);
      await journal.release(third ?? '');
      await journal.reserve(attempt(), []);
    }
    expect(seen).toEqual([first, third]);
  });

  it("finds those like a call by its key where it has one, else by its fingerprint; the wallet's own, in order", async () => {
    const journal = memoryJournal();
    const plain = attempt();
    const keyed = attempt({ idempotencyKey: 'key' });
    const otherKey = attempt({ idempotencyKey: 'other key', fingerprint: 'other' });
    const foreign = attempt({ wallet: 'other', idempotencyKey: 'key' });
    for (const one of [plain, keyed, otherKey, foreign]) await journal.reserve(one, []);
    const similar = async (...args: [string, string | undefined]) => (await journal.similar(OWNER, ...args)).map(({ id }) => id);
    expect(await similar('fingerprint', undefined)).toEqual([plain.id, keyed.id]);
    expect(await similar('anything', 'key')).toEqual([keyed.id]);
    expect(await similar('fingerprint', 'no such key')).toEqual([]);
    expect(await similar('key', undefined)).toEqual([]);
    await journal.release(plain.id);
    expect(await similar('fingerprint', undefined)).toEqual([keyed.id]);
    await journal.put({ ...keyed, state: 'settled' });
    expect((await journal.similar(OWNER, 'fingerprint', undefined)).map(({ state }) => state)).toEqual(['settled']);
  });
});

describe('forgetting', () => {
  const fill = async (count: number, over: Partial<Attempt>) => {
    const journal = memoryJournal();
    for (let index = 0; index < count; index += 1) await journal.put(attempt(over));
    return journal;
  };

  it('drops the oldest closed attempts beyond 10000, once no cap counts them', async () => {
    const journal = await fill(10_050, { state: 'settled', at: NOW - 2 * DAY_MS, fingerprint: 'old' });
    await journal.reserve(attempt(), [day(10n ** 9n)]);
    expect(await ids(journal.attempts(OWNER))).toHaveLength(10_000);
    expect(await journal.similar(OWNER, 'old', undefined)).toHaveLength(9_999);
  });

  it.each(['reserved', 'signed'] as const)('never drops one that is %s: the chain has not decided', async (state) => {
    const journal = await fill(10_050, { state, at: NOW - 9 * DAY_MS });
    await journal.reserve(attempt(), [day(10n ** 9n)]);
    expect(await ids(journal.attempts(OWNER))).toHaveLength(10_051);
  });

  it('never makes a cap forget, also where a payment without a price, or another client, brings no caps', async () => {
    const journal = await fill(10_050, { state: 'settled', at: NOW - 1_000, microUsd: '1' });
    await journal.reserve(attempt({ microUsd: '1' }), []);
    expect(await journal.used(OWNER, [day(1n)], NOW)).toEqual([10_051n]);
  });
});
