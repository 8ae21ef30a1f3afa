import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Plugin } from 'esbuild';
import { mends } from './mends.js';

const here = fileURLToPath(new URL('.', import.meta.url));
const root = resolve(here, '../..');

/**
 * Replaces the pure JavaScript check of signatures by Node's, which is forty times faster. Disables
 * WebCrypto, because its threads answer at times that virtual time does not control. Sockets are of
 * the global class, which the world replaces.
 */
const quickKeys: Plugin = {
  name: 'quick keys',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /^@noble\/ed25519$/ }, ({ importer }) =>
      importer.endsWith('quick-keys.ts') ? undefined : { path: join(here, 'quick-keys.ts') },
    );
    onLoad({ filter: /src\/solana\/web-crypto\.ts$/ }, async ({ path }) => ({
      contents: (await readFile(path, 'utf8')).replace(
        'return crypto?.subtle;',
        'return undefined;',
      ),
      loader: 'ts',
    }));
    onLoad({ filter: /src\/solana\/rpc\/web-socket\.ts$/ }, async ({ path }) => ({
      contents: (await readFile(path, 'utf8')).replace(
        "return (await import('ws')).default;",
        'return WebSocket;',
      ),
      loader: 'ts',
    }));
  },
};

/** Builds the library without a mend. */
function without(name: string): Plugin {
  const mend = mends.find((known) => known.name === name);
  if (mend === undefined)
    throw new Error(
      `No mend is called ${name}: there are ${mends.map((known) => known.name).join(', ')}.`,
    );
  return {
    name: 'without a mend',
    setup({ onLoad }) {
      for (const file of new Set(mend.changes.map((change) => change.file))) {
        onLoad({ filter: new RegExp(`${file.replace(/[.\\/]/g, '.')}$`) }, async ({ path }) => {
          let text = await readFile(path, 'utf8');
          for (const { now, before } of mend.changes.filter((change) => change.file === file)) {
            if (text.split(now).length !== 2)
              throw new Error(`${file} does not have the text of ${name} once: ${now}`);
            text = text.replace(now, () => before);
          }
          return { contents: text, loader: 'ts' };
        });
      }
    },
  };
}

/** A bundled file, alone in a temporary directory. */
export interface Bundle {
  readonly path: string;
  /** Removes the file and its directory. Call it when the file has been loaded. */
  remove(): Promise<void>;
}

/** Bundles the simulator and the library into a single file, without dynamic imports. */
export async function bundle(entry: 'worker' | 'thread', mend?: string): Promise<Bundle> {
  const directory = await mkdtemp(join(tmpdir(), 'exact-change-simulation-'));
  const path = join(directory, `${entry}.cjs`);
  await build({
    entryPoints: [join(here, `${entry}.ts`)],
    outfile: path,
    absWorkingDir: root,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    logLevel: 'error',
    external: ['bufferutil', 'utf-8-validate'],
    // The default entry of this package prints a warning if it cannot find its native module.
    alias: { 'bigint-buffer': 'bigint-buffer/dist/browser.js' },
    plugins: [quickKeys, ...(mend === undefined ? [] : [without(mend)])],
  });
  return { path, remove: () => rm(directory, { recursive: true, force: true }) };
}
