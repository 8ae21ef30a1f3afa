import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { sources } from './scripts/entries.js';

/** Tests import the package by its name, and get its source. */
export const alias = sources.map(([name, path]) => ({
  find: new RegExp(`^${name}$`),
  replacement: fileURLToPath(new URL(path, import.meta.url)),
}));

/**
 * Returns a sequencer that runs files with these paths first, and then the largest first. A small
 * file may take long, and would leave a core idle at the end.
 */
export const startingWith = (paths: RegExp) =>
  class extends BaseSequencer {
    override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
      const sorted = await super.sort(files);
      const isFirst = ({ moduleId }: TestSpecification) => paths.test(moduleId);
      return [...sorted.filter(isFirst), ...sorted.filter((file) => !isFirst(file))];
    }
  };

export default defineConfig({
  resolve: { alias },
  test: {
    // Processes, not threads: LiteSVM is native code that ends its process when it panics.
    pool: 'forks',
    // Most of a test's time is waiting for blocks.
    maxWorkers: 7,
    execArgv: ['--max-semi-space-size=32'],
    // Loading the library and its packages for each file anew would be a third of all work.
    isolate: false,
    // For a hang alone: a machine under load may take ten times as long as a quiet one.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
    sequence: { sequencer: startingWith(/contract/) },
    globalSetup: ['test/helpers/postgres-of-run.ts'],
    include: ['test/{unit,contract,surface,integration}/**/*.test.ts'],
  },
});
