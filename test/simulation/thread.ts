import { parentPort, workerData } from 'node:worker_threads';
import { planOf } from './plan.js';
import { run } from './run.js';

/**
 * Runs the plans of some seeds in a thread, which has global objects of its own, and posts each
 * outcome: a run replaces the clock, and leaves its journals open.
 */
async function work(seeds: readonly number[]): Promise<void> {
  for (const seed of seeds) parentPort?.postMessage(await run(planOf(seed)));
}

void work(workerData as readonly number[]);
