import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll } from 'vitest';

/**
 * One file with all that it imports: Node starts it in a third of the time that it takes to load
 * its sources by tsx.
 */
export interface Program {
  /** Once the tests of the file run. */
  readonly path: string;
}

/**
 * Makes a program of a test's child before the tests of a file, and removes it after them. To be
 * called at the top of that file.
 */
export function programOf(child: string): Program {
  let directory = '';
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'exact-change-program-'));
    await build({
      entryPoints: [child],
      outfile: join(directory, 'program.mjs'),
      bundle: true,
      platform: 'node',
      format: 'esm',
      // Some packages are CommonJS, which imports by a function that ES modules lack.
      banner: {
        js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
      },
      external: ['bufferutil', 'utf-8-validate'],
      // The other half of it is native, and it prints if it does not find that.
      alias: { 'bigint-buffer': 'bigint-buffer/dist/browser.js' },
      logLevel: 'error',
    });
  });
  afterAll(() => rm(directory, { recursive: true, force: true }));
  return {
    get path() {
      return join(directory, 'program.mjs');
    },
  };
}
