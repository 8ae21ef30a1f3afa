import { setImmediate } from 'node:timers/promises';
import { expect, it, onTestFinished, vi } from 'vitest';
import { encodeHeader } from '../../../adapters/journals/file/header.js';
import { journalAt } from '../../../adapters/journals/file/journal.js';
import { encodeLine } from '../../../adapters/journals/file/line.js';
import type { Attempt } from '../../../src/journal/types.js';
import { attemptOf, DAY_MS, fullAttemptOf, idsOf, NOW } from '../../helpers/attempts.js';
import { failure, fakeProcesses, MemoryDisk, type Step } from '../../helpers/memory-disk.js';

const HISTORY = '/journal.history';
const OWNER = { wallet: 'wallet', network: 'network' };

/** Returns a journal that is soon rewritten, and functions that write to it until it was. */
function rewritten(disk: MemoryDisk, step?: Step, processes = fakeProcesses().as(1)) {
  const parts = { disk: disk.port(step), processes, compactFrom: 4_000 };
  const journal = journalAt('/journal', { ...parts, recent: 0 });
  onTestFinished(() => journal.close());
  const growUntil = async (isDone: () => boolean, at = NOW) => {
    // Count the tries, because the clock may stand still.
    for (let tries = 0; !isDone(); tries += 1) {
      if (tries === 1_000) throw new Error('No rewrite has done it.');
      // The file must grow: a rewrite that is still under way does not archive the last attempt.
      await journal.reserve(attemptOf({ id: 'other', at }), []);
      await journal.release('other');
      await setImmediate();
    }
  };
  const archive = async (id: string, at = NOW, end: Partial<Attempt> = { delivered: true }) => {
    const payment = fullAttemptOf().payment!;
    const { delivered = false, ...over } = end;
    await journal.reserve(attemptOf({ id, at, ...over }), []);
    await journal.put(attemptOf({ id, at, ...over, state: 'signed', payment }));
    await journal.put(attemptOf({ id, at, ...over, state: 'settled', delivered, payment }));
    await growUntil(() => textOf(disk, HISTORY).includes(`"${id}"`), at);
  };
  return { journal, archive, growUntil };
}

const textOf = (disk: MemoryDisk, path: string) =>
  Buffer.from(disk.files.get(path) ?? []).toString();
const isArchived = (disk: MemoryDisk) => /"history":[1-9]/.test(textOf(disk, '/journal'));
const historiesOn = (disk: MemoryDisk) =>
  [...disk.files.keys()].filter((path) => path.startsWith(HISTORY));

it('archives a settled payment of client.pay, which is never delivered', async () => {
  const { journal, archive } = rewritten(new MemoryDisk());
  await archive('one', NOW, { fingerprint: 'one' });
  await archive('two');
  expect(await idsOf(journal.attempts(OWNER))).toEqual(['one', 'two']);
  expect(await journal.similar(OWNER, 'one', undefined)).toEqual([]);
});

it('lists attempts since a time also if the clock was back when later attempts were archived', async () => {
  const { journal, archive } = rewritten(new MemoryDisk());
  onTestFinished(() => void vi.restoreAllMocks());
  const clock = vi.spyOn(Date, 'now');
  clock.mockReturnValue(NOW);
  await archive('today', NOW);
  clock.mockReturnValue(NOW - DAY_MS);
  await archive('yesterday', NOW - DAY_MS);
  const since = async (at: number) => idsOf(journal.attempts(OWNER, { since: at }));
  expect(await since(NOW - DAY_MS)).toEqual(['today', 'yesterday']);
  expect(await since(NOW)).toEqual(['today']);
});

it('keeps the history of a journal that was moved away without it', async () => {
  const disk = new MemoryDisk();
  const damaged = rewritten(disk);
  await damaged.archive('before');
  await damaged.journal.close();
  disk.delete('/journal');
  const { journal, archive } = rewritten(disk);
  await archive('after');
  const kept = historiesOn(disk).filter((path) => path !== HISTORY);
  expect(kept.map((path) => textOf(disk, path).includes('"before"'))).toEqual([true]);
  expect(await idsOf(journal.attempts(OWNER))).toEqual(['after']);
});

it('keeps the history of a journal with an older copy put back', async () => {
  const disk = new MemoryDisk();
  const newer = rewritten(disk);
  await newer.archive('one');
  await newer.archive('two');
  await newer.journal.close();
  disk.delete('/journal');
  const older = rewritten(disk);
  await older.archive('one');
  await older.growUntil(() => isArchived(disk));
  const kept = historiesOn(disk).filter((path) => path !== HISTORY);
  expect(kept.map((path) => textOf(disk, path).includes('"two"'))).toEqual([true]);
});

it('keeps nothing of its own rewrites that failed', async () => {
  const disk = new MemoryDisk();
  let failures = 0;
  const { archive, growUntil } = rewritten(disk, (call, path) => {
    if (call !== 'create' || path !== '/journal.compact' || failures === 2) return;
    failures += 1;
    throw failure('ENOSPC');
  });
  await archive('one');
  await growUntil(() => isArchived(disk));
  expect([failures, historiesOn(disk)]).toEqual([2, [HISTORY]]);
});

it('uses again what a process left that was killed in its first rewrite', async () => {
  const disk = new MemoryDisk();
  const processes = fakeProcesses();
  const isFull: Step = (call, path) => {
    if (call === 'create' && path === '/journal.compact') throw failure('ENOSPC');
  };
  const first = rewritten(disk, isFull, processes.as(1));
  await first.archive('one');
  const killed = disk.after('kill');
  processes.end(1);
  // Otherwise the next journal shares its log: the copy of the file has the same inode.
  await first.journal.close();
  expect(textOf(killed, HISTORY)).toContain('"one"');
  const { journal, archive } = rewritten(killed, undefined, processes.as(2));
  await archive('two');
  expect(historiesOn(killed)).toEqual([HISTORY]);
  expect(await idsOf(journal.attempts(OWNER))).toEqual(['one', 'two']);
});

it('takes no second purchase under a key, however many payments of services came since', async () => {
  const disk = new MemoryDisk();
  const purchase = fullAttemptOf({ id: 'one', state: 'settled', idempotencyKey: 'key' });
  disk.put(HISTORY, encodeLine(0, JSON.stringify([0, purchase])));
  const names = Array.from({ length: 20_001 }, (_, index) => {
    const at = NOW + Math.floor(index / 10_000) * DAY_MS + DAY_MS;
    return [`request auto-pay payment ${index}`, 0, at];
  });
  const keys = { ...OWNER, keys: [['key', 0, NOW], ...names] };
  const line = encodeLine(encodeHeader().length, JSON.stringify(['', { keys }]));
  disk.put('/journal', Buffer.concat([encodeHeader(), line]));
  const { journal } = rewritten(disk);
  expect(await journal.reserve(attemptOf({ id: 'two', idempotencyKey: 'key' }), [])).toMatchObject({
    taken: { id: 'one' },
  });
});
