import { afterEach, describe, expect, test, vi } from 'vitest';
import { createTurns } from '../../../src/internal/turns.js';

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const MOST = 32;
const around = () => new Promise<void>((resolve) => setImmediate(resolve));

test('lets a few calls continue at once', () => {
  const nextTurn = createTurns();

  expect(Array.from({ length: MOST }, nextTurn)).toEqual(Array(MOST).fill(undefined));
});

test('lets a fixed number of calls continue in each round of the event loop, in order', async () => {
  const nextTurn = createTurns();
  const passed: number[] = [];
  const crowd = Array.from({ length: 3 * MOST + 1 }, async (_, at) => {
    await nextTurn();
    passed.push(at);
  });
  const seen: number[] = [];
  while (passed.length < crowd.length) {
    await around();
    seen.push(passed.length);
  }

  expect(passed).toEqual([...crowd.keys()]);
  expect(seen).toEqual([2 * MOST, 3 * MOST, 3 * MOST + 1]);
});

test('puts a later call behind all waiting calls', async () => {
  const nextTurn = createTurns();
  const order: string[] = [];
  const ask = async (name: string) => {
    await nextTurn();
    order.push(name);
  };
  const crowd = Array.from({ length: MOST + 1 }, () => ask('early'));
  await Promise.all([...crowd, ask('late')]);

  expect(order.at(-1)).toBe('late');
});

test('lets as many calls continue at once again after a rest', async () => {
  const nextTurn = createTurns();
  await Promise.all(Array.from({ length: 2 * MOST }, async () => nextTurn()));
  await around();
  await around();

  expect(Array.from({ length: MOST }, nextTurn)).toEqual(Array(MOST).fill(undefined));
});

test('lets a crowd of calls continue while a test replaces the timers', async () => {
  const nextTurn = createTurns();
  vi.useFakeTimers();
  const crowd = Promise.all(Array.from({ length: 3 * MOST }, async () => nextTurn()));
  await crowd;
  vi.useRealTimers();

  expect(await Promise.all(Array.from({ length: 3 * MOST }, async () => nextTurn()))).toHaveLength(
    3 * MOST,
  );
});

describe('a crowd of calls', () => {
  test.each([
    ['continues by messages without setImmediate', ['setImmediate']],
    [
      'continues by timers without setImmediate and MessageChannel',
      ['setImmediate', 'MessageChannel'],
    ],
  ])('%s', async (_, absent) => {
    for (const name of absent) vi.stubGlobal(name, undefined);
    vi.resetModules();
    const turns = await import('../../../src/internal/turns.js');
    const nextTurn = turns.createTurns();
    const passed: number[] = [];
    const crowd = Array.from({ length: 2 * MOST + 1 }, async (__, at) => {
      await nextTurn();
      passed.push(at);
    });
    await Promise.resolve();
    expect(passed).toHaveLength(MOST);
    await Promise.all(crowd);

    expect(passed).toEqual([...crowd.keys()]);
  });

  // A worker drops the callbacks of a request that is cancelled.
  test.each([
    ['a call that had its turn', 1],
    ['a turn', 2 + 2 * MOST],
  ])('continues when the callback of %s is lost', async (_, lost) => {
    let scheduled = 0;
    vi.stubGlobal('setImmediate', (go: () => void) => {
      scheduled += 1;
      if (scheduled !== lost) setTimeout(go, 0);
    });
    vi.resetModules();
    const turns = await import('../../../src/internal/turns.js');
    const nextTurn = turns.createTurns();

    const crowd = Array.from({ length: 3 * MOST }, async () => nextTurn());

    expect(await Promise.all(crowd)).toHaveLength(3 * MOST);
  });
});
