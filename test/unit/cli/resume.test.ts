import { TransportError, type Receipt } from 'exact-change';
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
  expect((await changed).json).toEqual({ changed: [settled], open: [] });
  const down = { ...client, resume: () => Promise.reject(new Error('The node is down.')) };
  await expect(resumed(down, true)).rejects.toThrow('The node is down.');
});

it.each([true, false])(
  'tells what changed, and no more, if the journal then fails (waits: %s)',
  async (waits) => {
    const settled = receiptWith({});
    const failure = new TransportError('journal_unavailable', 'The journal is gone.', {
      details: { step: 'list' },
    });
    const client = {
      on: () => () => undefined,
      resume: async () => [settled],
      async *receipts() {
        yield* [];
        throw failure;
      },
    };
    const report = await resumed(client, waits);
    expect(report).toMatchObject({
      ...{ exit: 'uncertain', funds: 'uncertain' },
      json: {
        changed: [settled],
        error: { code: 'journal_unavailable', funds: 'uncertain' },
      },
      text: expect.stringContaining('settled'),
    });
    expect(report.notes).toEqual([
      'The journal is gone.',
      'Code journal_unavailable, funds uncertain. exact-change resume asks the chain.',
    ]);
  },
);
