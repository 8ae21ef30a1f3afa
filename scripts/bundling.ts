import { readdir, readFile, writeFile } from 'node:fs/promises';
import { builtinModules } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { Options } from 'tsup';
import { ENTRIES } from './entries.js';

type Plugin = NonNullable<Options['esbuildPlugins']>[number];
type TsupPlugin = NonNullable<Options['plugins']>[number];

/**
 * Packages that the build bundles into this package. ky has no CommonJS build. spl-token depends on
 * bigint-buffer, which has an advisory without a fix, and compiles native code on installation. The
 * bundle contains only its pure JavaScript half, so users do not install it. The wire uses a few
 * functions of valibot, which are smaller than another package to install and trust.
 * standardwebhooks has 4 kB with its dependencies. @noble/ed25519 has no CommonJS build, and half
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

/** Packages that only the command bundles: for arguments, questions, tables, colour and MCP. */
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

/** Licenses, from their repositories, of packages that are published without a license file. */
const LICENSES: Readonly<Record<string, string>> = {
  standardwebhooks: 'scripts/licenses/standardwebhooks.txt',
};

const root = fileURLToPath(new URL('..', import.meta.url));

/**
 * Drops the decimals of spl-token's layout helper, because the library uses only its integers and
 * keys. The decimals would keep 40 kB of bignumber.js.
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
 * Replaces `require` of Node's modules in CommonJS packages by an import, because an ES module has
 * no `require`.
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
 * Sources of the root export besides the client. Each gets its own output file, so that a bundle
 * without them contains none of their dependencies.
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

/** Returns tsup's entries for sources: each output keeps its folder below `dist`. */
export const entryOf = (paths: readonly string[]) =>
  Object.fromEntries(paths.map((path) => [path.replace(/\.ts$/, ''), path]));

export const ENTRY = entryOf([...Object.values(ENTRIES), ...APART]);

/** Sources that pay; a client loads them at its first 402. */
const PARTS = ['src/parts'];

/** Sources behind dynamic imports; a step loads them when it needs them. */
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
 * Keeps the first code of a client in a single file, and the code that pays in another file. Every
 * later module also re-exports these parts, so that esbuild does not split them by importer. A page
 * then loads few files instead of twenty.
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
 * Removes imports that only keep the order of evaluation, because no module of the library runs
 * code when it loads. Node would read each such file, and a bundle would contain it.
 */
const noBareImports: TsupPlugin = {
  name: 'no-bare-imports',
  renderChunk: (code) => ({ code: code.replace(/^import "\.[^"]*\/chunk-[^"]*";\n/gm, '') }),
};

/** Options of both builds, this package and its sandbox, which both contain the library's code. */
export const COMMON = {
  target: 'es2021',
  // All entries of a format share a copy of each module, and dynamically imported modules stay out
  // of the first load.
  splitting: true,
  // The output is readable. Source maps would double the package, and name files outside of it.
  sourcemap: false,
  // Node 16 supports `node:`. Without the prefix, a bundler may use an npm package of that name.
  removeNodeProtocol: false,
  noExternal: BUNDLED,
  esbuildOptions: (options) => {
    options.alias = { 'bigint-buffer': 'bigint-buffer/dist/browser.js' };
    // Every runtime that supports the rest also supports these features of ES2022, even Node 16.14
    // and Safari 15.
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

/** Writes the licenses of bundled packages to a file. */
export async function writeLicenses(file: string, names: readonly string[]): Promise<void> {
  await writeFile(
    file,
    (await Promise.all(names.map((name) => licenseOf(name)))).join(`\n${'-'.repeat(80)}\n\n`),
  );
}

async function licenseOf(name: string): Promise<string> {
  const files = await readdir(`${root}node_modules/${name}`);
  const file = files.find((entry) => /^licen[sc]e/i.test(entry));
  const path = file === undefined ? LICENSES[name] : `node_modules/${name}/${file}`;
  if (path === undefined) throw new Error(`${name} has no license file to hand on.`);
  return `${name}\n\n${(await readFile(root + path, 'utf8')).trim()}\n`;
}
