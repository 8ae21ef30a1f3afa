import { rm } from 'node:fs/promises';
import { defineConfig, type Options } from 'tsup';
import {
  BUNDLED,
  BUNDLED_IN_COMMAND,
  COMMON,
  importBuiltins,
  writeLicenses,
} from './scripts/bundling.js';
import { BIN, COMMAND, ENTRIES } from './scripts/entries.js';

const named = (paths: readonly string[]) =>
  Object.fromEntries(paths.map((path) => [path.replace(/\.ts$/, ''), path]));

const library = named(Object.values(ENTRIES));
const options: Options = { ...COMMON, entry: library, dts: true };

/**
 * The command is an ES module alone. It loads the library by its name, so that nothing of that is in
 * it, and the library is cut into files as it is without it.
 */
export default defineConfig(async () => {
  // tsup would clean once for each of them, which run at the same time.
  await rm('dist', { recursive: true, force: true });
  const bundled = [...BUNDLED, ...BUNDLED_IN_COMMAND];
  return [
    {
      ...options,
      format: 'esm',
      onSuccess: () => writeLicenses('dist/LICENSES.txt', bundled),
    },
    { ...options, format: 'cjs' },
    {
      ...options,
      format: 'esm',
      target: 'node20',
      entry: [...Object.values(BIN), COMMAND],
      outDir: 'dist/adapters/cli',
      dts: false,
      external: [/^exact-change(\/|$)/],
      noExternal: bundled,
      esbuildPlugins: [...COMMON.esbuildPlugins, importBuiltins],
    },
  ];
});
