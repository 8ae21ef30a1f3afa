import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runScript } from '../helpers/example.js';
import { bundle, type Bundle } from '../simulation/bundle.js';
import { mends } from '../simulation/mends.js';
import { planOf } from '../simulation/plan.js';
import { start } from '../simulation/start.js';
import type { Report } from '../simulation/worker.js';

const SEED = 7;
const RUNS = 4;

let program: Bundle;
beforeAll(async () => void (program = await bundle('worker')));
afterAll(() => program.remove());

/** The hashes of what happens in some runs, by their seeds. */
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

/** What the command reports of a promise that it finds broken, and how it says to replay that. */
async function reported(
  ...args: readonly string[]
): Promise<{ readonly report: string; readonly replay: readonly string[] }> {
  const { code, stdout } = await runScript('test/simulation/main.ts', args);
  const [, report, replay] =
    /\n(Seed \d+ breaks a promise:[^]*\nReplay it: npm run simulate -- (.*)\n)$/.exec(stdout) ?? [];
  if (code !== 1 || report === undefined || replay === undefined)
    throw new Error(`Nothing was reported, with code ${code}:\n${stdout}`);
  return { report, replay: replay.split(' ') };
}

describe('the simulator', () => {
  it('does the same for the same seed, in another process, and whatever ran before', async () => {
    const first = await hashes(SEED, RUNS);
    expect(first.size).toBe(RUNS);
    expect(new Set(first.values()).size).toBe(RUNS);
    expect(await hashes(SEED, RUNS)).toEqual(first);
    const last = SEED + RUNS - 1;
    expect((await hashes(last, 1)).get(last)).toBe(first.get(last));
  });

  // Three times the command, each of which makes its program anew.
  it(
    'reports a broken promise by its seed and the least of its plan, and the same when that is replayed',
    { timeout: 120_000 },
    async () => {
      const { report, replay } = await reported(
        '--seed',
        '1',
        '--minutes',
        '1',
        '--workers',
        '1',
        '--without',
        'caps-count-all',
      );
      const [, seed = '', , drop = ''] = replay;
      expect(replay).toEqual(['--seed', seed, '--drop', drop, '--without', 'caps-count-all']);
      expect(report).toMatch(/^Seed \d+ breaks a promise:\n {2}(within caps|spent tells all): /);
      const [, listed = ''] = report.split('With these parts left of its plan:');
      const parts = listed.split('\n').filter((line) => line.startsWith('  {"kind":'));
      const dropped = new Set(drop.split(',').map(Number));
      const left = planOf(Number(seed)).parts.filter((_, index) => !dropped.has(index));
      expect(dropped.size).toBeGreaterThan(0);
      expect(parts.map((line): unknown => JSON.parse(line))).toEqual(
        JSON.parse(JSON.stringify(left)),
      );
      // The whole plan shrinks to the same; the least of it alone fails as it did.
      expect((await reported('--seed', seed, '--without', 'caps-count-all')).report).toBe(report);
      expect((await reported(...replay)).report).toBe(report);
    },
  );

  it.each(mends)('can take $name back: its text stands once in its file', ({ changes }) => {
    for (const { file, now } of changes)
      expect(readFileSync(file, 'utf8').split(now)).toHaveLength(2);
  });
});
