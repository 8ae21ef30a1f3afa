import { rm } from 'node:fs/promises';
import { defineConfig } from 'tsup';
import {
  BUNDLED,
  BUNDLED_IN_COMMAND,
  COMMON,
  ENTRY,
  entryOf,
  importBuiltins,
  writeLicenses,
} from './scripts/bundling.js';
import { declarationsOf } from './scripts/declarations.js';
import { BIN, COMMAND, ENTRIES, PAGE } from './scripts/entries.js';

/**
 * The command is an ES module alone. It loads the library by its name, so that nothing of that is in
 * it, and the library is cut into files as it is without it. The page that it serves is three files
 * beside it, which `serve --ui` alone reads.
 */
export default defineConfig(async () => {
  // tsup would clean for both at the same time, each what the other writes.
  await rm('dist', { recursive: true, force: true });
  const bundled = [...BUNDLED, ...BUNDLED_IN_COMMAND];
  return [
    {
      ...COMMON,
      entry: ENTRY,
      format: ['esm', 'cjs'],
      dts: { entry: declarationsOf(entryOf(Object.values(ENTRIES))) },
      onSuccess: () => writeLicenses('dist/LICENSES.txt', bundled),
    },
    {
      ...COMMON,
      format: 'esm',
      target: 'node20',
      entry: [...Object.values(BIN), COMMAND],
      outDir: 'dist/adapters/cli',
      external: [/^exact-change(\/|$)/],
      noExternal: bundled,
      esbuildPlugins: [importBuiltins],
      // Most of it is the code of others: a megabyte of MCP alone.
      esbuildOptions: (options) => {
        COMMON.esbuildOptions(options);
        options.minifyWhitespace = true;
      },
    },
    {
      entry: PAGE,
      format: 'esm',
      platform: 'browser',
      target: 'es2022',
      outDir: 'dist/adapters/cli/ui',
      loader: { '.html': 'copy' },
      minify: true,
      splitting: false,
    },
  ];
});
