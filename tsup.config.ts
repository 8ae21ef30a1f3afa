import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { defineConfig, type Options } from 'tsup';

const reading = "readFileSync(new URL('./venue.so', import.meta.url))";
const importing = "import { readFileSync } from 'node:fs';";

/** In the source tree the sandbox reads its on-chain program from the file beside it. A chunk has no file beside it: there the bytes are in the code. */
const inlineVenue: NonNullable<Options['esbuildPlugins']>[number] = {
  name: 'inline-venue',
  setup(build) {
    build.onLoad({ filter: /[\\/]venue\.mjs$/ }, async ({ path }) => {
      const source = await readFile(path, 'utf8');
      if (!source.includes(reading) || !source.includes(importing))
        throw new Error(`${path} no longer reads venue.so the way the build replaces.`);
      const contents = source.replace(importing, "import program from './venue.so';").replace(reading, 'program');
      return { contents, loader: 'js', resolveDir: dirname(path) };
    });
  },
};

export default defineConfig({
  entry: { 'src/index': 'src/index.ts', 'adapters/sandbox/index': 'adapters/sandbox/index.ts' },
  format: ['esm', 'cjs'],
  target: 'es2021',
  // One chunk graph per format: the entries share one copy of every module, and what is imported dynamically stays out of the first load.
  splitting: true,
  dts: true,
  clean: true,
  // The output is readable as it is; maps would double the package and name files that are not in it.
  sourcemap: false,
  // Node 16 knows node:, and without the prefix a bundler may put a package of that name in its place.
  removeNodeProtocol: false,
  // ky has no CommonJS build.
  noExternal: ['ky'],
  loader: { '.so': 'binary' },
  esbuildPlugins: [inlineVenue],
});
