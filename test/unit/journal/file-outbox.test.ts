import { describe, expect, it } from 'vitest';
import { encodeLine } from '../../../adapters/journals/file/line.js';
import { journalAt, type FileJournal } from '../../../adapters/journals/file/journal.js';
import { memoryJournal } from '../../../src/memory-journal.js';
import type { Endpoint } from '../../../src/outbox/outbox.js';
import type { Journal } from '../../../src/journal/types.js';
import { withOutbox } from '../../contract/outbox-contract.js';
import { attemptOf, fullAttemptOf, listOf } from '../../helpers/attempts.js';
import { failure, fakeProcesses, MemoryDisk, type Step } from '../../helpers/memory-disk.js';

// Promises of every outbox are tested in test/contract/outbox-contract.ts.

const COMPACT_FROM = 20_000;
/** Longer than any test takes, because leases end in real time. */
const LEASE_MS = 3_600_000;
const later = () => Date.now() + LEASE_MS;

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

/** The disk that the next process finds after the current process ends. */
async function killed(
  disk: MemoryDisk,
  what: 'kill' | 'power failure',
  journal: FileJournal,
): Promise<MemoryDisk> {
  const after = disk.after(what);
  // The end of the process is only simulated, so its journal must be closed.
  await journal.close();
  processes.end(runs);
  runs += 1;
  return after;
}

/** Reserves and releases an attempt, which adds a failure event. Returns the id of the attempt. */
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

describe('the outbox of a file journal', () => {
  it.each(['kill', 'power failure'] as const)(
    'keeps confirmed events and endpoints after a %s, and frees the jobs that workers had taken',
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
      // A signed payment is synced, and with it everything that was written before.
      await sign(before);
      const after = withOutbox(onDisk(await killed(disk, what, before), path));
      expect(new Set(await idsIn(after))).toEqual(new Set(ids));
      expect(await after.outbox.endpoints()).toEqual([endpoint]);
    },
  );

  it('writes an event and its state change in one line, so a torn line loses both', async () => {
    const [disk, path] = [new MemoryDisk(), newPath()];
    const before = onDisk(disk, path);
    const attempt = attemptOf();
    await before.reserve(attempt, []);
    const whole = disk.files.get(path)?.length ?? 0;
    await before.put({ ...attempt, state: 'abandoned' });
    const data = disk.files.get(path) ?? new Uint8Array();
    const crashed = await killed(disk, 'kill', before);
    for (let length = whole; length < data.length; length += 1) {
      crashed.put(path, data.slice(0, length));
      const after = onDisk(crashed, path);
      expect([
        (await listOf(after.attempts(attempt))).map(({ state }) => state),
        await takeAll(after),
      ]).toEqual([['reserved'], []]);
      await after.close();
    }
    crashed.put(path, data);
    const after = onDisk(crashed, path);
    expect([
      (await listOf(after.attempts(attempt))).map(({ state }) => state),
      await idsIn(after),
    ]).toEqual([['abandoned'], [attempt.id]]);
  });

  it('keeps undelivered events and the leases of workers when the file is rewritten', async () => {
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
    // On a busy machine the rewrite goes on after the last of these writes.
    await expect.poll(() => renames.length).toBeGreaterThan(0);
    expect((await takeAll(journal, now)).map(({ event }) => event.data.id)).toEqual([ids[1]]);
    expect((await takeAll(journal, now + LEASE_MS)).map(({ event }) => event.data.id)).toEqual(ids);
    expect(taken?.event.data.id).toBe(ids[0]);
    const after = withOutbox(onDisk(await killed(disk, 'kill', journal), path));
    expect(await idsIn(after)).toEqual(ids);
    expect(await after.outbox.endpoints()).toEqual([endpoint]);
  });

  it('announces, takes and ends no job while the disk fails, and goes on afterwards', async () => {
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
    for (const call of failing) await expect(call).rejects.toMatchObject(unavailable);
    expect(calls).toBe(0);
    down.is = false;
    // No other worker gets the job until its lease is over; the failed take leases nothing.
    expect(await takeAll(journal, now)).toEqual([]);
    expect((await takeAll(journal, now + LEASE_MS)).map(({ event }) => event.data.id)).toEqual([
      id,
    ]);
    await journal.release(attempt.id);
    expect([calls, await idsIn(journal)]).toEqual([1, [attempt.id]]);
  });

  it('leaves a job to another process that takes it first', async () => {
    const [disk, path] = [new MemoryDisk(), newPath()];
    const writer = onDisk(disk, path);
    await fail(writer);
    const now = later();
    const [job] = await takeAll(writer, now);
    await writer.close();
    let rivals = 0;
    const step: Step = (call) => {
      if (call !== 'append' || rivals === 0) return;
      rivals -= 1;
      const file = disk.port().open(path);
      const taken = { taken: [now + 9 * LEASE_MS, job?.id] };
      file.append(encodeLine(file.size(), JSON.stringify(['rival', taken])));
    };
    const journal = onDisk(disk, path, { step });
    expect(await takeAll(journal, now + LEASE_MS)).toHaveLength(1);
    rivals = 1;
    expect(await takeAll(journal, now + 3 * LEASE_MS)).toEqual([]);
    expect(await takeAll(journal, now + 9 * LEASE_MS)).toEqual([job]);
  });

  it('ends jobs without a sync, because a receiver may hear an event twice', async () => {
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

describe('an outbox that several journals of a file share', () => {
  it('gets the events of all journals, and notifies all listeners, after a journal with an outbox was used', async () => {
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

  it('keeps its events while no journal has an outbox, and gets more only for an enabled endpoint', async () => {
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
    [
      'an endpoint with an unknown event',
      { endpoint: { ...endpoint, events: ['payment.stolen'] } },
    ],
    ['an endpoint with an invalid secret', { endpoint: { ...endpoint, secrets: [{}] } }],
  ])('is damaged by %s', async (_, record) => {
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

describe('a new journal', () => {
  const wrong: readonly (readonly [string, object | null])[] = [
    ['outbox', { outbox: 'yes' }],
    ['outBox', { outBox: true }],
    ['options', null],
  ];

  it.each(wrong)('is refused at once when its %s is wrong', (option, value) => {
    const options = value as { readonly outbox: boolean };
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

  it('keeps no events unless its options ask for them', () => {
    expect([
      memoryJournal().outbox,
      memoryJournal({}).outbox,
      memoryJournal({ outbox: false }).outbox,
    ]).toEqual([undefined, undefined, undefined]);
  });
});
