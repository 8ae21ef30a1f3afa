import { expect, test } from 'vitest';
import { shareNext } from '../../../src/internal/share-next.js';

/** Work that ends when `end` is called. */
function work() {
  const ends: (() => void)[] = [];
  let begun = 0;
  const run = async (): Promise<number> => {
    const number = (begun += 1);
    await new Promise<void>((resolve) => ends.push(resolve));
    return number;
  };
  return { run, end: () => ends.shift()?.(), begun: () => begun };
}

const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

test('shares a run between calls at the same time', async () => {
  const { run, end, begun } = work();
  const ask = shareNext(run);
  const answers = Promise.all([ask(), ask(), ask()]);
  await settle();
  end();

  expect(await answers).toEqual([1, 1, 1]);
  expect(begun()).toBe(1);
});

test('shares the next run between calls that come during a run, and starts it after that run', async () => {
  const { run, end, begun } = work();
  const ask = shareNext(run);
  const first = ask();
  await settle();
  const later = Promise.all([ask(), ask()]);
  await settle();
  expect(begun()).toBe(1);
  end();
  await settle();
  expect(begun()).toBe(2);
  end();

  expect(await first).toBe(1);
  expect(await later).toEqual([2, 2]);
});

test('reports a failure only to the calls that wait for the failed run', async () => {
  let runs = 0;
  const ask = shareNext(async () => {
    runs += 1;
    if (runs === 1) throw new Error('the first');
    return runs;
  });
  const first = ask();
  await expect(first).rejects.toThrow('the first');

  expect(await ask()).toBe(2);
});
