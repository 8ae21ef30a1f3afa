import { writeFile } from 'node:fs/promises';
import { build } from 'tsup';
import { COMMON, ENTRY } from '../scripts/bundling.js';
import { ENTRIES, sources } from '../scripts/entries.js';
import { BUILD } from './process.js';

/**
 * Builds the package, so that child processes can import it by name. With tsx, each closure would
 * get its name at run time, which costs more than many of the measured steps.
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
