import { mkdtemp, readFile } from 'node:fs/promises';
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

/**
 * Puts the simulator and the library into one file, in which no module is loaded late. Returns its
 * path.
 */
export async function bundle(entry: 'worker' | 'run', mend?: string): Promise<string> {
  const outfile = join(await mkdtemp(join(tmpdir(), 'exact-change-simulation-')), `${entry}.cjs`);
  await build({
    entryPoints: [join(here, `${entry}.ts`)],
    outfile,
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
  return outfile;
}
