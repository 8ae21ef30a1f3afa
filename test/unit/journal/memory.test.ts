import { describe, expect, it } from 'vitest';
import { memoryJournal } from '../../../src/journal/memory.js';
import type { Attempt } from '../../../src/journal/types.js';
import { attemptOf, DAY_MS, dayCap, idsOf, NOW, totalCap } from '../../helpers/attempts.js';

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
  it('drops the oldest closed attempts beyond 10000, once no cap counts them', async () => {
    const journal = await fill(10_050, () => ({ ...delivered, ...old }));
    await journal.reserve(attemptOf(), [dayCap(10n ** 9n)]);
    const left = await idsOf(journal.attempts(OWNER));
    expect(left).toHaveLength(10_000);
    expect(left[0]).toBe('old 51');
    expect(left.filter((id) => id.startsWith('old'))).toHaveLength(9_999);
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
    const journal = await fill(10_010, () => ({ ...old, state: 'signed' }));
    for (const id of ['old 7', 'old 8'])
      await journal.put(attemptOf({ ...old, id, state: 'unsettled' }));
    await journal.put(attemptOf({ ...old, id: 'old 9', ...delivered }));
    await journal.put(attemptOf({ ...old, id: 'old 9', ...delivered, delivered: false }));
    await journal.reserve(attemptOf(), []);
    const left = await idsOf(journal.attempts(OWNER));
    expect(left.slice(6, 9)).toEqual(['old 6', 'old 9', 'old 10']);
    expect(left).toHaveLength(10_009);
  });

  it('never makes a cap with a window forget, also where a payment without a price, or another client, brings no caps', async () => {
    const journal = memoryJournal();
    await journal.reserve(attemptOf({ ...delivered, microUsd: '1', at: NOW - 40 * DAY_MS }), [
      dayCap(5n, { windowMs: 30 * DAY_MS }),
    ]);
    for (let index = 0; index < 10_050; index += 1)
      await journal.reserve(attemptOf({ ...delivered, microUsd: '1', at: NOW - 29 * DAY_MS }), []);
    expect(await journal.used(OWNER, [dayCap(1n, { windowMs: 30 * DAY_MS })], NOW)).toEqual([
      10_050n,
    ]);
  });

  it('carries what is dropped in the caps without a window, each by what it counts, and for each owner', async () => {
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
    ];
    const journal = await fill(12_000, (index) => ({
      ...old,
      ...places[index % 3],
      ...(index % 5 === 0 ? { state: 'unsettled' } : delivered),
      wallet: index % 7 === 0 ? 'other' : 'wallet',
      amount: String(index),
      microUsd: String(2 * index),
    }));
    const others = { ...OWNER, wallet: 'other' };
    const before = [await journal.used(OWNER, caps, NOW), await journal.used(others, caps, NOW)];
    await journal.reserve(attemptOf({ microUsd: '0', amount: '0', wallet: 'third' }), []);
    expect([
      ...(await idsOf(journal.attempts(OWNER))),
      ...(await idsOf(journal.attempts(others))),
    ]).toHaveLength(9_999);
    expect([await journal.used(OWNER, caps, NOW), await journal.used(others, caps, NOW)]).toEqual(
      before,
    );
    const full = totalCap((before[0]?.[3] ?? 0n) + 9n, { host: 'a.test' });
    expect(await journal.reserve(attemptOf({ host: 'a.test', microUsd: '10' }), [full])).toEqual({
      cap: full,
      used: full.limit - 9n,
    });
    expect(
      await journal.reserve(attemptOf({ host: 'a.test', microUsd: '9' }), [full]),
    ).toBeUndefined();
  });

  it('has a window that is wider than any before count too much of what is dropped, never too little', async () => {
    const journal = await fill(10_050, () => ({ ...delivered, ...old, microUsd: '1' }));
    await journal.reserve(attemptOf({ microUsd: '1' }), []);
    const used = async (windowMs: number) =>
      (await journal.used(OWNER, [dayCap(0n, { windowMs })], NOW))[0];
    expect(await used(DAY_MS)).toBe(1n);
    expect(await used(2 * DAY_MS)).toBe(1n);
    expect(await used(2 * DAY_MS + 1)).toBe(10_051n);
  });
});
