import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * What the package is imported by, and the file behind each name. A new mount or journal is a file
 * and a line here: `npm run entries` then writes the lists of package.json, tsconfig.json and
 * typedoc.json, and tsup, vitest and the tests read this one.
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

/** What the package is run by. */
export const BIN = { 'exact-change': 'adapters/cli/bin.ts' } as const;

/** What the bin loads first, under a name of its own: its size is a gate. */
export const COMMAND = 'adapters/cli/main.ts';

/** The page of `serve --ui`: scripts for a browser, and what they come with. */
export const PAGE = {
  page: 'adapters/cli/ui/page/main.ts',
  style: 'adapters/cli/ui/page/style.css',
  index: 'adapters/cli/ui/page/index.html',
} as const;

/** The sandbox is a package of its own, which the tests and the reference know too. */
const SANDBOX = { name: 'exact-change-sandbox', path: 'adapters/sandbox/index.ts' } as const;

const pairs = Object.entries(ENTRIES);

/** What code imports, by name, and the source that stands in for it here. */
export const sources: readonly (readonly [name: string, path: string])[] = [
  ...pairs.map(([entry, path]) => [entry.replace(/^\./, 'exact-change'), path] as const),
  [SANDBOX.name, SANDBOX.path] as const,
];

const built = (path: string, extension: string) =>
  `./dist/${path.replace(/\.ts$/, `.${extension}`)}`;

/** The part of each file that follows from the entries. */
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
    // For TypeScript that does not read `exports`.
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

/** A file's text, with its lists as they have to be. */
export function withLists(name: keyof typeof lists, text: string): string {
  const whole = JSON.parse(text) as object; // All three files hold one.
  return `${JSON.stringify(merged(whole, lists[name]), null, 2)}\n`;
}

/** Puts parts into an object: objects are merged down to `compilerOptions`, all else is replaced. */
function merged(whole: object, parts: object): object {
  const changed = Object.entries(parts).map(([key, part]: [string, unknown]) => {
    const now: unknown = Reflect.get(whole, key);
    const isInner = key === 'compilerOptions' && typeof now === 'object' && now !== null;
    return [key, isInner && typeof part === 'object' && part !== null ? merged(now, part) : part];
  });
  return { ...whole, ...Object.fromEntries(changed) };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const name of Object.keys(lists) as (keyof typeof lists)[])
    // The keys of a literal.
    writeFileSync(name, withLists(name, readFileSync(name, 'utf8')));
}
