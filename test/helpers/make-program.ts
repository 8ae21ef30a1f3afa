import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';

/**
 * Bundles a test's child process into a single file, alone in a directory, and returns its path.
 * Node starts the bundle in a third of the time that tsx needs to load the sources.
 */
export async function makeProgram(child: string): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'exact-change-program-'));
  const outfile = join(directory, 'program.mjs');
  await build({
    entryPoints: [child],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    // Some packages are CommonJS and call `require`, which ES modules lack.
    banner: {
      js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
    },
    external: ['bufferutil', 'utf-8-validate'],
    // The default entry of this package prints a warning if it cannot find its native module.
    alias: { 'bigint-buffer': 'bigint-buffer/dist/browser.js' },
    logLevel: 'error',
  });
  return outfile;
}
