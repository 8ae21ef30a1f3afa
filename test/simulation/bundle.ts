import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Plugin } from 'esbuild';
import { mends } from './mends.js';

const here = fileURLToPath(new URL('.', import.meta.url));
const root = resolve(here, '../..');

/**
 * Signatures by Node's own code: the pure one is correct, and forty times slower. None by WebCrypto,
 * which answers when its thread is done, and not when virtual time says so.
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
  },
};

/** The library as it was before one of its mends. */
function without(name: string): Plugin {
  const mend = mends.find((one) => one.name === name);
  if (mend === undefined)
    throw new Error(
      `No mend is called ${name}: there are ${mends.map((one) => one.name).join(', ')}.`,
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

/** One file, in a directory of its own. */
export interface Bundle {
  readonly path: string;
  /** Removes it with its directory. To be called once it is loaded. */
  remove(): Promise<void>;
}

/** Puts the simulator and the library into one file, in which no module is loaded late. */
export async function bundle(entry: 'worker' | 'run', mend?: string): Promise<Bundle> {
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
    // The other half of it is native, and it prints if it does not find that.
    alias: { 'bigint-buffer': 'bigint-buffer/dist/browser.js' },
    plugins: [quickKeys, ...(mend === undefined ? [] : [without(mend)])],
  });
  return { path, remove: () => rm(directory, { recursive: true, force: true }) };
}
