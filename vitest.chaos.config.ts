import { defineConfig } from 'vitest/config';
import { alias } from './vitest.config.js';

/** kill -9, the fault matrix, and many payments at once: slower than `npm test`, and on its own because each run may use the whole machine. */
export default defineConfig({
  resolve: { alias },
  test: {
    name: 'chaos',
    include: ['test/chaos/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
