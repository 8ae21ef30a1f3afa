import { expect, it } from 'vitest';
import { bundle } from '../simulation/bundle.js';
import { start, type Started } from '../simulation/start.js';
import type { Report } from '../simulation/worker.js';

const MINUTES = 1;
// The rest of the machine is of the files that run beside this one.
const WORKERS = 1;

it(
  `keeps its promises in a modelled world, in a minute of seeds that no run had before`,
  async () => {
    const seed = Math.floor(Math.random() * 1e9);
    const program = await bundle('worker');
    const broken: string[] = [];
    let runs = 0;
    const hear = (report: Report) => {
      if (report.kind === 'ran') runs += 1;
      if (report.kind !== 'broken') return;
      const drop = report.drop.length === 0 ? '' : ` --drop ${report.drop.join(',')}`;
      broken.push(...report.broken, `Replay it: npm run simulate -- --seed ${report.seed}${drop}`);
      for (const { stop } of workers) stop();
    };
    const orders = { step: WORKERS, ms: MINUTES * 60_000, runs: 1e9, drop: [], trace: false };
    const workers: readonly Started[] = Array.from({ length: WORKERS }, (_, index) =>
      start(program.path, { ...orders, seed: seed + index }, hear),
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
  (MINUTES + 3) * 60_000,
);
