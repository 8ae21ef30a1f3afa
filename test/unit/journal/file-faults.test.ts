import { setImmediate } from 'node:timers/promises';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { onPlatform, type Disk, type OpenFile } from '../../../adapters/journals/file/disk.js';
import { journalAt } from '../../../adapters/journals/file/journal.js';
import { encodeLine } from '../../../adapters/journals/file/line.js';
import { createMemoryJournal } from '../../../src/journal/memory.js';
import type { Attempt, Journal } from '../../../src/journal/types.js';
import { hideKey } from '../../../src/internal/redact.js';
import { attemptOf, dayCap, fullAttemptOf, listOf, NOW, totalCap } from '../../helpers/attempts.js';
import {
  failure,
  fakeProcesses,
  MemoryDisk,
  processOf,
  type Step,
} from '../../helpers/memory-disk.js';

const OWNER = { wallet: 'wallet', network: 'network' };
// Small enough that the journal rewrites its file several times.
const COMPACT_FROM = 4_000;

type Operation = (journal: Journal) => Promise<unknown>;

/** Yields to the event loop after an operation, as callers do, because a rewrite needs a turn. */
const andTurn =
  (operation: Operation): Operation =>
  async (journal) => {
    await operation(journal);
    await setImmediate();
  };

/**
 * Six purchases in sequence: every third is released; the rest are paid, and some are delivered.
 */
const operations: readonly Operation[] = Array.from({ length: 6 }, (_, index) => {
  const {
    payment: _payment,
    receipt: _receipt,
    swap: _swap,
    ...reserved
  } = fullAttemptOf({ id: `${index}`, state: 'reserved', microUsd: '10' });
  const plain: Attempt = attemptOf({ id: `${index}`, microUsd: '10', host: `${index}.test` });
  const { idempotencyKey: _key, ...full } = fullAttemptOf({
    ...plain,
    state: 'signed',
    delivered: false,
  });
  const start: Operation = (journal) =>
    journal.reserve(index === 0 ? reserved : plain, [dayCap(90n)]);
  if (index % 3 === 2) return [start, (journal: Journal) => journal.release(`${index}`)];
  const end: Attempt =
    index % 4 === 0
      ? { ...full, state: 'unsettled' }
      : { ...full, state: 'settled', delivered: index % 3 !== 0 };
  return [start, (journal: Journal) => journal.put(full), (journal: Journal) => journal.put(end)];
})
  .flat()
  .map(andTurn);
/** Whether an operation records something signed, which must survive a power failure. */
const isSigning = (operation: number) => operation % 8 === 1 || operation % 8 === 4;

/** Everything that a journal knows, except bytes that no process sends again. */
async function stateOf(journal: Journal): Promise<string> {
  const attempts = (await listOf(journal.attempts(OWNER))).map(({ swap, payment, ...rest }) => ({
    ...rest,
    swapped: swap?.signature,
    payment: payment?.payerSignature,
  }));
  const used = await journal.used(
    OWNER,
    [dayCap(0n), totalCap(0n, { unit: 'payments' }), totalCap(0n, { host: '4.test' })],
    NOW,
  );
  return JSON.stringify([attempts, used.map(String)], undefined, 1);
}

let runs = 0;
/** A journal on a disk, opened by a new process. */
function journalOn(disk: MemoryDisk, path: string, processes = fakeProcesses(), step?: Step) {
  runs += 1;
  return journalAt(path, {
    disk: disk.port(step),
    processes: processes.as(runs),
    compactFrom: COMPACT_FROM,
    recent: 0,
  });
}

async function statesAfterEach(): Promise<string[]> {
  const journal = createMemoryJournal();
  const states = [await stateOf(journal)];
  for (const operation of operations) {
    await operation(journal);
    states.push(await stateOf(journal));
  }
  return states;
}

/** Names of all disk calls that the operations make. */
async function callsOf(): Promise<string[]> {
  const calls: string[] = [];
  const journal = journalOn(new MemoryDisk(), '/whole', undefined, (call) => void calls.push(call));
  for (const operation of operations) await operation(journal);
  await journal.close();
  return calls;
}

it('holds no tokens for an attempt that has moved to the history', async () => {
  const calls: string[] = [];
  const journal = journalOn(new MemoryDisk(), '/moved', fakeProcesses(), (call) => {
    calls.push(call);
  });
  for (const operation of operations) await operation(journal);
  const { ledger } = journal.coordination(OWNER);
  await ledger.hold('account', '0', 5n);
  expect(await ledger.held('account')).toBe(0n);
  expect(calls).toContain('rename');
  await journal.close();
});

describe('a file journal after its process ends', () => {
  it('keeps confirmed operations, and at most the interrupted operation, after a kill or a power failure at any disk call; a power failure may undo unsigned operations at the end', async () => {
    const states = await statesAfterEach();
    const calls = await callsOf();
    expect(calls.filter((call) => call === 'rename').length).toBeGreaterThan(1);
    for (let last = 0; last < calls.length; last += 1) {
      const [disk, processes, path] = [new MemoryDisk(), fakeProcesses(), `/ended ${last}`];
      let count = 0;
      const dying = journalOn(disk, path, processes, () => {
        count += 1;
        if (count > last) throw failure('EIO');
      });
      const pid = runs;
      let done = 0;
      for (const operation of operations) {
        try {
          await operation(dying);
          done += 1;
        } catch {
          break;
        }
      }
      await dying.close().catch(() => undefined);
      processes.end(pid);
      const signings = operations.flatMap((_, index) =>
        index < done && isSigning(index) ? [index + 1] : [],
      );
      for (const what of ['kill', 'power failure'] as const) {
        const journal = journalOn(disk.after(what), path, processes);
        const found = await stateOf(journal);
        const least = what === 'kill' ? done : Math.max(0, ...signings);
        expect(
          states.slice(least, done + 2),
          `after a ${what} at call ${last}, ${calls[last]}, with ${done} done`,
        ).toContain(found);
        // The next process can use the journal.
        expect(await journal.reserve(attemptOf({ id: 'next' }), [])).toBeUndefined();
        await journal.close();
      }
    }
  });
});

describe('a file journal on a disk that fails', () => {
  /** Runs the operations on a disk that fails in some calls; the model skips refused operations. */
  async function play(
    path: string,
    fails: (call: string, count: number, operation: number) => boolean,
  ) {
    const [disk, model] = [new MemoryDisk(), createMemoryJournal()];
    let [count, current] = [0, 0];
    const journal = journalOn(disk, path, undefined, (call) => {
      count += 1;
      if (current < operations.length && fails(call, count, current)) throw failure('ENOSPC');
    });
    const refused: unknown[] = [];
    for (const operation of operations) {
      try {
        await operation(journal);
        await operation(model);
      } catch (error) {
        refused.push(error);
      }
      current += 1;
    }
    return { disk, journal, model, refused };
  }

  it('refuses at most the affected operations when any disk call fails once, and its memory matches its file', async () => {
    const { length } = await callsOf();
    for (let failing = 1; failing <= length; failing += 1) {
      const path = `/once ${failing}`;
      const { disk, journal, model, refused } = await play(
        path,
        (_call, count) => count === failing,
      );
      const where = `call ${failing}`;
      // An attempt that was not reserved can be neither signed nor settled, so three may fail.
      expect(refused.length, where).toBeLessThanOrEqual(3);
      expect(await stateOf(journal), where).toBe(await stateOf(model));
      await journal.close().catch(() => undefined);
      expect(disk.openFiles, where).toBe(0);
      const again = journalOn(disk, path);
      expect(await stateOf(again), where).toBe(await stateOf(model));
      await again.close();
    }
  });

  const CHANGES = new Set([
    'append',
    'sync',
    'truncate',
    'rename',
    'create',
    'link',
    'syncDirectory',
  ]);

  it.each([0, 1, 5, 9])(
    'refuses every change while the disk fails from operation %d on, and works again afterwards',
    async (from) => {
      const path = `/until ${from}`;
      const { disk, journal, model, refused } = await play(
        path,
        (call, _count, at) => at >= from && at < from + 6 && CHANGES.has(call),
      );
      expect(refused.length).toBeGreaterThanOrEqual(5);
      expect(refused[0]).toMatchObject({
        code: 'journal_unavailable',
        details: { step: 'file' },
        message: expect.stringContaining('ENOSPC'),
      });
      expect(await stateOf(journal)).toBe(await stateOf(model));
      await journal.close();
      const again = journalOn(disk, path);
      expect(await stateOf(again)).toBe(await stateOf(model));
      await again.close();
    },
  );

  it('repeats the error of the disk without keys and without invisible characters', async () => {
    hideKey('k3y-of-the-node');
    const journal = journalOn(new MemoryDisk(), '/told', undefined, (call) => {
      if (call === 'append')
        throw new Error(`ENOSPC: no space left\u202e on k3y-of-the-node${' and on'.repeat(100)}`);
    });
    const error: unknown = await journal
      .reserve(attemptOf(), [])
      .catch((reason: unknown) => reason);
    expect(error).toMatchObject({
      message: expect.stringContaining('(ENOSPC: no space left  on [hidden] and on'),
    });
    expect(inspect(error, { depth: Infinity })).not.toContain('k3y-of-the-node');
    expect(String(error).length).toBeLessThan(400);
  });

  it('refuses all calls that share a failed write, and reports no cap as reached', async () => {
    const disk = new MemoryDisk();
    let full = false;
    const journal = journalOn(disk, '/shared', undefined, (call) => {
      if (full && call === 'append') throw failure('ENOSPC');
    });
    await journal.reserve(attemptOf(), []);
    full = true;
    const results = await Promise.allSettled(
      Array.from({ length: 10 }, () => journal.reserve(attemptOf(), [dayCap(50_000n)])),
    );
    expect(results.map(({ status }) => status)).toEqual(
      Array.from({ length: 10 }, () => 'rejected'),
    );
    full = false;
    expect(await journal.used(OWNER, [dayCap(0n)], NOW)).toEqual([10_000n]);
    const later = await Promise.all(
      Array.from({ length: 10 }, () => journal.reserve(attemptOf(), [dayCap(50_000n)])),
    );
    expect(later.filter((result) => result === undefined)).toHaveLength(4);
    await journal.close();
  });
});

describe('a file journal on a disk that cannot sync a directory', () => {
  const cannot = (code: string) => (call: string) => {
    if (call === 'syncDirectory') throw failure(code);
  };
  /** Reserves and signs: only a signed payment makes the journal sync its directory. */
  const signed = async (journal: Journal) => {
    for (const operation of operations.slice(0, 2)) await operation(journal);
  };
  const journalOf = (platform: string, code: string) =>
    journalAt(`/${platform} ${code}`, {
      disk: onPlatform(platform, new MemoryDisk().port(cannot(code))),
      processes: fakeProcesses().as(1),
      compactFrom: COMPACT_FROM,
      recent: 0,
    });

  it.each(['EPERM', 'EISDIR', 'EACCES'])(
    'works on Windows (%s), and on no other system',
    async (code) => {
      const journal = journalOf('win32', code);
      for (const operation of operations) await operation(journal);
      await journal.close();
      for (const platform of ['linux', 'darwin'])
        await expect(signed(journalOf(platform, code))).rejects.toMatchObject({
          code: 'journal_unavailable',
          cause: { code },
        });
    },
  );

  it.each(['EIO', 'ENOSPC'])('fails on Windows too when the reason is %s', async (code) => {
    await expect(signed(journalOf('win32', code))).rejects.toMatchObject({
      code: 'journal_unavailable',
      cause: { code },
    });
  });
});

describe('a journal file that another program touches', () => {
  it('is not written after it was replaced or deleted, and is written again after it is back', async () => {
    const disk = new MemoryDisk();
    const journal = journalOn(disk, '/touched');
    await journal.reserve(attemptOf({ id: 'one' }), []);
    const port = disk.port();
    const refused = { code: 'journal_unavailable' };
    const put = () => journal.put(attemptOf({ id: 'one', state: 'signed' }));
    port.rename('/touched', '/aside');
    await expect(put()).rejects.toMatchObject(refused);
    await expect(journal.used(OWNER, [], NOW)).rejects.toMatchObject(refused);
    disk.put('/touched', disk.files.get('/aside')!);
    await expect(put()).rejects.toMatchObject(refused);
    port.rename('/aside', '/touched');
    await journal.reserve(attemptOf(), []);
    expect((await listOf(journal.attempts(OWNER))).map(({ state }) => state)).toEqual([
      'reserved',
      'reserved',
    ]);
    await journal.close();
  });

  it('opens while other processes open it, each of which gives it another name for a moment', async () => {
    const [disk, path] = [new MemoryDisk(), '/opened'];
    const first = journalOn(disk, path);
    await first.reserve(attemptOf(), []);
    await first.close();
    const [other, name] = [disk.port(), `${path}.${'a'.repeat(32)}`];
    let others = 3;
    const journal = journalOn(disk, path, undefined, (call, at) => {
      if (call === 'names' && others > 0) other.link(path, name);
      if (call !== 'identify' || at !== name) return;
      others -= 1;
      other.unlink(name);
    });
    expect(await journal.used(OWNER, [], NOW)).toEqual([]);
    expect(others).toBe(0);
    await journal.close();
  });

  it('is damaged when it is cut short', async () => {
    const disk = new MemoryDisk();
    const journal = journalOn(disk, '/cut');
    await journal.reserve(attemptOf(), []);
    const file = disk.port().open('/cut');
    file.truncate(file.size() - 100);
    await expect(journal.reserve(attemptOf(), [])).rejects.toMatchObject({
      code: 'journal_damaged',
    });
    await journal.close().catch(() => undefined);
  });

  it.each([
    ['an unknown record', { unheard: 'of' }],
    ['an invalid balance', { balance: ['wallet', 'network', 'account', { hold: 'id' }] }],
    ['an invalid book', { book: ['wallet', 'network', 'account', { made: 0 }] }],
  ])('is damaged for good when the program writes %s into it', async (_, record) => {
    const disk = new MemoryDisk();
    const path = `/spoilt ${JSON.stringify(record)}`;
    const journal = journalOn(disk, path);
    await journal.reserve(attemptOf({ id: 'one' }), []);
    const file = disk.port().open(path);
    file.append(encodeLine(file.size(), JSON.stringify(['', record])));
    file.append(encodeLine(0, JSON.stringify(['', { release: 'one' }])));
    for (let time = 0; time < 3; time += 1)
      await expect(journal.used(OWNER, [], NOW)).rejects.toMatchObject({ code: 'journal_damaged' });
    await journal.close().catch(() => undefined);
  });
});

describe('a file journal on a disk that fills up during a rewrite', () => {
  it('fails, and does not spin, when the process that was rewriting has ended', async () => {
    const [disk, path, processes] = [new MemoryDisk(), '/ended', fakeProcesses()];
    let [syncs, room, refused] = [true, Infinity, 0];
    const journal = journalOn(disk, path, processes, (call) => {
      if (call === 'sync' && !syncs) throw failure('EIO');
      if (call !== 'append' || (room -= 1) >= 0) return;
      refused += 1;
      // Without an end, a loop without a pause would stop this test as well.
      if (refused < 100) throw failure('ENOSPC');
    });
    await journal.reserve(attemptOf({ id: 'one' }), []);
    const [ended, file] = [processOf(99), disk.port().open(path)];
    file.append(
      encodeLine(file.size(), JSON.stringify([ended.id, { seat: ended }, { lock: 'rewriting' }])),
    );
    processes.end(99);
    const put = () => journal.put(fullAttemptOf({ id: 'one', state: 'signed' }));
    // After a failed sync, the next sync needs a rewrite.
    syncs = false;
    await expect(put()).rejects.toMatchObject({ cause: { code: 'EIO' } });
    await setImmediate();
    [syncs, room] = [true, 1];
    await expect(put()).rejects.toMatchObject({ cause: { code: 'ENOSPC' } });
    expect(refused).toBeLessThan(10);
    room = Infinity;
    await put();
    expect((await listOf(journal.attempts(OWNER)))[0]).toMatchObject({ state: 'signed' });
    await journal.close();
  });

  it('uses the old file again when there is room', async () => {
    const disk = new MemoryDisk();
    let full = false;
    const journal = journalOn(disk, '/anew', undefined, (call) => {
      // Fails from the moment at which the new file would replace the old file.
      full ||= call === 'rename';
      if (full && (call === 'rename' || call === 'append')) throw failure('ENOSPC');
    });
    const reserve = (id: string) =>
      andTurn((target) => target.reserve(attemptOf({ id }), []))(journal);
    for (let count = 0; !full; count += 1) await reserve(`${count}`).catch(() => undefined);
    const put = () => journal.put(attemptOf({ id: '0', state: 'signed' }));
    await expect(put()).rejects.toMatchObject({ code: 'journal_unavailable' });
    full = false;
    await put();
    expect((await listOf(journal.attempts(OWNER)))[0]).toMatchObject({ id: '0', state: 'signed' });
    await journal.close();
  });
});

it('keeps what became of a payment when its sync fails after its caller gave up', async () => {
  const port = new MemoryDisk().port();
  let [stalls, fail, begin] = [false, (_: Error): void => undefined, (): void => undefined];
  const stalled = new Promise<void>((resolve) => (begin = resolve));
  const slow = (file: OpenFile): OpenFile => ({
    ...file,
    sync: () => {
      if (!stalls) return file.sync();
      begin();
      return new Promise((_, reject) => (fail = reject));
    },
  });
  const disk: Disk = {
    ...port,
    open: (path) => slow(port.open(path)),
    create: (path) => slow(port.create(path)),
  };
  const parts = { disk, processes: fakeProcesses().as(1), compactFrom: 1_000_000, recent: 0 };
  const journal = journalAt('/stalled', parts);
  const id = 'one';
  const reserved = attemptOf({ id, idempotencyKey: 'order' });
  await journal.reserve(reserved, [], { claim: [id] });
  const signed = fullAttemptOf({ ...reserved, state: 'signed', delivered: false });
  stalls = true;
  const signing = journal.put(signed, { claim: [`body of ${id}`] });
  signing.catch(() => undefined);
  await stalled;
  // The caller gives up, and an equal call presents the payment, which settles.
  await journal.release(id, { drop: [id, `body of ${id}`] });
  await journal.put({ ...signed, state: 'settled', delivered: true });
  stalls = false;
  fail(failure('EIO'));
  await expect(signing).rejects.toMatchObject({ code: 'journal_unavailable' });
  expect((await listOf(journal.attempts(OWNER))).map(({ state }) => state)).toEqual(['settled']);
  await journal.close();
});
