import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { lockFile, type FileLock } from '../../../adapters/journals/file/lock.js';
import { isExactChangeError } from '../../../src/errors.js';
import { fakeProcesses, MemoryDisk, type Step } from '../../helpers/memory-disk.js';

const PATH = '/journal';
const LOCK = `${PATH}.lock`;

/**
 * A disk whose lock was held by processes that have ended, each the successor of the one before,
 * and none in its place yet.
 */
async function diskLeftBy(count: number) {
  const disk = new MemoryDisk();
  const processes = fakeProcesses();
  for (let pid = 1; pid <= count; pid += 1) {
    // Each ends right before it would take the place of the first.
    const ending: Step = (call) => {
      if (call === 'rename' || call === 'unlink') throw new Error('ended');
    };
    await lockFile(PATH, disk.port(pid === 1 ? undefined : ending), processes.as(pid)).catch(
      () => undefined,
    );
    processes.end(pid);
  }
  return { disk, processes };
}

const contents = (disk: MemoryDisk) => new TextDecoder().decode(disk.files.get(LOCK));

describe('a lock', () => {
  it('is a file that names its holder, and no more, until it is released', async () => {
    const disk = new MemoryDisk();
    const lock = await lockFile(PATH, disk.port(), fakeProcesses().as(7));
    expect([...disk.files.keys()]).toEqual([LOCK]);
    expect(JSON.parse(contents(disk))).toEqual({
      id: expect.stringMatching(/^token/),
      pid: 7,
      start: 'start of 7',
      host: 'host',
    });
    expect(await lock.isHeld()).toBe(true);
    await lock.release();
    expect(disk.files.size).toBe(0);
    expect(await lock.isHeld()).toBe(false);
  });

  it('of another process is respected, and named', async () => {
    const disk = new MemoryDisk();
    const processes = fakeProcesses();
    await lockFile(PATH, disk.port(), processes.as(7));
    const before = contents(disk);
    await expect(lockFile(PATH, disk.port(), processes.as(8))).rejects.toMatchObject({
      code: 'journal_locked',
      details: { path: PATH, pid: 7 },
      message: expect.stringContaining('Process 7 has the journal at /journal'),
    });
    expect(contents(disk)).toBe(before);
    expect([...disk.files.keys()]).toEqual([LOCK]);
  });

  it.each([1, 2, 3])(
    'of %d processes that have ended, each on the way to the place of the one before, is free',
    async (count) => {
      const { disk, processes } = await diskLeftBy(count);
      const lock = await lockFile(PATH, disk.port(), processes.as(9));
      expect(await lock.isHeld()).toBe(true);
      expect(JSON.parse(contents(disk))).toMatchObject({ pid: 9 });
      expect([...disk.files.keys()].filter((name) => name.includes('.after.'))).toEqual([]);
      await expect(lockFile(PATH, disk.port(), processes.as(10))).rejects.toMatchObject({
        details: { pid: 9 },
      });
    },
  );

  it.each(['', '{}', 'null', '{"id":"x","pid":"7","host":"host"}', '\0\0\0'])(
    'that holds %j names no process that could be asked: it is respected',
    async (text) => {
      const disk = new MemoryDisk();
      disk.put(LOCK, new TextEncoder().encode(text));
      await expect(lockFile(PATH, disk.port(), fakeProcesses().as(7))).rejects.toMatchObject({
        code: 'journal_locked',
        details: { pid: 0 },
      });
      expect([...disk.files.keys()]).toEqual([LOCK]);
    },
  );

  it('that was taken away, or replaced, is not held any more, and is left to its new holder', async () => {
    const disk = new MemoryDisk();
    const lock = await lockFile(PATH, disk.port(), fakeProcesses().as(7));
    disk.delete(LOCK);
    expect(await lock.isHeld()).toBe(false);
    const other = await lockFile(PATH, disk.port(), fakeProcesses().as(8));
    expect([await lock.isHeld(), await other.isHeld()]).toEqual([false, true]);
    await lock.release();
    expect(await other.isHeld()).toBe(true);
  });

  it('fails with the disk', async () => {
    const full: Step = (call) => {
      if (call === 'sync') throw new Error('disk full');
    };
    const disk = new MemoryDisk();
    await expect(lockFile(PATH, disk.port(full), fakeProcesses().as(7))).rejects.toThrow(
      'disk full',
    );
    expect(disk.files.size).toBe(0);
  });

  it('has one holder at most at any instant, in whatever order the steps of many come, and whichever of them ends on the way', async () => {
    const contender = fc.record({
      ends: fc.constantFrom('while it holds', 'on the way', 'never'),
      after: fc.nat(12),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.array(contender, { minLength: 2, maxLength: 5 }),
        fc.nat(3),
        async (scheduler, contenders, left) => {
          const { disk, processes } = await diskLeftBy(left);
          const holders = new Set<number>();
          let most = 0;
          let held = 0;
          const contend = async ({ ends, after }: (typeof contenders)[number], index: number) => {
            const pid = 100 + index;
            let steps = 0;
            const step: Step = async (call) => {
              await scheduler.schedule(Promise.resolve(), `${pid} ${call}`);
              // A process that has ended does nothing more: its step never comes back.
              if (ends === 'on the way' && (steps += 1) > after) {
                processes.end(pid);
                holders.delete(pid);
                await new Promise(() => undefined);
              }
            };
            let lock: FileLock;
            try {
              lock = await lockFile(PATH, disk.port(step), processes.as(pid));
            } catch (error) {
              if (!isExactChangeError(error, 'journal_locked')) throw error;
              return;
            }
            holders.add(pid);
            held += 1;
            most = Math.max(most, holders.size);
            if (!(await lock.isHeld())) throw new Error(`${pid} lost the lock`);
            await scheduler.schedule(Promise.resolve(), `${pid} works`);
            if (!(await lock.isHeld())) throw new Error(`${pid} lost the lock while it worked`);
            holders.delete(pid);
            if (ends === 'while it holds') processes.end(pid);
            else await lock.release();
          };
          const failures: unknown[] = [];
          for (const [index, one] of contenders.entries())
            contend(one, index).catch((error: unknown) => failures.push(error));
          await scheduler.waitIdle();
          expect(failures).toEqual([]);
          expect(most).toBeLessThanOrEqual(1);
          // A process that comes when the living are done, and the others have ended, gets it.
          contenders.forEach((_, index) => processes.end(100 + index));
          expect(await (await lockFile(PATH, disk.port(), processes.as(99))).isHeld()).toBe(true);
          if (contenders.every(({ ends }) => ends !== 'on the way'))
            expect(held).toBeGreaterThan(0);
        },
      ),
      { numRuns: 500 },
    );
  });
});
