import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** Tests import the package by its name, and get its source. */
export const alias = [
  { find: /^exact-change-sandbox$/, replacement: source('./adapters/sandbox/index.ts') },
  { find: /^exact-change\/webhooks$/, replacement: source('./adapters/webhooks/index.ts') },
  {
    find: /^exact-change\/webhooks\/verify$/,
    replacement: source('./adapters/webhooks/verify.ts'),
  },
  { find: /^exact-change\/http$/, replacement: source('./adapters/http/index.ts') },
  { find: /^exact-change\/express$/, replacement: source('./adapters/mounts/express.ts') },
  { find: /^exact-change\/hono$/, replacement: source('./adapters/mounts/hono.ts') },
  { find: /^exact-change\/node$/, replacement: source('./adapters/mounts/node.ts') },
  { find: /^exact-change\/journal\/file$/, replacement: source('./adapters/journals/file.ts') },
  {
    find: /^exact-change\/journal\/postgres$/,
    replacement: source('./adapters/journals/postgres.ts'),
  },
  { find: /^exact-change$/, replacement: source('./src/index.ts') },
];

export default defineConfig({
  resolve: { alias },
  test: {
    // Processes, not threads: LiteSVM is native code that ends its process when it panics.
    pool: 'forks',
    // Most of a test's time is waiting for blocks.
    maxWorkers: 5,
    // Loading the library and its packages for each file anew would be a third of all work.
    isolate: false,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    projects: [
      {
        extends: true,
        test: { name: 'unit', include: ['test/{unit,contract,surface}/**/*.test.ts'] },
      },
      { extends: true, test: { name: 'integration', include: ['test/integration/**/*.test.ts'] } },
      {
        extends: true,
        test: {
          name: 'types',
          include: [],
          typecheck: {
            enabled: true,
            only: true,
            include: ['test/types/**/*.test-d.ts'],
            ignoreSourceErrors: true,
          },
        },
      },
    ],
  },
});
