import { memoryJournal, type AttemptFilter } from 'exact-change';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createChanges } from '../../../adapters/cli/ui/changes.js';
import { createJournalView } from '../../../adapters/cli/ui/journal-view.js';
import { createSessions } from '../../../adapters/cli/ui/sessions.js';
import { capsReader } from '../../../adapters/cli/ui/start.js';
import type { Attempt } from '../../../src/journal/types.js';
import { attemptOf, fullAttemptOf, NOW } from '../../helpers/attempts.js';
import { WALLET } from '../webhooks/signed.js';

describe('a dashboard session', () => {
  it('opens once per code within ten minutes, and ends after twelve hours', () => {
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
  /** Makes a view of a journal in memory, which records the `since` of each read. */
  function viewed(now = () => NOW) {
    const attempts = new Map<string, Attempt>();
    const reads: (number | undefined)[] = [];
    const view = createJournalView(
      {
        async *attempts(_, { since }: AttemptFilter = {}) {
          reads.push(since);
          for (const attempt of attempts.values())
            if (attempt.at >= (since ?? attempt.at)) yield attempt;
        },
      },
      async () => JSON.stringify([...attempts.values()]),
      now,
    );
    const put = async (attempt: Attempt) => {
      attempts.set(attempt.id, attempt);
      await view.refresh();
    };
    return { view, reads, attempts, put };
  }
  const paid = (id: string, over: Partial<Attempt> = {}, usd = '0.01'): Attempt => {
    const { swap: _, ...attempt } = fullAttemptOf({ id, ...over });
    const { receipt, at, url } = attempt;
    return { ...attempt, receipt: { ...receipt!, id, at, url, cost: { ...receipt!.cost, usd } } };
  };

  it('reads only recent and open attempts again, and none when nothing changed', async () => {
    const { view, reads, put } = viewed();
    await put(paid('a'));
    await view.refresh();
    expect(reads).toEqual([-Infinity]);
    await put(attemptOf({ id: 'b', state: 'reserved', at: NOW - 60_000 }));
    await put(paid('c', { at: NOW + 60_000 }));
    expect(reads.slice(1)).toEqual([NOW - 10_000, NOW - 10_000]);
  });

  it('shows attempts since the clock was set back, also once it has passed the newest one', async () => {
    let now = NOW;
    const { view, attempts, put } = viewed(() => now);
    const total = () => view.receipts({ from: 0 }).total;
    await put(paid('a'));
    now = NOW - 3_600_000;
    await put(paid('b', { at: now }));
    expect(total()).toBe(2);
    attempts.set('c', paid('c', { at: NOW - 1_800_000 }));
    now = NOW + 3_600_000;
    await view.refresh();
    expect(total()).toBe(3);
  });

  it('shows attempts since the clock was set back while no page was open', async () => {
    let now = NOW;
    const { view, attempts, put } = viewed(() => now);
    await put(paid('a'));
    attempts.set('b', paid('b', { at: NOW - 3_600_000 }));
    now = NOW - 3_300_000;
    await view.refresh();
    expect(view.receipts({ from: 0 }).total).toBe(2);
    expect(view.sums().inDays).toMatchObject({ usd: '0.02', payments: 2 });
  });

  it('shows an open attempt until it is decided or released', async () => {
    const { view, attempts, put } = viewed();
    const open = attemptOf({ id: 'a', state: 'reserved', wallet: 'mine' });
    await put(open);
    expect(view.sums('mine').open).toMatchObject([{ id: 'a', state: 'reserved' }]);
    expect(view.sums('other')).toMatchObject({ openCount: 0, receipts: 0 });
    await put(paid('a', { wallet: 'mine' }));
    expect(view.sums('mine')).toMatchObject({ openCount: 0, receipts: 1 });
    await put(attemptOf({ id: 'b', state: 'reserved' }));
    attempts.delete('b');
    await view.refresh();
    expect(view.sums().openCount).toBe(0);
  });

  it('sums exactly by day and host, and pages receipts from the newest', async () => {
    const { view, attempts } = viewed();
    for (let index = 0; index < 120; index += 1) {
      const url = `https://host-${index % 10}.test/${index}?secret=1`;
      const attempt = paid(`id-${index}`, { url, at: NOW + index }, '0.000001');
      attempts.set(attempt.id, attempt);
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

describe('the stream of changes', () => {
  afterEach(() => void vi.useRealTimers());

  it('reports changes to each reader until it leaves, and polls only for readers', async () => {
    vi.useFakeTimers();
    let [stamp, polls] = ['1', 0];
    const changes = createChanges(async () => ((polls += 1), stamp));
    const leaving = new AbortController();
    const [a, b] = [leaving.signal, new AbortController().signal].map((signal) =>
      changes.stream(signal)!.getReader(),
    );
    const next = async (reader = b!) => new TextDecoder().decode((await reader.read()).value);
    expect([await next(a), await next()]).toEqual(Array(2).fill('event: change\ndata: {}\n\n'));
    await vi.advanceTimersByTimeAsync(500);
    await next();
    stamp = '2';
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await next()).toContain('change');
    leaving.abort();
    while (!(await a!.read()).done);
    await vi.advanceTimersByTimeAsync(15_000);
    expect(await next()).toBe(': still here\n\n');
    changes.close();
    expect(changes.stream(new AbortController().signal)).toBeUndefined();
    expect(await b!.read()).toEqual({ done: true, value: undefined });
    const before = polls;
    await vi.advanceTimersByTimeAsync(5_000);
    expect(polls).toBe(before);
  });
});

describe('the caps of the dashboard', () => {
  it('are read without swaps, also when the policy has a top-up', async () => {
    const topUp = { token: 'USDC', below: '0.5', to: '2' };
    const caps = capsReader({ journal: memoryJournal(), policy: { topUp } });
    expect((await caps.of(WALLET)).map(({ cap }) => cap)).toContain('maxPerDay');
    await caps.close();
  });
});
