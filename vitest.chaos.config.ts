import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { alias } from './vitest.config.js';

/** Files that run in `npm test` with some of their cases. */
const sampled = readdirSync('test', { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.test.ts'))
  .map((name) => join('test', name))
  .filter((path) => readFileSync(path, 'utf8').includes('helpers/sampled.js'));

/** Those that take a minute or longer. One that began last would leave the other workers idle. */
const SLOWEST = [
  'many/four-processes',
  'many/one-process',
  'webhooks/ten-thousand',
  'firewall-mutations',
  'firewall-crowds',
  'firewall/handed',
  'matrix/rows-10-12',
  'firewall-guard',
  'what-leaves',
  'chaos/simulation',
];

class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) => {
      const at = SLOWEST.findIndex((name) => moduleId.endsWith(`${name}.test.ts`));
      return at === -1 ? SLOWEST.length : at;
    };
    return (await super.sort(files)).sort((one, other) => place(one) - place(other));
  }
}

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
    sequence: { sequencer: SlowestFirst },
    maxWorkers: 5,
    execArgv: ['--max-semi-space-size=32'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
