import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { alias } from './vitest.config.js';

/** Files that run in `npm test` with some of their cases. */
const sampled = readdirSync('test', { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.test.ts'))
  .map((name) => join('test', name))
  .filter((path) => readFileSync(path, 'utf8').includes('helpers/sampled.js'));

/**
 * kill -9, the fault matrix, many payments at once, and every case of what is sampled in
 * `npm test`: slower, and on its own, because each run may use the whole machine.
 */
export default defineConfig({
  resolve: { alias },
  test: {
    name: 'chaos',
    include: ['test/chaos/**/*.test.ts', ...sampled],
    env: { EVERY_CASE: '1' },
    pool: 'forks',
    isolate: false,
    maxWorkers: 4,
    execArgv: ['--max-semi-space-size=32'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
