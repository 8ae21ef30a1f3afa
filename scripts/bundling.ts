import { readdir, readFile, writeFile } from 'node:fs/promises';
import { builtinModules } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { Options } from 'tsup';
import { ENTRIES } from './entries.js';

type Plugin = NonNullable<Options['esbuildPlugins']>[number];
type TsupPlugin = NonNullable<Options['plugins']>[number];

/**
 * Packages whose code is in ours. ky has no CommonJS build. spl-token would bring bigint-buffer,
 * which has an advisory without a fix, is compiled on installation, and prints if that failed:
 * bundled, its pure JavaScript half does, and nothing of it is installed. Of valibot the wire uses
 * a few functions, which are smaller than one more package to install and to trust.
 * standardwebhooks is 4 kB with all that it needs. @noble/ed25519 has no CommonJS build, and is half
 * the size of @noble/curves.
 */
export const BUNDLED = [
  '@noble/ed25519',
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
 * What the root export has beside the client: in files of their own, a bundle that uses none of them
 * holds nothing that they need.
 */
const APART = [
  'adapters/local/index.ts',
  'adapters/remote/index.ts',
  'src/inspect.ts',
  'src/interceptor.ts',
  'src/memory-journal.ts',
  'src/protocols/x402/parse-payment-required.ts',
  'src/receipt-text.ts',
  'src/receipt.ts',
];

/** What tsup makes of sources: each in its folder below `dist`. */
export const entryOf = (paths: readonly string[]) =>
  Object.fromEntries(paths.map((path) => [path.replace(/\.ts$/, ''), path]));

export const ENTRY = entryOf([...Object.values(ENTRIES), ...APART]);

/** What pays, which a client loads at its first 402. */
const PARTS = ['src/parts'];

/** What is loaded by a step that needs it, each behind a dynamic import. */
const LATER = [
  'adapters/(local|remote)/operations',
  'src/config/kit-signer',
  'src/inspect-engine',
  'src/(journal|outbox)/memory',
  'src/payments/(pay-ahead|pay-header|reasons|recovery|step-log|swap-engine|timeouts)',
  'src/payments/execute/resign',
  'src/protocols/x402/rare',
  'src/solana/ed25519',
  'src/solana/rpc/rare-calls',
  'src/solana/transactions/wallet-changes',
  'src/swaps/jupiter/connect',
];

/**
 * Keeps in one file what a client loads first, and in another what pays: all that is loaded later
 * gets to all of them, so that esbuild has no reason to part them by what needs which. A page loads
 * few files instead of twenty.
 */
const fewFiles: Plugin = {
  name: 'few-files',
  setup(build) {
    const extend = (files: readonly string[], name: string, from: string) =>
      build.onLoad({ filter: new RegExp(`/(${files.join('|')})\\.ts$`) }, async ({ path }) => ({
        contents: `${await readFile(path, 'utf8')}\nexport { ${name} as earlier } from '${root}src/${from}';`,
        loader: 'ts',
      }));
    extend(PARTS, 'createClient', 'create-client.ts');
    extend(LATER, 'parts', 'parts.ts');
  },
};

/**
 * Takes out imports that only keep an order of evaluation: nothing of ours runs when it is loaded.
 * Each is a file that Node would read, and a part of a bundle that esbuild would load.
 */
const noBareImports: TsupPlugin = {
  name: 'no-bare-imports',
  renderChunk: (code) => ({ code: code.replace(/^import "\.[^"]*\/chunk-[^"]*";\n/gm, '') }),
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
    // All that have the rest have these of es2022 too, Node 16.14 and Safari 15 among them.
    options.supported = {
      'class-field': true,
      'class-static-field': true,
      'class-private-accessor': true,
      'class-private-field': true,
      'class-private-method': true,
      'class-private-static-field': true,
    };
  },
  esbuildPlugins: [dropDecimals, fewFiles],
  plugins: [noBareImports],
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
