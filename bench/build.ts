import { writeFile } from 'node:fs/promises';
import { build } from 'tsup';
import { COMMON, ENTRY } from '../scripts/bundling.js';
import { ENTRIES, sources } from '../scripts/entries.js';
import { BUILD } from './process.js';

/**
 * Builds the package, and lets children find it by its name. What tsx makes of the sources gives
 * each closure its name at run time, which costs more than much that is measured here.
 */
export async function buildLibrary(): Promise<void> {
  const paths: readonly string[] = Object.values(ENTRIES);
  await build({
    ...COMMON,
    config: false,
    entry: ENTRY,
    format: ['esm', 'cjs'],
    outDir: BUILD,
    clean: true,
    silent: true,
  });
  const found = sources.map(([name, path]) => [
    name,
    [paths.includes(path) ? `./${path.replace(/\.ts$/, '.js')}` : `../../${path}`],
  ]);
  const compilerOptions = { paths: Object.fromEntries(found) as object };
  await writeFile(`${BUILD}/tsconfig.json`, JSON.stringify({ compilerOptions }));
}
