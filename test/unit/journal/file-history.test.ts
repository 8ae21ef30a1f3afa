import { setImmediate } from 'node:timers/promises';
import { expect, it, onTestFinished, vi } from 'vitest';
import { journalAt } from '../../../adapters/journals/file/journal.js';
import { attemptOf, DAY_MS, fullAttemptOf, idsOf, NOW } from '../../helpers/attempts.js';
import { fakeProcesses, MemoryDisk } from '../../helpers/memory-disk.js';

const HISTORY = '/journal.history';

it('lists attempts since a time also if the clock was back when later attempts were archived', async () => {
  const disk = new MemoryDisk();
  const parts = { disk: disk.port(), processes: fakeProcesses().as(1), compactFrom: 4_000 };
  const journal = journalAt('/journal', { ...parts, recent: 0 });
  onTestFinished(() => journal.close());
  onTestFinished(() => void vi.restoreAllMocks());
  const clock = vi.spyOn(Date, 'now');
  const archive = async (id: string, at: number) => {
    clock.mockReturnValue(at);
    const { payment } = fullAttemptOf();
    await journal.reserve(attemptOf({ id, at }), []);
    await journal.put(attemptOf({ id, at, state: 'signed', payment: payment! }));
    await journal.put(attemptOf({ id, at, state: 'settled', delivered: true, payment: payment! }));
    const isArchived = () => Buffer.from(disk.files.get(HISTORY) ?? []).includes(`"${id}"`);
    // Count the tries, because the clock stands still.
    for (let tries = 0; !isArchived(); tries += 1) {
      if (tries === 1_000) throw new Error(`No rewrite has archived ${id}.`);
      // The file must grow: a rewrite that is still under way does not archive this attempt.
      await journal.reserve(attemptOf({ id: 'other', at }), []);
      await journal.release('other');
      await setImmediate();
    }
  };
  await archive('today', NOW);
  await archive('yesterday', NOW - DAY_MS);
  const since = async (at: number) =>
    idsOf(journal.attempts({ wallet: 'wallet', network: 'network' }, { since: at }));
  expect(await since(NOW - DAY_MS)).toEqual(['today', 'yesterday']);
  expect(await since(NOW)).toEqual(['today']);
});
