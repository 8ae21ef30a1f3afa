import { readdir, readFile, writeFile } from 'node:fs/promises';
import { builtinModules } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { Options } from 'tsup';

type Plugin = NonNullable<Options['esbuildPlugins']>[number];

/**
 * Packages whose code is in ours. ky has no CommonJS build. spl-token would bring bigint-buffer,
 * which has an advisory without a fix, is compiled on installation, and prints if that failed:
 * bundled, its pure JavaScript half does, and nothing of it is installed. Of valibot the wire uses
 * a few functions, which are smaller than one more package to install and to trust.
 * standardwebhooks is 4 kB with all that it needs.
 */
export const BUNDLED = [
  'ky',
  '@solana/spl-token',
  '@solana/buffer-layout-utils',
  'bigint-buffer',
  'valibot',
  '@valibot/to-json-schema',
  'standardwebhooks',
  '@stablelib/base64',
  'fast-sha256',
];

/** Of the command alone: parsing arguments, questions, tables, colour, MCP. */
export const BUNDLED_IN_COMMAND = [
  'commander',
  '@clack/prompts',
  '@clack/core',
  'fast-string-truncated-width',
  'fast-string-width',
  'fast-wrap-ansi',
  'sisteransi',
  'cli-table3',
  'string-width',
  'strip-ansi',
  'ansi-regex',
  'emoji-regex',
  'is-fullwidth-code-point',
  'picocolors',
  '@modelcontextprotocol/server',
  '@modelcontextprotocol/core',
  'zod',
];

/** The license of a package that is published without: as its repository has it. */
const LICENSES: Readonly<Record<string, string>> = {
  standardwebhooks: 'scripts/licenses/standardwebhooks.txt',
};

const root = fileURLToPath(new URL('..', import.meta.url));

/**
 * Of spl-token's helper only integers and keys are used; left alone, its decimals keep 40 kB of
 * bignumber.js.
 */
const dropDecimals: Plugin = {
  name: 'drop-decimals',
  setup(build) {
    build.onResolve(
      { filter: /^(\.\/decimal\.mjs|bignumber\.js)$/ },
      async ({ path, kind, importer, resolveDir, pluginData }) => {
        if (pluginData === dropDecimals) return undefined;
        const resolved = await build.resolve(path, {
          kind,
          importer,
          resolveDir,
          pluginData: dropDecimals,
        });
        return { ...resolved, sideEffects: false };
      },
    );
  },
};

/**
 * Node's own modules for packages that are CommonJS: `require` of what is not in the output does not
 * work in an ES module, and an import does.
 */
export const importBuiltins: Plugin = {
  name: 'import-builtins',
  setup(build) {
    const filter = new RegExp(`^(?:node:.*|${builtinModules.join('|')})$`);
    build.onResolve({ filter }, ({ path, kind }) =>
      kind === 'require-call' ? { path, namespace: 'builtin' } : undefined,
    );
    build.onLoad({ filter: /.*/, namespace: 'builtin' }, ({ path }) => {
      const name = JSON.stringify(`node:${path.replace(/^node:/, '')}`);
      return { contents: `export * from ${name}; export { default } from ${name};` };
    });
  },
};

/**
 * What the build of this package and that of its sandbox have in common: the code of the library is
 * in both.
 */
export const COMMON = {
  target: 'es2021',
  // One chunk graph per format: the entries share one copy of every module, and what is imported
  // dynamically stays out of the first load.
  splitting: true,
  // The output is readable as it is; maps would double the package and name files that are not in
  // it.
  sourcemap: false,
  // Node 16 knows node:, and without the prefix a bundler may put a package of that name in its
  // place.
  removeNodeProtocol: false,
  noExternal: BUNDLED,
  esbuildOptions: (options) => {
    options.alias = { 'bigint-buffer': 'bigint-buffer/dist/browser.js' };
  },
  esbuildPlugins: [dropDecimals],
} satisfies Options;

/** Hands on the licenses of packages whose code is in the output. */
export async function writeLicenses(file: string, names: readonly string[]): Promise<void> {
  await writeFile(
    file,
    (await Promise.all(names.map((name) => licenseOf(name)))).join(`\n${'-'.repeat(80)}\n\n`),
  );
}

async function licenseOf(name: string): Promise<string> {
  const own = (await readdir(`${root}node_modules/${name}`)).find((one) =>
    /^licen[sc]e/i.test(one),
  );
  const path = own === undefined ? LICENSES[name] : `node_modules/${name}/${own}`;
  if (path === undefined) throw new Error(`${name} has no license file to hand on.`);
  return `${name}\n\n${(await readFile(root + path, 'utf8')).trim()}\n`;
}
