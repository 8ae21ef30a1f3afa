import { expect, it } from 'vitest';
import { runScript } from '../helpers/example.js';
import { bundle } from '../simulation/bundle.js';
import { planOf } from '../simulation/plan.js';
import { start, type Started } from '../simulation/start.js';
import type { Report } from '../simulation/worker.js';

const RUN_MS = 20_000;
// Other test files run beside this file and need the other cores.
const WORKERS = 1;

it(
  `the client keeps its promises in a modelled world for twenty seconds of new seeds`,
  async () => {
    const seed = Math.floor(Math.random() * 1e9);
    const program = await bundle('worker');
    const broken: string[] = [];
    let runs = 0;
    const onReport = (report: Report) => {
      if (report.kind === 'ran') runs += 1;
      if (report.kind !== 'broken') return;
      const drop = report.drop.length === 0 ? '' : ` --drop ${report.drop.join(',')}`;
      broken.push(...report.broken, `Replay it: npm run simulate -- --seed ${report.seed}${drop}`);
      for (const { stop } of workers) stop();
    };
    const orders = { step: WORKERS, ms: RUN_MS, runs: 1e9, drop: [], trace: false };
    const workers: readonly Started[] = Array.from({ length: WORKERS }, (_, index) =>
      start(program.path, { ...orders, seed: seed + index }, onReport),
    );
    try {
      await Promise.all(workers.map(({ ended }) => ended));
    } finally {
      await program.remove();
    }
    expect(broken, `from seed ${seed}`).toEqual([]);
    expect(runs).toBeGreaterThan(0);
    process.stdout.write(`${runs} runs from seed ${seed}\n`);
  },
  RUN_MS + 180_000,
);

/** Returns the command's report of a broken promise, and the arguments of its replay. */
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

// The test runs the command twice, and each run bundles its program again.
it('the simulator reports a broken promise by seed and smallest plan, and a replay reports the same', async () => {
  const { report, replay } = await reported(
    '--seed',
    '1',
    '--minutes',
    '10',
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
  expect(parts.map((line): unknown => JSON.parse(line))).toEqual(JSON.parse(JSON.stringify(left)));
  // Those parts alone fail in the same way.
  expect((await reported(...replay)).report).toBe(report);
});
