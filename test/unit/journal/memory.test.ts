import { describe, expect, it } from 'vitest';
import { memoryJournal } from '../../../src/journal/memory.js';
import type { Attempt } from '../../../src/journal/types.js';
import { takenOf } from '../../../src/policy/caps.js';
import {
  attemptOf,
  DAY_MS,
  dayCap,
  fullAttemptOf,
  idsOf,
  listOf,
  NOW,
  totalCap,
} from '../../helpers/attempts.js';

// What every journal promises is in test/contract/journal-contract.ts.

const OWNER = { wallet: 'wallet', network: 'network' };

async function fill(count: number, over: (index: number) => Partial<Attempt>) {
  const journal = memoryJournal();
  for (let index = 0; index < count; index += 1)
    await journal.reserve(attemptOf({ id: `old ${index}`, ...over(index) }), []);
  return journal;
}

const old = { at: NOW - 2 * DAY_MS, fingerprint: 'old' };
const delivered = { state: 'settled', delivered: true } as const;

describe('forgetting', () => {
  it('drops the oldest closed attempts beyond 10000', async () => {
    const journal = await fill(10_050, () => ({ ...delivered, ...old }));
    await journal.reserve(attemptOf(), [dayCap(10n ** 9n)]);
    const left = await idsOf(journal.attempts(OWNER));
    expect(left).toHaveLength(10_001);
    expect(left[0]).toBe('old 50');
  });

  it.each([
    ['reserved', { state: 'reserved' }],
    ['signed', { state: 'signed' }],
    ['abandoned, while its swap may land', { state: 'abandoned' }],
    ['settled, whose answer did not arrive', { state: 'settled', delivered: false }],
  ] as const)('never drops one that is %s', async (_what, over) => {
    const journal = await fill(10_050, () => ({ ...old, ...over }));
    await journal.reserve(attemptOf(), [dayCap(10n ** 9n)]);
    expect(await idsOf(journal.attempts(OWNER))).toHaveLength(10_051);
  });

  it('drops one only once it is closed, also among others that stay', async () => {
    const journal = await fill(10_010, () => ({ ...old, ...delivered }));
    const open = attemptOf({ ...old, id: 'open', state: 'signed' });
    await journal.reserve(open, []);
    await journal.put({ ...open, ...delivered });
    await journal.put({ ...open, ...delivered, delivered: false });
    for (let index = 0; index < 20; index += 1)
      await journal.reserve(attemptOf({ ...old, ...delivered, id: `new ${index}` }), []);
    const left = await idsOf(journal.attempts(OWNER));
    expect([left[0], left[left.length - 21], left.length]).toEqual(['old 30', 'open', 10_001]);
  });

  it('leaves what it has dropped as it was, whatever a late call puts', async () => {
    const journal = await fill(10_010, () => ({ ...delivered, ...old }));
    const before = await journal.used(OWNER, [totalCap(0n)], NOW);
    await journal.put(attemptOf({ ...old, id: 'old 3', state: 'unsettled' }));
    expect(await journal.used(OWNER, [totalCap(0n)], NOW)).toEqual(before);
    await expect(journal.put(attemptOf({ ...old, id: 'another' }))).rejects.toThrow('another');
  });

  it('keeps no bytes that no call presents again, but of the last thousand', async () => {
    const { payment, receipt } = fullAttemptOf();
    const paid = { ...delivered, ...(payment && { payment }), ...(receipt && { receipt }) };
    const journal = await fill(1_010, (index) =>
      index === 2 ? { ...paid, idempotencyKey: 'key' } : paid,
    );
    const sizes = (await listOf(journal.attempts(OWNER))).map(
      (one) => one.payment?.header.value.length,
    );
    expect([sizes[0], sizes[2], sizes[9], sizes[10]]).toEqual([0, 2_000, 0, 2_000]);
  });

  it('counts what it has dropped in each cap, by what that counts, and for each owner', async () => {
    const places = [
      { host: 'a.test', payTo: 'one', mint: 'mint' },
      { host: 'a.test', payTo: 'two', mint: 'mint' },
      { host: 'b.test', payTo: 'one', mint: 'other' },
    ];
    const caps = [
      totalCap(0n),
      totalCap(0n, { unit: 'payments' }),
      totalCap(0n, { unit: 'mint' }),
      totalCap(0n, { host: 'a.test' }),
      totalCap(0n, { payTo: 'one' }),
      totalCap(0n, { mint: 'other', unit: 'other' }),
      dayCap(0n),
      dayCap(0n, { host: 'a.test', windowMs: 3 * DAY_MS }),
    ];
    const all: Attempt[] = [];
    const journal = await fill(12_000, (index) => {
      const over = {
        ...old,
        ...places[index % 3],
        ...(index % 5 === 0 ? ({ state: 'unsettled' } as const) : delivered),
        wallet: index % 7 === 0 ? 'other' : 'wallet',
        amount: String(index),
        microUsd: String(2 * index),
      };
      all.push(attemptOf(over));
      return over;
    });
    for (const owner of [OWNER, { ...OWNER, wallet: 'other' }]) {
      const counted = all.filter((one) => one.wallet === owner.wallet && one.state === 'settled');
      const expected = caps.map((cap) =>
        cap.windowMs === DAY_MS ? 0n : counted.reduce((sum, one) => sum + takenOf(cap, one), 0n),
      );
      expect(await journal.used(owner, caps, NOW)).toEqual(expected);
    }
    const full = totalCap(((await journal.used(OWNER, caps, NOW))[3] ?? 0n) + 9n, {
      host: 'a.test',
    });
    const one = (microUsd: string) =>
      journal.reserve(attemptOf({ host: 'a.test', microUsd }), [full]);
    expect(await one('10')).toEqual({ cap: full, used: full.limit - 9n });
    expect(await one('9')).toBeUndefined();
  });
});

describe('a purchase under a key that was dropped', () => {
  const { payment, receipt } = fullAttemptOf();
  const keyed = (index: number, at = NOW): Partial<Attempt> => ({
    ...delivered,
    ...(payment && { payment }),
    ...(receipt && { receipt }),
    at,
    url: `https://api.test/${index}`,
    fingerprint: `print ${index}`,
    idempotencyKey: `key ${index}`,
  });

  it('is found by it, with what shows that it is paid, and keeps its key', async () => {
    const journal = await fill(10_010, keyed);
    const [found, ...others] = await journal.similar(OWNER, 'any', 'key 3');
    expect([found, others]).toMatchObject([
      {
        id: 'old 3',
        state: 'settled',
        delivered: true,
        url: 'https://api.test/3',
        fingerprint: 'print 3',
        idempotencyKey: 'key 3',
        payment: { payerSignature: 'payer signature', header: { value: '' } },
        receipt: { state: 'settled', payment: { payerSignature: 'payer signature' } },
      },
      [],
    ]);
    const again = attemptOf({ idempotencyKey: 'key 3' });
    expect(await journal.reserve(again, [])).toMatchObject({ taken: { id: 'old 3' } });
    expect(await journal.reserve({ ...again, resigns: 'old 3' }, [])).toBeUndefined();
    expect(await journal.similar({ ...OWNER, wallet: 'other' }, 'any', 'key 4')).toEqual([]);
  });
});
