import { afterEach, describe, expect, test, vi } from 'vitest';
import { createTurns } from '../../../src/internal/turns.js';

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const MOST = 32;
const around = () => new Promise<void>((resolve) => setImmediate(resolve));

test('a few calls go on at once', () => {
  const nextTurn = createTurns();

  expect(Array.from({ length: MOST }, nextTurn)).toEqual(Array(MOST).fill(undefined));
});

test('of a crowd so many go on each time around the event loop, the first to ask first', async () => {
  const nextTurn = createTurns();
  const gone: number[] = [];
  const crowd = Array.from({ length: 3 * MOST + 1 }, async (_, at) => {
    await nextTurn();
    gone.push(at);
  });
  const seen: number[] = [];
  while (gone.length < crowd.length) {
    await around();
    seen.push(gone.length);
  }

  expect(gone).toEqual([...crowd.keys()]);
  expect(seen).toEqual([2 * MOST, 3 * MOST, 3 * MOST + 1]);
});

test('a call that asks later waits behind those that wait', async () => {
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

test('after a rest as many go on at once again', async () => {
  const nextTurn = createTurns();
  await Promise.all(Array.from({ length: 2 * MOST }, async () => nextTurn()));
  await around();
  await around();

  expect(Array.from({ length: MOST }, nextTurn)).toEqual(Array(MOST).fill(undefined));
});

test('a crowd goes on whatever timers a test has put in place of the real ones', async () => {
  const nextTurn = createTurns();
  vi.useFakeTimers();
  const crowd = Promise.all(Array.from({ length: 3 * MOST }, async () => nextTurn()));
  await crowd;
  vi.useRealTimers();

  expect(await Promise.all(Array.from({ length: 3 * MOST }, async () => nextTurn()))).toHaveLength(
    3 * MOST,
  );
});

describe('a crowd goes on', () => {
  test.each([
    ['by messages if there is no setImmediate', ['setImmediate']],
    ['by timers if there is neither', ['setImmediate', 'MessageChannel']],
  ])('%s', async (_, absent) => {
    for (const name of absent) vi.stubGlobal(name, undefined);
    vi.resetModules();
    const turns = await import('../../../src/internal/turns.js');
    const nextTurn = turns.createTurns();
    const gone: number[] = [];
    const crowd = Array.from({ length: 2 * MOST + 1 }, async (__, at) => {
      await nextTurn();
      gone.push(at);
    });
    await Promise.resolve();
    expect(gone).toHaveLength(MOST);
    await Promise.all(crowd);

    expect(gone).toEqual([...crowd.keys()]);
  });

  // A worker drops what a request has scheduled if that is cancelled.
  test.each([
    ['a call that had its turn', 1],
    ['a turn', 2 + 2 * MOST],
  ])('if what %s has scheduled is lost', async (_, lost) => {
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
