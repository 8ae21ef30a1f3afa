import { describe, expect, it } from 'vitest';
import { encodeLine } from '../../../adapters/journals/file/line.js';
import { journalAt, type FileJournal } from '../../../adapters/journals/file/journal.js';
import { memoryJournal } from '../../../src/memory-journal.js';
import type { Endpoint } from '../../../src/outbox/outbox.js';
import type { Journal } from '../../../src/journal/types.js';
import { withOutbox } from '../../contract/outbox-contract.js';
import { attemptOf, fullAttemptOf, listOf } from '../../helpers/attempts.js';
import { failure, fakeProcesses, MemoryDisk, type Step } from '../../helpers/memory-disk.js';

// What every outbox promises is in test/contract/outbox-contract.ts.

const COMPACT_FROM = 20_000;
const LEASE_MS = 1_000;
const later = () => Date.now() + 60_000;

let files = 0;
const newPath = () => `/directory/outbox${(files += 1)}.jsonl`;
const processes = fakeProcesses();
let runs = 100_000;

function onDisk(
  disk: MemoryDisk,
  path: string,
  { outbox = true, step }: { outbox?: boolean; step?: Step } = {},
) {
  return journalAt(
    path,
    { disk: disk.port(step), processes: processes.as(runs), compactFrom: COMPACT_FROM, recent: 0 },
    { outbox },
  );
}

/** The disk as the next process finds it, after the one that has the journal open was ended. */
async function killed(
  disk: MemoryDisk,
  what: 'kill' | 'power failure',
  journal: FileJournal,
): Promise<MemoryDisk> {
  const after = disk.after(what);
  // In this process it would go on being used.
  await journal.close();
  processes.end(runs);
  runs += 1;
  return after;
}

/** Buys nothing: what the outside hears is that it failed. Returns whose event that is. */
async function fail(journal: Journal): Promise<string> {
  const attempt = attemptOf();
  await journal.reserve(attempt, []);
  await journal.release(attempt.id);
  return attempt.id;
}

/** Puts a signed payment on record. */
async function sign(journal: Journal): Promise<void> {
  const attempt = attemptOf();
  await journal.reserve(attempt, []);
  await journal.put(fullAttemptOf({ id: attempt.id, state: 'signed' }));
}

const takeAll = (journal: Journal, now = later()) =>
  withOutbox(journal).outbox.take({ limit: 100_000, leaseMs: LEASE_MS, now });
const idsIn = async (journal: Journal) =>
  (await takeAll(journal)).map(({ event }) => event.data.id);

const endpoint: Endpoint = {
  ...{ id: 'endpoint', url: 'https://receiver.test/', events: ['payment.failed'], caller: '' },
  ...{ secrets: [{ secret: 'whsec_AAAA' }], createdAt: 1 },
};

describe('the outbox of a file', () => {
  it.each(['kill', 'power failure'] as const)(
    'has after a %s what was told to be there, and no worker has taken it',
    async (what) => {
      const [disk, path] = [new MemoryDisk(), newPath()];
      const before = withOutbox(onDisk(disk, path));
      await before.outbox.addEndpoint(endpoint, 1);
      const ids = [await fail(before), await fail(before), await fail(before)];
      const [first] = await takeAll(before);
      if (first === undefined) throw new Error('three were written');
      await before.outbox.finish(first, [
        { event: first.event, endpoint: 'endpoint', failures: 1, dueAt: first.dueAt },
      ]);
      // What is signed is on the disk, and all that was written before.
      await sign(before);
      const after = withOutbox(onDisk(await killed(disk, what, before), path));
      expect(new Set(await idsIn(after))).toEqual(new Set(ids));
      expect(await after.outbox.endpoints()).toEqual([endpoint]);
    },
  );

  it('has an event and what it tells of in one line: torn off, both are gone', async () => {
    const [disk, path] = [new MemoryDisk(), newPath()];
    const before = onDisk(disk, path);
    const attempt = attemptOf();
    await before.reserve(attempt, []);
    const whole = disk.files.get(path)?.length ?? 0;
    await before.put({ ...attempt, state: 'abandoned' });
    const data = disk.files.get(path) ?? new Uint8Array();
    const left = await killed(disk, 'kill', before);
    for (let length = whole; length < data.length; length += 1) {
      left.put(path, data.slice(0, length));
      const after = onDisk(left, path);
      expect([
        (await listOf(after.attempts(attempt))).map(({ state }) => state),
        await takeAll(after),
      ]).toEqual([['reserved'], []]);
      await after.close();
    }
    left.put(path, data);
    const after = onDisk(left, path);
    expect([
      (await listOf(after.attempts(attempt))).map(({ state }) => state),
      await idsIn(after),
    ]).toEqual([['abandoned'], [attempt.id]]);
  });

  it('is kept if the file is rewritten, and so is which worker has taken what', async () => {
    const [disk, path] = [new MemoryDisk(), newPath()];
    const renames: string[] = [];
    const journal = withOutbox(
      onDisk(disk, path, {
        step: (call, to) => void (call === 'rename' && to === path && renames.push(to)),
      }),
    );
    await journal.outbox.addEndpoint(endpoint, 1);
    const ids = [await fail(journal), await fail(journal)];
    const now = later();
    const [taken] = await journal.outbox.take({ limit: 1, leaseMs: LEASE_MS, now });
    const big = fullAttemptOf({ state: 'signed' });
    await journal.reserve(attemptOf({ id: big.id }), []);
    for (let round = 0; renames.length === 0 && round < 100; round += 1) await journal.put(big);
    expect(renames.length).toBeGreaterThan(0);
    expect((await takeAll(journal, now)).map(({ event }) => event.data.id)).toEqual([ids[1]]);
    expect((await takeAll(journal, now + LEASE_MS)).map(({ event }) => event.data.id)).toEqual(ids);
    expect(taken?.event.data.id).toBe(ids[0]);
    const after = withOutbox(onDisk(await killed(disk, 'kill', journal), path));
    expect(await idsIn(after)).toEqual(ids);
    expect(await after.outbox.endpoints()).toEqual([endpoint]);
  });

  it('tells nothing, takes nothing and ends nothing if the disk fails, and goes on when it works again', async () => {
    const [disk, path] = [new MemoryDisk(), newPath()];
    const down = { is: false };
    const step: Step = (call) => {
      if (down.is && call === 'append') throw failure('EIO');
    };
    const journal = withOutbox(onDisk(disk, path, { step }));
    const id = await fail(journal);
    const now = later();
    const [job] = await takeAll(journal, now);
    if (job === undefined) throw new Error('one was written');
    const attempt = attemptOf();
    await journal.reserve(attempt, []);
    let calls = 0;
    journal.outbox.onAdded(() => (calls += 1));
    down.is = true;
    const unavailable = { code: 'journal_unavailable' };
    const failing = [
      journal.release(attempt.id),
      takeAll(journal, now + LEASE_MS),
      journal.outbox.finish(job, []),
    ];
    for (const one of failing) await expect(one).rejects.toMatchObject(unavailable);
    expect(calls).toBe(0);
    down.is = false;
    // No other worker gets it until its lease is over; what the failed call took is free.
    expect(await takeAll(journal, now)).toEqual([]);
    expect((await takeAll(journal, now + LEASE_MS)).map(({ event }) => event.data.id)).toEqual([
      id,
    ]);
    await journal.release(attempt.id);
    expect([calls, await idsIn(journal)]).toEqual([1, [attempt.id]]);
  });

  it('ends many without waiting for the disk: what was ended may be told once more', async () => {
    const [disk, path] = [new MemoryDisk(), newPath()];
    const syncs = { count: 0 };
    const journal = withOutbox(
      onDisk(disk, path, { step: (call) => void (call === 'sync' && (syncs.count += 1)) }),
    );
    for (let count = 0; count < 20; count += 1) await fail(journal);
    const jobs = await takeAll(journal);
    const before = syncs.count;
    await Promise.all(jobs.map((job) => journal.outbox.finish(job, [])));
    expect([jobs.length, syncs.count - before]).toEqual([20, 0]);
  });
});

describe('the journals of one file', () => {
  it('share its outbox: once one that keeps events was used, all write them and all that listen hear of it', async () => {
    const [disk, path] = [new MemoryDisk(), newPath()];
    const [plain, keeping] = [
      onDisk(disk, path, { outbox: false }),
      withOutbox(onDisk(disk, path)),
    ];
    expect(plain.outbox).toBeUndefined();
    await fail(plain);
    let calls = 0;
    keeping.outbox.onAdded(() => (calls += 1));
    expect(await takeAll(keeping)).toEqual([]);
    const id = await fail(plain);
    expect([calls, await idsIn(keeping)]).toEqual([1, [id]]);
    await keeping.close();
    const last = await fail(plain);
    await plain.close();
    expect([calls, await idsIn(onDisk(disk, path))]).toEqual([1, [id, last]]);
  });

  it('keep what is there if none keeps events, and add to it only for an endpoint that is told', async () => {
    const [disk, path] = [new MemoryDisk(), newPath()];
    const opened = async <T>(
      outbox: boolean,
      work: (journal: Journal) => Promise<T>,
    ): Promise<T> => {
      const journal = onDisk(disk, path, { outbox });
      try {
        return await work(journal);
      } finally {
        await journal.close();
      }
    };
    const first = await opened(true, fail);
    await opened(false, fail);
    await opened(true, (journal) =>
      withOutbox(journal).outbox.addEndpoint({ ...endpoint, disabledAt: 2 }, 1),
    );
    await opened(false, fail);
    await opened(true, (journal) =>
      withOutbox(journal).outbox.changeEndpoint(endpoint.id, () => endpoint),
    );
    const second = await opened(false, fail);
    expect(await opened(true, idsIn)).toEqual([first, second]);
  });

  it.each([
    ['a job without an event', { job: { id: 'job', failures: 0, dueAt: 0 } }],
    ['an endpoint of no such event', { endpoint: { ...endpoint, events: ['payment.stolen'] } }],
    ['an endpoint whose secret is none', { endpoint: { ...endpoint, secrets: [{}] } }],
  ])('are damaged by %s', async (_, record) => {
    const [disk, path] = [new MemoryDisk(), newPath()];
    const journal = onDisk(disk, path);
    await fail(journal);
    await journal.close();
    const data = disk.files.get(path) ?? new Uint8Array();
    disk.put(
      path,
      Uint8Array.from([...data, ...encodeLine(data.length, JSON.stringify(['by', record]))]),
    );
    await expect(takeAll(onDisk(disk, path))).rejects.toMatchObject({
      code: 'journal_damaged',
      details: { offset: data.length },
    });
  });
});

describe('the options of a journal', () => {
  const wrong: readonly (readonly [string, object | null])[] = [
    ['outbox', { outbox: 'yes' }],
    ['outBox', { outBox: true }],
    ['options', null],
  ];

  it.each(wrong)('refuse a wrong %s at once', (option, given) => {
    const options = given as { readonly outbox: boolean };
    const refused = expect.objectContaining({ code: 'invalid_option', details: { option } });
    expect(() => memoryJournal(options)).toThrow(refused);
    const parts = {
      disk: new MemoryDisk().port(),
      processes: processes.as(runs),
      compactFrom: COMPACT_FROM,
      recent: 0,
    };
    expect(() => journalAt(newPath(), parts, options)).toThrow(refused);
  });

  it('keep no events unless they are asked for', () => {
    expect([
      memoryJournal().outbox,
      memoryJournal({}).outbox,
      memoryJournal({ outbox: false }).outbox,
    ]).toEqual([undefined, undefined, undefined]);
  });
});
