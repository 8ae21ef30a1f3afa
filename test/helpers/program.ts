import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';

export interface Program {
  /** Of one file with all that it imports: Node starts it in a third of the time that it takes to load its sources by tsx. */
  readonly path: string;
  remove(): Promise<void>;
}

/** Makes a program of a test's child. */
export async function programOf(child: string): Promise<Program> {
  const directory = await mkdtemp(join(tmpdir(), 'exact-change-program-'));
  const path = join(directory, 'program.mjs');
  await build({
    entryPoints: [child],
    outfile: path,
    bundle: true,
    platform: 'node',
    format: 'esm',
    // Some packages are CommonJS, which imports by a function that ES modules lack.
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
    external: ['bufferutil', 'utf-8-validate'],
    // The other half of it is native, and it prints if it does not find that.
    alias: { 'bigint-buffer': 'bigint-buffer/dist/browser.js' },
    logLevel: 'error',
  });
  return { path, remove: () => rm(directory, { recursive: true, force: true }) };
}
