import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { startLowPriority } from '../../../../src/internal/abort.js';
import { systemRuntime } from '../../../../src/internal/runtime.js';
import { createLimiter, jupiterLimiter } from '../../../../src/swaps/jupiter/limiter.js';
import { fakeRuntime } from '../support.js';

const KEYLESS = { perWindow: 30, burst: 5 };

async function leaveAt(
  limiter: ReturnType<typeof createLimiter>,
  runtime: ReturnType<typeof fakeRuntime>,
  count: number,
) {
  const start = runtime.now();
  const times: number[] = [];
  for (let n = 0; n < count; n++) {
    await limiter.take();
    times.push(runtime.now() - start);
  }
  return times;
}

describe('createLimiter', () => {
  it('releases a burst at once, and then a request for each share of the window', async () => {
    const runtime = fakeRuntime();
    expect(await leaveAt(createLimiter(KEYLESS, runtime, false), runtime, 8)).toEqual([
      0, 0, 0, 0, 0, 2_000, 4_000, 6_000,
    ]);
  });

  it('never releases more requests in a window than the plan has', async () => {
    const runtime = fakeRuntime();
    const times = await leaveAt(createLimiter(KEYLESS, runtime, false), runtime, 120);
    for (const at of times)
      expect(
        times.filter((other) => other >= at && other < at + 60_000).length,
      ).toBeLessThanOrEqual(30);
    expect(times.at(-1)).toBeLessThan(4 * 60_000);
  });

  it('serves requests in the order of asking', async () => {
    const limiter = createLimiter(KEYLESS, fakeRuntime(), false);
    const order: number[] = [];
    await Promise.all(
      Array.from({ length: 12 }, (_, n) => limiter.take().then(() => order.push(n))),
    );
    expect(order).toEqual(Array.from({ length: 12 }, (_, n) => n));
  });

  it('makes low-priority requests wait, and keeps a share of each burst and window for other requests', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const limiter = createLimiter(KEYLESS, systemRuntime, false);
    const { signal } = startLowPriority(new AbortController().signal);
    const start = Date.now();
    const left = { first: new Array<number>(), second: new Array<number>() };
    const take = async (line: keyof typeof left, own?: AbortSignal) => {
      await limiter.take(own);
      left[line].push(Date.now() - start);
    };
    const second = Array.from({ length: 40 }, () => take('second', signal));
    await vi.advanceTimersByTimeAsync(0);
    expect(left.second).toEqual([0, 0]);
    const first = Array.from({ length: 5 }, () => take('first'));
    await vi.advanceTimersByTimeAsync(240_000);
    await Promise.all([...first, ...second]);
    expect(left.first).toEqual([0, 0, 0, 2_000, 4_000]);
    expect(left.second.slice(0, 4)).toEqual([0, 0, 14_400, 16_800]);
    // However many low-priority requests wait, five of a window remain for other requests.
    for (const at of left.second)
      expect(
        left.second.filter((other) => other >= at && other < at + 60_000).length,
      ).toBeLessThanOrEqual(25);
  });

  it('releases a caller that aborts at once, and gives its place to the next caller', async () => {
    const runtime = fakeRuntime(2_000);
    const limiter = createLimiter(KEYLESS, runtime, false);
    for (let n = 0; n < 5; n++) await limiter.take();
    const [first, second] = [new AbortController(), new AbortController()];
    const waiting = [limiter.take(first.signal), limiter.take(second.signal)];
    const reason = new Error('enough');
    second.abort(reason);
    await expect(waiting[1]).rejects.toBe(reason);
    first.abort(reason);
    await expect(waiting[0]).rejects.toBe(reason);
    runtime.advance(60_000);
    await limiter.take();
    await expect(limiter.take(AbortSignal.abort(reason))).rejects.toBe(reason);
  });

  it('stops until the reset that an answer names, for a minute at most', async () => {
    const runtime = fakeRuntime();
    const limiter = createLimiter(KEYLESS, runtime, false);
    const seconds = (ms: number) => String((runtime.now() + ms) / 1000);
    limiter.observe(429, new Headers({ 'x-ratelimit-reset': seconds(9_000) }));
    expect(await leaveAt(limiter, runtime, 1)).toEqual([9_000]);
    limiter.observe(
      200,
      new Headers({ 'x-ratelimit-remaining': '-2', 'x-ratelimit-reset': seconds(3_600_000) }),
    );
    expect(await leaveAt(limiter, runtime, 1)).toEqual([60_000]);
    limiter.observe(
      200,
      new Headers({ 'x-ratelimit-remaining': '3', 'x-ratelimit-reset': seconds(3_600_000) }),
    );
    expect(await leaveAt(limiter, runtime, 1)).toEqual([0]);
  });

  it('learns a larger plan from answers only if it has a key', async () => {
    const headers = new Headers({ 'x-ratelimit-remaining': '599', 'x-ratelimit-current': '1' });
    const runtime = fakeRuntime();
    const keyed = createLimiter({ perWindow: 60, burst: 10 }, runtime, true);
    const keyless = createLimiter(KEYLESS, runtime, false);
    keyed.observe(200, headers);
    keyless.observe(200, headers);
    expect((await leaveAt(keyed, runtime, 100)).at(-1)).toBe(0);
    expect((await leaveAt(keyless, runtime, 6)).at(-1)).toBe(2_000);
  });

  it('ignores invalid headers', async () => {
    const runtime = fakeRuntime();
    const limiter = createLimiter({ perWindow: 60, burst: 10 }, runtime, true);
    for (const text of ['NaN', '', '1e9', '-1', '99999999999999']) {
      limiter.observe(
        200,
        new Headers({
          'x-ratelimit-remaining': text,
          'x-ratelimit-current': text,
          'x-ratelimit-reset': text,
        }),
      );
    }
    expect((await leaveAt(limiter, runtime, 11)).at(-1)).toBe(1_000);
  });
});

describe('jupiterLimiter', () => {
  it('counts only requests to the host of Jupiter', async () => {
    const runtime = fakeRuntime();
    const leaves = (baseUrl: string) =>
      leaveAt(jupiterLimiter({ baseUrl, apiKey: 'key', timeoutMs: 10_000 }, runtime), runtime, 100);
    expect((await leaves('https://api.jup.ag')).at(-1)).toBeGreaterThan(60_000);
    for (const other of [
      'http://127.0.0.1:8080',
      'https://proxy.example.com',
      'https://api.jup.ag.example.com',
    ]) {
      expect((await leaves(other)).at(-1)).toBe(0);
    }
  });

  it('pauses another host for all requests with the same key, and for no other request', async () => {
    const runtime = fakeRuntime();
    const limiterOf = (baseUrl: string, apiKey?: string) =>
      jupiterLimiter({ baseUrl, apiKey, timeoutMs: 1_000 }, runtime);
    limiterOf('https://proxy.example.com', 'key').observe(429, new Headers({ 'retry-after': '5' }));
    await expect(limiterOf('https://proxy.example.com', 'key').take()).rejects.toMatchObject({
      details: { retryAfterMs: 5_000 },
    });
    for (const free of [
      limiterOf('https://proxy.example.com'),
      limiterOf('https://other.example.com', 'key'),
    ]) {
      expect(await leaveAt(free, runtime, 1)).toEqual([0]);
    }
  });

  it.each([
    [undefined, 5],
    ['key', 10],
  ])('starts with the smallest plan for the key %j', async (apiKey, burst) => {
    const runtime = fakeRuntime();
    const limiter = jupiterLimiter(
      { baseUrl: 'https://api.jup.ag', apiKey, timeoutMs: 10_000 },
      runtime,
    );
    const start = runtime.now();
    for (let n = 0; n < burst; n++) await limiter.take();
    expect(runtime.now()).toBe(start);
    await limiter.take();
    expect(runtime.now()).toBeGreaterThan(start);
  });
});
