import { readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { defineConfig, type Options } from 'tsup';

type Plugin = NonNullable<Options['esbuildPlugins']>[number];

/**
 * Packages whose code is in ours. ky has no CommonJS build. spl-token would bring bigint-buffer, which has an advisory without a fix, is
 * compiled on installation, and prints where that failed: bundled, its pure JavaScript half does, and nothing of it is installed. Of valibot the wire
 * uses a few functions, which are smaller than one more package to install and to trust. standardwebhooks is 4 kB with all that it needs.
 */
const BUNDLED = [
  'ky',
  '@solana/spl-token',
  '@solana/buffer-layout-utils',
  'bigint-buffer',
  'valibot',
  'standardwebhooks',
  '@stablelib/base64',
  'fast-sha256',
];

/** The license of a package that is published without: as its repository has it. */
const LICENSES: Readonly<Record<string, string>> = { standardwebhooks: 'scripts/licenses/standardwebhooks.txt' };

const reading = "readFileSync(new URL('./venue.so', import.meta.url))";
const importing = "import { readFileSync } from 'node:fs';";

/** In the source tree the sandbox reads its on-chain program from the file beside it. A chunk has no file beside it: there the bytes are in the code. */
const inlineVenue: Plugin = {
  name: 'inline-venue',
  setup(build) {
    build.onLoad({ filter: /[\\/]venue\.mjs$/ }, async ({ path }) => {
      const source = await readFile(path, 'utf8');
      if (!source.includes(reading) || !source.includes(importing)) {
        throw new Error(`${path} no longer reads venue.so the way the build replaces.`);
      }
      const contents = source.replace(importing, "import program from './venue.so';").replace(reading, 'program');
      return { contents, loader: 'js', resolveDir: dirname(path) };
    });
  },
};

/** Of spl-token's helper only integers and keys are used; left alone, its decimals keep 40 kB of bignumber.js. */
const dropDecimals: Plugin = {
  name: 'drop-decimals',
  setup(build) {
    build.onResolve({ filter: /^(\.\/decimal\.mjs|bignumber\.js)$/ }, async ({ path, kind, importer, resolveDir, pluginData }) => {
      if (pluginData === dropDecimals) return undefined;
      const resolved = await build.resolve(path, { kind, importer, resolveDir, pluginData: dropDecimals });
      return { ...resolved, sideEffects: false };
    });
  },
};

async function licenseOf(name: string): Promise<string> {
  const own = (await readdir(`node_modules/${name}`)).find((one) => /^licen[sc]e/i.test(one));
  const path = own === undefined ? LICENSES[name] : `node_modules/${name}/${own}`;
  if (path === undefined) throw new Error(`${name} has no license file to hand on.`);
  return `${name}\n\n${(await readFile(path, 'utf8')).trim()}\n`;
}

export default defineConfig({
  entry: {
    'src/index': 'src/index.ts',
    'adapters/mounts/express': 'adapters/mounts/express.ts',
    'adapters/mounts/hono': 'adapters/mounts/hono.ts',
    'adapters/http/index': 'adapters/http/index.ts',
    'adapters/journals/file': 'adapters/journals/file.ts',
    'adapters/journals/postgres': 'adapters/journals/postgres.ts',
    'adapters/mounts/node': 'adapters/mounts/node.ts',
    'adapters/sandbox/index': 'adapters/sandbox/index.ts',
    'adapters/webhooks/index': 'adapters/webhooks/index.ts',
    'adapters/webhooks/verify': 'adapters/webhooks/verify.ts',
  },
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
  noExternal: BUNDLED,
  esbuildOptions: (options) => {
    options.alias = { 'bigint-buffer': 'bigint-buffer/dist/browser.js' };
  },
  loader: { '.so': 'binary' },
  esbuildPlugins: [inlineVenue, dropDecimals],
  onSuccess: async () => {
    await writeFile('dist/LICENSES.txt', (await Promise.all(BUNDLED.map((name) => licenseOf(name)))).join(`\n${'-'.repeat(80)}\n\n`));
  },
});
