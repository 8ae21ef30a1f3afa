import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * Entry points of the package, with the source of each. For a new mount or journal, add its file
 * and a line here. Then `npm run entries` writes the lists in package.json, tsconfig.json and
 * typedoc.json; tsup, vitest and the tests read this list.
 */
export const ENTRIES = {
  '.': 'src/index.ts',
  './ai': 'adapters/ai/index.ts',
  './axios': 'adapters/axios.ts',
  './express': 'adapters/mounts/express.ts',
  './fastify': 'adapters/mounts/fastify.ts',
  './hono': 'adapters/mounts/hono.ts',
  './http': 'adapters/http/index.ts',
  './journal/file': 'adapters/journals/file.ts',
  './journal/indexeddb': 'adapters/journals/indexeddb.ts',
  './journal/postgres': 'adapters/journals/postgres.ts',
  './koa': 'adapters/mounts/koa.ts',
  './mcp': 'adapters/mcp/index.ts',
  './next': 'adapters/mounts/next.ts',
  './node': 'adapters/mounts/node.ts',
  './otel': 'adapters/otel/index.ts',
  './signers/kms': 'adapters/signers/kms.ts',
  './signers/ledger': 'adapters/signers/ledger.ts',
  './undici': 'adapters/undici.ts',
  './wallet-adapter': 'adapters/signers/wallet-adapter.ts',
  './wallet-standard': 'adapters/signers/wallet-standard.ts',
  './webhooks': 'adapters/webhooks/index.ts',
  './webhooks/verify': 'adapters/webhooks/verify.ts',
  './x402': 'adapters/x402.ts',
} as const;

/** Commands of the package. */
export const BIN = { 'exact-change': 'adapters/cli/bin.ts' } as const;

/** The module that the bin loads first. It has its own output, because a gate checks its size. */
export const COMMAND = 'adapters/cli/main.ts';

/** Sources of the page of `serve --ui`: the browser script, its style and its HTML. */
export const PAGE = {
  page: 'adapters/cli/ui/page/main.ts',
  style: 'adapters/cli/ui/page/style.css',
  index: 'adapters/cli/ui/page/index.html',
} as const;

/** The sandbox is a separate package, which tests and the API reference also use. */
const SANDBOX = { name: 'exact-change-sandbox', path: 'adapters/sandbox/index.ts' } as const;

const pairs = Object.entries(ENTRIES);

/** Import names of the packages, and the sources to which they resolve in this repository. */
export const sources: readonly (readonly [name: string, path: string])[] = [
  ...pairs.map(([entry, path]) => [entry.replace(/^\./, 'exact-change'), path] as const),
  [SANDBOX.name, SANDBOX.path] as const,
];

const built = (path: string, extension: string) =>
  `./dist/${path.replace(/\.ts$/, `.${extension}`)}`;

/** The generated part of each file. */
export const lists = {
  'package.json': {
    bin: Object.fromEntries(Object.entries(BIN).map(([name, path]) => [name, built(path, 'js')])),
    exports: {
      ...Object.fromEntries(
        pairs.map(([entry, path]) => [
          entry,
          {
            import: { types: built(path, 'd.ts'), default: built(path, 'js') },
            require: { types: built(path, 'd.cts'), default: built(path, 'cjs') },
          },
        ]),
      ),
      './package.json': './package.json',
    },
    // For TypeScript versions and settings that do not read `exports`.
    typesVersions: {
      '*': Object.fromEntries(
        pairs
          .filter(([entry]) => entry !== '.')
          .map(([entry, path]) => [entry.slice(2), [built(path, 'd.ts')]]),
      ),
    },
  },
  'tsconfig.json': {
    compilerOptions: {
      paths: Object.fromEntries(sources.map(([name, path]) => [name, [`./${path}`]])),
    },
  },
  'typedoc.json': { entryPoints: sources.map(([, path]) => path) },
} as const;

/** Returns a file's text with its generated lists. */
export function withLists(name: keyof typeof lists, text: string): string {
  const whole = JSON.parse(text) as object; // Each of the three files contains an object.
  return `${JSON.stringify(merged(whole, lists[name]), null, 2)}\n`;
}

/** Replaces parts of an object; only `compilerOptions` is merged. */
function merged(whole: object, parts: object): object {
  const changed = Object.entries(parts).map(([key, part]: [string, unknown]) => {
    const old: unknown = Reflect.get(whole, key);
    const isInner = key === 'compilerOptions' && typeof old === 'object' && old !== null;
    return [key, isInner && typeof part === 'object' && part !== null ? merged(old, part) : part];
  });
  return { ...whole, ...Object.fromEntries(changed) };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const name of Object.keys(lists) as (keyof typeof lists)[])
    // The cast is safe, because the keys are those of the literal above.
    writeFileSync(name, withLists(name, readFileSync(name, 'utf8')));
}
