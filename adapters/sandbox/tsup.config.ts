import { readFile, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { defineConfig, type Options } from 'tsup';
import { BUNDLED, COMMON, writeLicenses } from '../../scripts/bundling.js';

const reading = "readFileSync(new URL('./venue.so', import.meta.url))";
const importing = "import { readFileSync } from 'node:fs';";

/**
 * Puts the bytes of the on-chain program into the code. In the source tree the sandbox reads them
 * from a file beside the module, but the build has no such file.
 */
const inlineVenue: NonNullable<Options['esbuildPlugins']>[number] = {
  name: 'inline-venue',
  setup(build) {
    build.onLoad({ filter: /[\\/]venue\.mjs$/ }, async ({ path }) => {
      const source = await readFile(path, 'utf8');
      if (!source.includes(reading) || !source.includes(importing)) {
        throw new Error(`${path} no longer reads venue.so the way the build replaces.`);
      }
      const contents = source
        .replace(importing, "import program from './venue.so';")
        .replace(reading, 'program');
      return { contents, loader: 'js', resolveDir: dirname(path) };
    });
  },
};

const options: Options = {
  ...COMMON,
  target: 'node20',
  tsconfig: '../../tsconfig.json',
  loader: { '.so': 'binary' },
  esbuildPlugins: [...COMMON.esbuildPlugins, inlineVenue],
};

/**
 * The command is built only as an ES module. It contains the demo and the client that the demo
 * uses; in the build, `exact-change` and this package resolve to the sources.
 */
export default defineConfig(async () => {
  // tsup would clean for each of the two concurrent builds, and delete files of the other build.
  await rm('dist', { recursive: true, force: true });
  return [
    {
      ...options,
      entry: { index: 'index.ts', bin: 'bin.ts' },
      format: 'esm',
      dts: { entry: { index: 'index.ts' } },
      onSuccess: () => writeLicenses('dist/LICENSES.txt', BUNDLED),
    },
    { ...options, entry: { index: 'index.ts' }, format: 'cjs', dts: true },
  ];
});
