import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeHeader } from '../../../adapters/journals/file/header.js';
import { tailOf, type Tail } from '../../../adapters/journals/file/tail.js';
import { attemptOf } from '../../helpers/attempts.js';
import { failure, MemoryDisk, processOf } from '../../helpers/memory-disk.js';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void; // V8's own function, which has no type.

const PATH = '/journal';
const recall = () => {
  throw new Error('There is no history.');
};

describe('a file that several processes write', () => {
  it('holds each confirmed line once and in the same order for all readers, when writers interrupt each other', async () => {
    const plan = fc.record({
      processes: fc.integer({ min: 2, max: 4 }),
      // Which process writes next, and after how many disk calls another process interrupts it.
      turns: fc.array(fc.record({ which: fc.nat(3), calls: fc.nat(12), other: fc.nat(3) }), {
        minLength: 1,
        maxLength: 25,
      }),
    });
    await fc.assert(
      fc.asyncProperty(plan, async ({ processes, turns }) => {
        const disk = new MemoryDisk();
        disk.put(PATH, encodeHeader());
        /** Runs once, between two calls of a process. */
        let between: { calls: number; readonly run: () => void } | undefined;
        const step = () => {
          if (between === undefined || (between.calls -= 1) > 0) return;
          const { run } = between;
          between = undefined;
          run();
        };
        const tails: Tail[] = [];
        for (let count = 0; count < processes; count += 1) {
          const port = disk.port(step);
          tails.push(
            await tailOf(PATH, port.open(PATH), processOf(count + 1), port, { recall, recent: 0 }),
          );
        }
        let made = 0;
        const counted: string[] = [];
        const write = (tail: Tail): void => {
          for (;;) {
            tail.read();
            const id = `${(made += 1)}`;
            if (!tail.append([{ claim: [id] }])) continue;
            counted.push(id);
            return;
          }
        };
        for (const { which, calls, other } of turns) {
          const first = which % processes;
          const second = (first + 1 + (other % (processes - 1))) % processes;
          between = { calls, run: () => write(tails[second]!) };
          write(tails[first]!);
        }
        between = undefined;
        const seen = tails.map((tail) => {
          tail.read();
          return [...tail.state.claims.keys()];
        });
        const fresh = await tailOf(PATH, disk.port().open(PATH), processOf(99), disk.port(), {
          recall,
          recent: 0,
        });
        for (const keys of [...seen, [...fresh.state.claims.keys()]]) expect(keys).toEqual(seen[0]);
        expect([...seen[0]!].sort()).toEqual([...counted].sort());
      }),
      { numRuns: 200 },
    );
  });

  it('is read on without a gap after a failed read', async () => {
    const disk = new MemoryDisk();
    disk.put(PATH, encodeHeader());
    let reads = Infinity;
    const tailOn = (pid: number, port = disk.port()) =>
      tailOf(PATH, port.open(PATH), processOf(pid), port, { recall, recent: 0 });
    const first = await tailOn(1);
    const second = await tailOn(
      2,
      disk.port((call) => {
        if (call === 'read' && (reads -= 1) === 0) throw failure('EIO');
      }),
    );
    // More bytes than a read takes at once.
    const ids = Array.from({ length: 8 }, (_, index) => `${index}`.repeat(100_000));
    for (const id of ids) expect(first.append([{ claim: [id] }])).toBe(true);
    reads = 2;
    expect(() => second.read()).toThrow('EIO');
    second.read();
    expect([...second.state.claims.keys()]).toEqual(ids);
  });
});

describe('a file that a rewrite replaces', () => {
  it('leaves nothing in memory', async () => {
    const disk = new MemoryDisk();
    const port = disk.port();
    const fileOf = (path: string) => {
      disk.put(path, encodeHeader());
      return port.open(path);
    };
    const tail = await tailOf(PATH, fileOf(PATH), processOf(1), port, { recall, recent: 0 });
    const attempts = new WeakRef(tail.state.attempts);
    tail.append([{ put: attemptOf({ state: 'unsettled' }) }]);
    await tail.goOver(fileOf('/second'));
    await tail.goOver(fileOf('/third'));
    await new Promise(setImmediate);
    collectGarbage();
    expect(attempts.deref()).toBeUndefined();
  });
});
