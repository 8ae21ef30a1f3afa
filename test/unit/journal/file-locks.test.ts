import { expect, it } from 'vitest';
import { closedError, unavailable } from '../../../adapters/journals/file/failures.js';
import { openLog } from '../../../adapters/journals/file/log.js';
import { journalOver } from '../../../adapters/journals/log/journal.js';
import type { JournalLog } from '../../../adapters/journals/log/port.js';
import { failure, fakeProcesses, MemoryDisk, type Step } from '../../helpers/memory-disk.js';

const OWNER = { wallet: 'wallet', network: 'network' };

/** Processes on one disk, each with a function that works under the same lock. */
function processesOn(disk: MemoryDisk) {
  const processes = fakeProcesses();
  let pids = 0;
  const start = (step?: Step) => {
    const parts = { disk: disk.port(step), processes: processes.as((pids += 1)) };
    const { locks } = journalOver(
      {
        async open() {
          const log = await openLog('/locks', { ...parts, compactFrom: 1_000_000, recent: 0 });
          return { log, leave: log.close };
        },
        unavailable: (cause) => unavailable('/locks', cause),
        closedError,
      },
      false,
    ).coordination(OWNER);
    return (work: () => Promise<void> = async () => undefined, signal?: AbortSignal) =>
      locks.hold(['lock'], work, [signal]);
  };
  return { start, end: processes.end };
}

/** Work that goes on until it is ended, and whether it has begun. */
function work() {
  let [begin, end] = [(): void => undefined, (): void => undefined];
  const begun = new Promise<void>((resolve) => (begin = resolve));
  const ended = new Promise<void>((resolve) => (end = resolve));
  return { begun, end, run: () => (begin(), ended) };
}

it('leaves a lock to its holder when an earlier holder, taken for ended, frees it', async () => {
  const { start, end } = processesOn(new MemoryDisk());
  const [first, second] = [start(), start()];
  const stop = new AbortController();
  let looks = 0;
  const third = start((call) => {
    if (call === 'identify' && (looks += 1) === 5) stop.abort('it waits');
  });
  const [slow, next] = [work(), work()];
  const slowEnds = first(slow.run);
  await slow.begun;
  end(1);
  const nextEnds = second(next.run);
  await next.begun;
  slow.end();
  await slowEnds;
  await expect(third(undefined, stop.signal)).rejects.toBe('it waits');
  next.end();
  await nextEnds;
});

it('fails when the disk is too full to free the lock of an ended process', async () => {
  const { start, end } = processesOn(new MemoryDisk());
  let isFull = false;
  const first = start();
  const second = start((call) => {
    if (isFull && call === 'append') throw failure('ENOSPC');
  });
  await second();
  const held = work();
  void first(held.run);
  await held.begun;
  end(1);
  isFull = true;
  await expect(second()).rejects.toMatchObject({
    code: 'journal_unavailable',
    cause: { code: 'ENOSPC' },
  });
  isFull = false;
  await second();
});

it('frees a lock whose line is written when the disk then does not tell the size of the file', async () => {
  const disk = new MemoryDisk();
  const { start } = processesOn(disk);
  let last = '';
  let isDown = false;
  const first = start((call) => {
    if (isDown && last === 'append' && call === 'size') throw failure('EIO');
    last = call;
  });
  await first();
  isDown = true;
  await expect(first()).rejects.toMatchObject({ code: 'journal_unavailable' });
  isDown = false;
  await first();
  await start()();
});

it('leaves no lock or claim of a journal that closes, if another journal uses the file', async () => {
  const parts = { disk: new MemoryDisk().port(), processes: fakeProcesses().as(1) };
  const log = await openLog('/locks', { ...parts, compactFrom: 1_000_000, recent: 0 });
  const journal = () =>
    journalOver(
      {
        open: async () => ({ log, leave: async () => undefined }),
        unavailable: (cause) => unavailable('/locks', cause),
        closedError,
      },
      false,
    );
  const hold = (from: ReturnType<typeof journal>) =>
    from.coordination(OWNER).locks.hold(['lock'], async () => undefined);
  const closing = journal();
  const { claims } = closing.coordination(OWNER);
  await claims.take(['claim']);
  const held = hold(closing);
  const closed = closing.close();
  await Promise.allSettled([closed, held, claims.drop(['claim'])]);
  const another = journal();
  await hold(another);
  expect(await another.coordination(OWNER).claims.live(['claim'])).toEqual(new Set());
  await log.close();
});

/** Returns the locks of a journal that runs its steps in a log by another function. */
function locksOver(log: JournalLog, run: JournalLog['run']) {
  const port = {
    open: async () => ({ log: { ...log, run }, leave: log.close }),
    unavailable: (cause: unknown) => unavailable('/locks', cause),
    closedError,
  };
  return journalOver(port, false).coordination(OWNER).locks;
}

it('lets payers go on while the log does not answer, and keeps no lock once it does', async () => {
  const parts = { disk: new MemoryDisk().port(), processes: fakeProcesses().as(1) };
  const log = await openLog('/locks', { ...parts, compactFrom: 1_000_000, recent: 0 });
  // A browser does not answer while a stopped tab keeps the database.
  let silence: ReturnType<typeof work> | undefined;
  const run: typeof log.run = async (decide) => {
    await silence?.run();
    return log.run(decide);
  };
  const locks = locksOver(log, run);
  const holder = work();
  const held = locks.hold(['lock'], holder.run);
  await holder.begun;
  silence = work();
  holder.end();
  await held;
  silence.end();

  silence = work();
  const controller = new AbortController();
  const waiting = locks.hold(['lock'], () => Promise.reject(new Error('ran')), [controller.signal]);
  await silence.begun;
  controller.abort('enough');
  await expect(waiting).rejects.toBe('enough');
  silence.end();
  silence = undefined;
  expect(await locks.hold(['lock'], async () => 'free')).toBe('free');
  await log.close();
});

it('leaves a lock to its next holder when the answer that freed it before is lost', async () => {
  const parts = { disk: new MemoryDisk().port(), processes: fakeProcesses().as(1) };
  const log = await openLog('/locks', { ...parts, compactFrom: 1_000_000, recent: 0 });
  let isLost = false;
  const run: typeof log.run = async (decide) => {
    const result = await log.run(decide);
    if (!isLost) return result;
    isLost = false;
    // The next call of the queue has its turn before the failure is known.
    await new Promise((resolve) => setImmediate(resolve));
    throw new Error('The answer was lost.');
  };
  const locks = locksOver(log, run);
  const [first, next] = [work(), work()];
  const ends = [locks.hold(['lock'], first.run), locks.hold(['lock'], next.run)];
  await first.begun;
  isLost = true;
  first.end();
  await next.begun;
  await new Promise((resolve) => setImmediate(resolve));
  expect(await log.run((state) => ({ records: [], result: state.locks.size }))).toBe(1);
  next.end();
  await Promise.all(ends);
  await log.close();
});

it('frees a lock once the disk has room again, though its process takes no further step', async () => {
  const { start } = processesOn(new MemoryDisk());
  let refusals = 0;
  const first = start((call) => {
    if (call !== 'append' || refusals === 0) return;
    refusals -= 1;
    throw failure('ENOSPC');
  });
  const second = start();
  // The unlock, and its one repetition.
  await first(async () => void (refusals = 2));
  await second();
});
