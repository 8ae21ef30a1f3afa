import type { Receipt } from 'exact-change';
import { expect, it, onTestFinished, vi } from 'vitest';
import { resumed } from '../../../adapters/cli/commands/resume.js';
import { receiptWith } from '../../helpers/receipts.js';

it('looks again after a look that failed, but for the first', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const settled = receiptWith({});
  const looks: (() => Promise<Receipt[]>)[] = [
    async () => [],
    () => Promise.reject(new Error('The node is down.')),
    async () => [settled],
  ];
  const client = {
    on: () => () => undefined,
    resume: () => looks.shift()!(),
    async *receipts() {
      if (looks.length > 0) yield receiptWith({ state: 'pending', at: Date.now() });
    },
  };
  const changed = resumed(client, true);
  await vi.advanceTimersByTimeAsync(6_000);
  expect(await changed).toEqual([settled]);
  const down = { ...client, resume: () => Promise.reject(new Error('The node is down.')) };
  await expect(resumed(down, true)).rejects.toThrow('The node is down.');
});
