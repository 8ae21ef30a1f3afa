import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { sources } from './scripts/entries.js';

/** Tests import the package by its name, and get its source. */
export const alias = sources.map(([name, path]) => ({
  find: new RegExp(`^${name}$`),
  replacement: fileURLToPath(new URL(path, import.meta.url)),
}));

/** Runs the small files of the contracts first: they take long, and the largest start first. */
class ContractsFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isContract = ({ moduleId }: TestSpecification) => moduleId.includes('contract');
    return [...sorted.filter(isContract), ...sorted.filter((file) => !isContract(file))];
  }
}

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
    sequence: { sequencer: ContractsFirst },
    globalSetup: ['test/helpers/postgres-of-run.ts'],
    include: ['test/{unit,contract,surface,integration}/**/*.test.ts'],
  },
});
