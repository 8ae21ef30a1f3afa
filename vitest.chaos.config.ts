import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { alias, startingWith } from './vitest.config.js';

/** Files of which `npm test` runs a share of the cases, and chaos the rest. */
const sampled = readdirSync('test', { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.test.ts'))
  .map((name) => join('test', name))
  .filter((path) => readFileSync(path, 'utf8').includes('helpers/sampled.js'));

/**
 * A thousand payments or ten thousand events at once: what a busy machine makes time out is done
 * again, and takes many times as long.
 */
const crowds = 'test/chaos/{many,webhooks}/**/*.test.ts';

/**
 * kill -9, the fault matrix, many payments at once, and the cases that `npm test` leaves out:
 * slower, and on its own, because each run may use the whole machine.
 */
export default defineConfig({
  resolve: { alias },
  test: {
    env: { CHAOS: '1' },
    pool: 'forks',
    isolate: false,
    execArgv: ['--max-semi-space-size=32'],
    globalSetup: ['test/helpers/postgres-of-run.ts'],
    // For a hang alone: a machine under load may take ten times as long as a quiet one.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 60_000 } },
    // Four processes, which keep all cores busy, come last of the crowds.
    sequence: { sequencer: startingWith(/kill|simulation|one-process|ten-thousand/) },
    projects: [
      {
        extends: true,
        test: { name: 'crowds', include: [crowds], maxWorkers: 2, sequence: { groupOrder: 1 } },
      },
      {
        extends: true,
        test: {
          name: 'chaos',
          include: ['test/chaos/**/*.test.ts', ...sampled],
          exclude: [crowds],
          maxWorkers: 6,
          sequence: { groupOrder: 0 },
        },
      },
    ],
  },
});
