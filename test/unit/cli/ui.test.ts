import type { AttemptFilter } from 'exact-change';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createChanges } from '../../../adapters/cli/ui/changes.js';
import { createJournalView } from '../../../adapters/cli/ui/journal-view.js';
import { createSessions } from '../../../adapters/cli/ui/sessions.js';
import type { Attempt } from '../../../src/journal/types.js';
import { attemptOf, fullAttemptOf, NOW } from '../../helpers/attempts.js';

describe('a session of the page', () => {
  it('is opened by a code once, within ten minutes, and ends after twelve hours', () => {
    let now = 0;
    const sessions = createSessions(() => now);
    const [first, late] = [sessions.newCode(), sessions.newCode()];
    const token = sessions.redeem(first) ?? '';
    expect(sessions.has(token)).toBe(true);
    expect(sessions.redeem(first)).toBeUndefined();
    for (const secret of [first, late, '', token.slice(1)])
      expect(sessions.has(secret)).toBe(false);
    expect(sessions.redeem(token)).toBeUndefined();
    now = 600_000;
    expect(sessions.redeem(late)).toBeUndefined();
    now = 12 * 3_600_000;
    expect(sessions.has(token)).toBe(false);
  });
});

describe('the view of a journal', () => {
  /** A journal in memory that says what it was asked. */
  function viewed() {
    const all = new Map<string, Attempt>();
    const asked: (number | undefined)[] = [];
    const view = createJournalView(
      {
        async *attempts(_, { since }: AttemptFilter = {}) {
          asked.push(since);
          for (const one of all.values()) if (one.at >= (since ?? one.at)) yield one;
        },
      },
      async () => JSON.stringify([...all.values()]),
      () => NOW,
    );
    const put = async (attempt: Attempt) => {
      all.set(attempt.id, attempt);
      await view.refresh();
    };
    return { view, asked, all, put };
  }
  const paid = (id: string, over: Partial<Attempt> = {}, usd = '0.01'): Attempt => {
    const { swap: _, ...attempt } = fullAttemptOf({ id, ...over });
    const { receipt, at, url } = attempt;
    return { ...attempt, receipt: { ...receipt!, id, at, url, cost: { ...receipt!.cost, usd } } };
  };

  it('reads nothing again that is decided, and nothing at all if nothing was written', async () => {
    const { view, asked, put } = viewed();
    await put(paid('a'));
    await view.refresh();
    expect(asked).toEqual([-Infinity]);
    await put(attemptOf({ id: 'b', state: 'reserved', at: NOW - 60_000 }));
    await put(paid('c', { at: NOW + 60_000 }));
    expect(asked.slice(1)).toEqual([NOW - 10_000, NOW - 10_000]);
  });

  it('shows what is open until it is decided or released', async () => {
    const { view, all, put } = viewed();
    const open = attemptOf({ id: 'a', state: 'reserved', wallet: 'mine' });
    await put(open);
    expect(view.sums('mine').open).toMatchObject([{ id: 'a', state: 'reserved' }]);
    expect(view.sums('other')).toMatchObject({ openCount: 0, receipts: 0 });
    await put(paid('a', { wallet: 'mine' }));
    expect(view.sums('mine')).toMatchObject({ openCount: 0, receipts: 1 });
    await put(attemptOf({ id: 'b', state: 'reserved' }));
    all.delete('b');
    await view.refresh();
    expect(view.sums().openCount).toBe(0);
  });

  it('sums up exactly by day, host and token, and finds receipts from the newest on', async () => {
    const { view, all } = viewed();
    for (let index = 0; index < 120; index += 1) {
      const url = `https://host-${index % 10}.test/${index}?secret=1`;
      const one = paid(`id-${index}`, { url, at: NOW + index }, '0.000001');
      all.set(one.id, one);
    }
    await view.refresh();
    const { inDays, days, hosts } = view.sums();
    expect(inDays).toMatchObject({ usd: '0.00012', payments: 120 });
    expect(days).toHaveLength(30);
    expect(hosts).toHaveLength(8);
    expect(hosts[7]).toEqual({ group: '3 others', usd: '0.000036', payments: 36 });
    const first = view.receipts({ from: 0 });
    expect(first).toMatchObject({ total: 120, from: 0, rows: { 0: { id: 'id-119' } } });
    expect(first.rows).toHaveLength(50);
    expect(view.receipts({ from: 100 }).rows).toHaveLength(20);
    expect(view.receipts({ from: 0, text: 'HOST-3.test/11' })).toMatchObject({
      total: 1,
      rows: [{ id: 'id-113', path: '/113' }],
    });
    expect(view.receipts({ from: 0, state: 'uncertain' }).total).toBe(0);
  });
});

describe('changes', () => {
  afterEach(() => void vi.useRealTimers());

  it('are told to each reader until it goes, and nothing is looked at without one', async () => {
    vi.useFakeTimers();
    let [stamp, looks] = ['1', 0];
    const changes = createChanges(async () => ((looks += 1), stamp));
    const gone = new AbortController();
    const [a, b] = [gone.signal, new AbortController().signal].map((signal) =>
      changes.stream(signal)!.getReader(),
    );
    const next = async (reader = b!) => new TextDecoder().decode((await reader.read()).value);
    expect([await next(a), await next()]).toEqual(Array(2).fill('event: change\ndata: {}\n\n'));
    await vi.advanceTimersByTimeAsync(500);
    await next();
    stamp = '2';
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await next()).toContain('change');
    gone.abort();
    while (!(await a!.read()).done);
    await vi.advanceTimersByTimeAsync(15_000);
    expect(await next()).toBe(': still here\n\n');
    changes.close();
    expect(changes.stream(new AbortController().signal)).toBeUndefined();
    expect(await b!.read()).toEqual({ done: true, value: undefined });
    const before = looks;
    await vi.advanceTimersByTimeAsync(5_000);
    expect(looks).toBe(before);
  });
});
