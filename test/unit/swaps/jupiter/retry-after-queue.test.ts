import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemRuntime, type Runtime } from '../../../../src/internal/runtime.js';
import { createRetryAfterQueue } from '../../../../src/swaps/jupiter/retry-after-queue.js';

const ADDRESS = 'https://proxy.example.com';
const TIMEOUT_MS = 20_000;

let runtime: Runtime;
let start: number;

beforeEach(() => {
  vi.useFakeTimers();
  // Queues are shared within a runtime, so a new runtime separates the tests.
  runtime = { ...systemRuntime };
  start = Date.now();
});
afterEach(() => void vi.useRealTimers());

const limiter = (timeoutMs = TIMEOUT_MS, address = ADDRESS, key = 'key') =>
  createRetryAfterQueue(address, key, timeoutMs, runtime);
const limitedFor = (seconds: number) =>
  [429, new Headers({ 'retry-after': String(seconds) })] as const;
const leftAt = (taken: Promise<void>) => taken.then(() => Date.now() - start);
const outcome = (taken: Promise<void>) =>
  leftAt(taken).catch((error: unknown) => ({ at: Date.now() - start, error }));

/** Times at which this many callers leave the queue, in milliseconds from the start. */
async function leaveAt(pauses: ReturnType<typeof limiter>, count: number): Promise<number[]> {
  const times = Array.from({ length: count }, () => leftAt(pauses.take()));
  await vi.advanceTimersByTimeAsync(60_000);
  return Promise.all(times);
}

describe('createRetryAfterQueue', () => {
  it('delays no request while the address asks for no pause', async () => {
    const pauses = limiter();
    pauses.observe(200, new Headers());
    pauses.observe(503, new Headers({ 'retry-after': '9' }));
    pauses.observe(
      200,
      new Headers({ 'x-ratelimit-remaining': '1', 'x-ratelimit-reset': '99999999999' }),
    );
    expect(await leaveAt(pauses, 500)).toEqual(Array.from({ length: 500 }, () => 0));
  });

  it.each<[string, number, Record<string, string>, number]>([
    ['seconds', 429, { 'retry-after': '3' }, 3_000],
    ['a date', 429, { 'retry-after': 'Fri, 20 Nov 2026 12:00:05 GMT' }, 5_000],
    [
      "Jupiter's reset",
      429,
      { 'x-ratelimit-reset': String(Date.parse('2026-11-20T12:00:04Z') / 1000) },
      4_000,
    ],
    ['no header', 429, {}, 1_000],
    ['invalid headers', 429, { 'retry-after': 'soon', 'x-ratelimit-reset': 'NaN' }, 1_000],
    ['a pause of zero', 429, { 'retry-after': '0' }, 0],
    ['an hour', 429, { 'retry-after': '3600' }, 10_000],
    [
      'no requests left',
      200,
      { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '1795176007' },
      7_000,
    ],
    ['no requests left and an unknown reset', 200, { 'x-ratelimit-remaining': '0' }, 0],
  ])('pauses after an answer with %s', async (_, status, headers, ms) => {
    vi.setSystemTime(Date.parse('2026-11-20T12:00:00Z'));
    start = Date.now();
    const pauses = limiter();
    pauses.observe(status, new Headers(headers));
    expect(await leaveAt(pauses, 1)).toEqual([ms]);
  });

  it('releases waiting requests in order, in shrinking steps, and then all at once again', async () => {
    const pauses = limiter();
    pauses.observe(...limitedFor(2));
    const times = await leaveAt(pauses, 200);
    expect(times.slice(0, 5)).toEqual([2_000, 2_100, 2_195, 2_285, 2_370]);
    const gaps = times.slice(1).map((at, index) => at - (times[index] ?? 0));
    expect(gaps).toEqual([...gaps].sort((a, b) => b - a));
    expect(times.at(-1)).toBeLessThan(4_000);
    start = Date.now();
    expect(await leaveAt(pauses, 200)).toEqual(Array.from({ length: 200 }, () => 0));
  });

  it('puts a new request behind the requests that are leaving', async () => {
    const pauses = limiter();
    pauses.observe(...limitedFor(1));
    const first = [leftAt(pauses.take()), leftAt(pauses.take())];
    await vi.advanceTimersByTimeAsync(1_050);
    const next = leftAt(pauses.take());
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await Promise.all([...first, next])).toEqual([1_000, 1_100, 1_195]);
  });

  it('holds back the rest when the first request is limited again', async () => {
    const pauses = limiter();
    pauses.observe(...limitedFor(1));
    const times = [1, 2, 3].map(() => leftAt(pauses.take()));
    await vi.advanceTimersByTimeAsync(1_020);
    pauses.observe(...limitedFor(2));
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await Promise.all(times)).toEqual([1_000, 3_020, 3_120]);
  });

  it('uses the longest pause of several answers', async () => {
    const pauses = limiter();
    pauses.observe(...limitedFor(5));
    pauses.observe(...limitedFor(1));
    pauses.observe(429, new Headers());
    expect(await leaveAt(pauses, 1)).toEqual([5_000]);
  });

  it('shares a pause only between clients of the same address and key', async () => {
    limiter().observe(...limitedFor(2));
    const times = [
      limiter(),
      limiter(),
      limiter(TIMEOUT_MS, ADDRESS, ''),
      limiter(TIMEOUT_MS, 'https://other.example.com'),
      createRetryAfterQueue(ADDRESS, 'key', TIMEOUT_MS, { ...systemRuntime }),
    ].map((queue) => leftAt(queue.take()));
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await Promise.all(times)).toEqual([2_000, 2_100, 0, 0, 0]);
  });

  it('refuses a request at once when its pause ends after its deadline, and reports the pause', async () => {
    limiter().observe(...limitedFor(30));
    const hasty = outcome(limiter(10_000).take());
    const patient = outcome(limiter(10_001).take());
    await vi.advanceTimersByTimeAsync(0);
    expect(await hasty).toMatchObject({
      at: 0,
      error: { code: 'rate_limited', funds: 'untouched', details: { retryAfterMs: 30_000 } },
    });
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await patient).toBe(10_000);
  });

  it('refuses a waiting request at its deadline when the pause grows or the queue is long', async () => {
    const pauses = limiter(2_000);
    pauses.observe(...limitedFor(1));
    const growing = [limiter(1_001), limiter(1_500), limiter(9_000)].map((queue) =>
      outcome(queue.take()),
    );
    await vi.advanceTimersByTimeAsync(900);
    pauses.observe(...limitedFor(4));
    await vi.advanceTimersByTimeAsync(9_000);
    expect(await Promise.all(growing)).toMatchObject([
      { at: 1_001, error: { code: 'rate_limited', details: { retryAfterMs: 3_899 } } },
      { at: 1_500, error: { code: 'rate_limited', details: { retryAfterMs: 3_400 } } },
      4_900,
    ]);
    start = Date.now();
    pauses.observe(...limitedFor(2));
    const long = Array.from({ length: 3 }, () => outcome(limiter(2_150).take()));
    await vi.advanceTimersByTimeAsync(9_000);
    expect(await Promise.all(long)).toMatchObject([
      2_000,
      2_100,
      { at: 2_150, error: { details: { retryAfterMs: 45 } } },
    ]);
  });

  it('releases a caller that aborts at once, and gives its place to the next caller', async () => {
    const pauses = limiter();
    pauses.observe(...limitedFor(2));
    const callers = [new AbortController(), new AbortController()];
    const [first, second, third] = [
      ...callers.map(({ signal }) => outcome(pauses.take(signal))),
      outcome(pauses.take()),
    ];
    await vi.advanceTimersByTimeAsync(500);
    callers[1]?.abort('enough');
    expect(await second).toEqual({ at: 500, error: 'enough' });
    callers[0]?.abort('enough too');
    expect(await first).toEqual({ at: 500, error: 'enough too' });
    await vi.advanceTimersByTimeAsync(1_500);
    expect(await third).toBe(2_000);
    await expect(pauses.take(AbortSignal.abort('before'))).rejects.toBe('before');
  });

  it('ends its pause when the clock is set back', async () => {
    const pauses = limiter();
    pauses.observe(...limitedFor(5));
    vi.setSystemTime(start - 3_600_000);
    // The clock stands still: a pause would never end.
    await pauses.take();
  });
});
