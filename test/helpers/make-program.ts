import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';

/**
 * One file with all that a test's child imports, alone in a directory: Node starts it in a third of
 * the time that it takes to load its sources by tsx. Resolves to its path.
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
    // Some packages are CommonJS, which imports by a function that ES modules lack.
    banner: {
      js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
    },
    external: ['bufferutil', 'utf-8-validate'],
    // The other half of it is native, and it prints if it does not find that.
    alias: { 'bigint-buffer': 'bigint-buffer/dist/browser.js' },
    logLevel: 'error',
  });
  return outfile;
}
