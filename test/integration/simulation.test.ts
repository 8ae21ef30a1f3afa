import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundle, type Bundle } from '../simulation/bundle.js';
import { mends } from '../simulation/mends.js';
import { start } from '../simulation/start.js';
import type { Report } from '../simulation/worker.js';

// These four runs have faults of the journal, the signer, callers, readers and processes.
const SEED = 40;
const RUNS = 4;

let program: Bundle;
beforeAll(async () => void (program = await bundle('worker')));
afterAll(() => program.remove());

/** Returns the hashes of the events of some runs, by seed. */
async function hashes(seed: number, runs: number): Promise<ReadonlyMap<number, string>> {
  const found = new Map<number, string>();
  const hear = (report: Report) => {
    if (report.kind === 'ran') found.set(report.seed, report.hash);
    else if (report.kind === 'broken') throw new Error(report.broken.join('\n'));
  };
  await start(program.path, { seed, step: 1, ms: 60_000, runs, drop: [], trace: false }, hear)
    .ended;
  return found;
}

describe('the simulator', () => {
  it('does the same for the same seed, in another process, whatever ran before', async () => {
    const first = await hashes(SEED, RUNS);
    expect(first.size).toBe(RUNS);
    expect(new Set(first.values()).size).toBe(RUNS);
    expect(await hashes(SEED, RUNS)).toEqual(first);
    const last = SEED + RUNS - 1;
    expect((await hashes(last, 1)).get(last)).toBe(first.get(last));
  });

  it.each(mends)('can undo $name: its text stands once in its file', ({ changes }) => {
    for (const { file, now } of changes)
      expect(readFileSync(file, 'utf8').split(now)).toHaveLength(2);
  });
});
