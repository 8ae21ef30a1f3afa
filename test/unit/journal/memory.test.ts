import { describe, expect, it } from 'vitest';
import { createMemoryJournal } from '../../../src/journal/memory.js';
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

// Promises of every journal are tested in test/contract/journal-contract.ts.

const OWNER = { wallet: 'wallet', network: 'network' };

async function fill(count: number, over: (index: number) => Partial<Attempt>) {
  const journal = createMemoryJournal();
  for (let index = 0; index < count; index += 1)
    await journal.reserve(attemptOf({ id: `old ${index}`, ...over(index) }), []);
  return journal;
}

const old = { at: NOW - 2 * DAY_MS, fingerprint: 'old' };
const delivered = { state: 'settled', delivered: true } as const;

describe('a memory journal with many attempts', () => {
  it('drops the oldest closed attempts beyond 10000, and no attempt that is not closed', async () => {
    const open = [
      { state: 'reserved' },
      { state: 'signed' },
      // Its swap may land.
      { state: 'abandoned' },
      { state: 'settled', delivered: false },
    ] as const;
    const journal = await fill(10_054, (index) => ({ ...delivered, ...old, ...open[index] }));
    await journal.reserve(attemptOf(), [dayCap(10n ** 9n)]);
    const left = await idsOf(journal.attempts(OWNER));
    expect(left).toHaveLength(10_005);
    expect(left.slice(0, 5)).toEqual(['old 0', 'old 1', 'old 2', 'old 3', 'old 54']);
  });

  it('drops only the oldest closed attempts when a newer attempt closes late', async () => {
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

  it('ignores a late write to a dropped attempt, and rejects a write to an unknown attempt', async () => {
    const journal = await fill(10_010, () => ({ ...delivered, ...old }));
    const before = await journal.used(OWNER, [totalCap(0n)], NOW);
    await journal.put(attemptOf({ ...old, id: 'old 3', state: 'unsettled' }));
    expect(await journal.used(OWNER, [totalCap(0n)], NOW)).toEqual(before);
    await expect(journal.put(attemptOf({ ...old, id: 'another' }))).rejects.toThrow('another');
  });

  it('drops the payment bytes of delivered attempts without a key, except the last thousand', async () => {
    const { payment, receipt } = fullAttemptOf();
    const paid = { ...delivered, ...(payment && { payment }), ...(receipt && { receipt }) };
    const journal = await fill(1_010, (index) =>
      index === 2 ? { ...paid, idempotencyKey: 'key' } : paid,
    );
    const sizes = (await listOf(journal.attempts(OWNER))).map(
      (attempt) => attempt.payment?.header.value.length,
    );
    expect([sizes[0], sizes[2], sizes[9], sizes[10]]).toEqual([0, 2_000, 0, 2_000]);
  });

  it('counts dropped attempts in each cap, by its unit and scope, and for each owner', async () => {
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
    const attempts: Attempt[] = [];
    const journal = await fill(12_000, (index) => {
      const over = {
        ...old,
        ...places[index % 3],
        ...(index % 5 === 0 ? ({ state: 'unsettled' } as const) : delivered),
        wallet: index % 7 === 0 ? 'other' : 'wallet',
        amount: String(index),
        microUsd: String(2 * index),
      };
      attempts.push(attemptOf(over));
      return over;
    });
    for (const owner of [OWNER, { ...OWNER, wallet: 'other' }]) {
      const counted = attempts.filter(
        (attempt) => attempt.wallet === owner.wallet && attempt.state === 'settled',
      );
      const expected = caps.map((cap) =>
        cap.windowMs === DAY_MS
          ? 0n
          : counted.reduce((sum, attempt) => sum + takenOf(cap, attempt), 0n),
      );
      expect(await journal.used(owner, caps, NOW)).toEqual(expected);
    }
    const full = totalCap(((await journal.used(OWNER, caps, NOW))[3] ?? 0n) + 9n, {
      host: 'a.test',
    });
    const reserve = (microUsd: string) =>
      journal.reserve(attemptOf({ host: 'a.test', microUsd }), [full]);
    expect(await reserve('10')).toEqual({ cap: full, used: full.limit - 9n });
    expect(await reserve('9')).toBeUndefined();
  });
});

describe('a dropped purchase with a key', () => {
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

  it('is found by its key with the proof that it is paid, and keeps the key taken', async () => {
    const journal = await fill(10_010, keyed);
    const [found, ...rest] = await journal.similar(OWNER, 'any', 'key 3');
    expect([found, rest]).toMatchObject([
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
