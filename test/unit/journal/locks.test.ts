import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { createLocks } from '../../../src/journal/locks.js';

const turn = () => Promise.resolve();

describe('a lock', () => {
  it('has one holder at a time, in the order of requests', async () => {
    const locks = createLocks();
    const log: string[] = [];
    const work = (name: string) => async () => {
      log.push(`${name} in`);
      await turn();
      await turn();
      log.push(`${name} out`);
    };
    await Promise.all(['a', 'b', 'c'].map((name) => locks.hold(['x'], work(name))));
    expect(log).toEqual(['a in', 'a out', 'b in', 'b out', 'c in', 'c out']);
  });

  it('does not wait for a lock of another name', async () => {
    const locks = createLocks();
    let free = (): void => undefined;
    const held = locks.hold(['x'], () => new Promise<void>((resolve) => (free = resolve)));
    await expect(locks.hold(['y'], () => Promise.resolve('through'))).resolves.toBe('through');
    free();
    await held;
  });

  it('returns the result of the work, and is free after the work fails at once or later', async () => {
    const locks = createLocks();
    const throwing = (): Promise<never> => {
      throw new Error('at once');
    };
    await expect(locks.hold(['x', 'y'], throwing)).rejects.toThrow('at once');
    await expect(locks.hold(['y', 'x'], () => Promise.reject(new Error('later')))).rejects.toThrow(
      'later',
    );
    await expect(locks.hold(['x', 'y'], () => Promise.resolve(5))).resolves.toBe(5);
  });

  it('admits no newcomer while it passes to the next holder', async () => {
    const locks = createLocks();
    let inside = 0;
    let most = 0;
    const work = async () => {
      inside += 1;
      most = Math.max(most, inside);
      await turn();
      inside -= 1;
    };
    const first = locks.hold(['x'], work).then(() => locks.hold(['x'], work));
    const second = locks.hold(['x'], work);
    await Promise.all([first, second, turn().then(() => locks.hold(['x'], work))]);
    expect(most).toBe(1);
  });

  it('never deadlocks and never has two holders, for any names in any order', async () => {
    const names = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 4 });
    const job = fc.record({ names, turns: fc.nat(4), fails: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.array(job, { maxLength: 12 }), async (jobs) => {
        const locks = createLocks();
        const holders = new Map<string, number>();
        let overlaps = 0;
        const run = ({ names: wanted, turns, fails }: (typeof jobs)[number], index: number) =>
          locks.hold(wanted, async () => {
            for (const name of wanted) {
              if (holders.has(name) && holders.get(name) !== index) overlaps += 1;
              holders.set(name, index);
            }
            for (let left = turns; left > 0; left -= 1) await turn();
            for (const name of wanted) holders.delete(name);
            if (fails) throw new Error('failed');
          });
        const ended = await Promise.allSettled(jobs.map(run));
        expect(ended.map(({ status }) => status)).toEqual(
          jobs.map(({ fails }) => (fails ? 'rejected' : 'fulfilled')),
        );
        expect(overlaps).toBe(0);
      }),
    );
  });

  it('leaves nothing in memory when all locks are free', async () => {
    const set = vi.spyOn(Map.prototype, 'set');
    const locks = createLocks();
    try {
      const work = Array.from({ length: 100 }, (_, index) =>
        locks.hold(['shared', `name ${index}`], turn),
      );
      const kept = new Set(
        set.mock.contexts.filter((_, index) => set.mock.calls[index]?.[0] === 'name 0'),
      );
      const [tails] = kept;
      if (!(tails instanceof Map) || kept.size !== 1)
        throw new Error(
          'The locks no longer keep their names in one Map: see what holds them now.',
        );
      expect(tails.size).toBeGreaterThan(0);
      await Promise.all(work);
      expect(tails.size).toBe(0);
    } finally {
      set.mockRestore();
    }
  });
});

describe('the queue of a lock', () => {
  it('releases a caller that aborts, and lets no caller overtake another', async () => {
    const locks = createLocks();
    const log: string[] = [];
    let free = (): void => undefined;
    const first = locks.hold(['x'], () => new Promise<void>((resolve) => (free = resolve)));
    const controller = new AbortController();
    const work = vi.fn(turn);
    const aborted = locks.hold(['a', 'x', 'y'], work, [undefined, controller.signal]);
    const last = locks.hold(['x'], () => Promise.resolve(log.push('last')));
    controller.abort('enough');
    await expect(aborted).rejects.toBe('enough');
    await expect(locks.hold(['a', 'y'], () => Promise.resolve('free'))).resolves.toBe('free');
    expect(log).toEqual([]);
    free();
    await Promise.all([first, last]);
    expect(log).toEqual(['last']);
    expect(work).not.toHaveBeenCalled();
  });

  it('refuses a caller with a fired signal, and ignores a signal that fires during the work', async () => {
    const locks = createLocks();
    const work = vi.fn(turn);
    await expect(locks.hold(['x'], work, [AbortSignal.abort('before')])).rejects.toBe('before');
    expect(work).not.toHaveBeenCalled();
    const controller = new AbortController();
    const done = locks.hold(['x'], () => turn().then(() => (controller.abort('during'), 'done')), [
      controller.signal,
    ]);
    await expect(done).resolves.toBe('done');
  });
});
