import { mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Plugin } from 'esbuild';
import { mends } from './mends.js';

const here = fileURLToPath(new URL('.', import.meta.url));
const root = resolve(here, '../..');

/** Signatures by Node's own code: the pure one is correct, and forty times slower. */
const quickKeys: Plugin = {
  name: 'quick keys',
  setup({ onResolve }) {
    onResolve({ filter: /^@noble\/curves\/ed25519(\.js)?$/ }, ({ path, importer, resolveDir, pluginData }) => {
      if (pluginData === 'real' || importer.endsWith('quick-keys.ts')) return undefined;
      return { path: join(here, 'quick-keys.ts') };
      void path;
      void resolveDir;
    });
  },
};

/** The library as it was before one of its mends. */
function without(name: string): Plugin {
  const mend = mends.find((one) => one.name === name);
  if (mend === undefined) throw new Error(`No mend is called ${name}: there are ${mends.map((one) => one.name).join(', ')}.`);
  return {
    name: 'without a mend',
    setup({ onLoad }) {
      for (const file of new Set(mend.changes.map((change) => change.file))) {
        onLoad({ filter: new RegExp(`${file.replace(/[.\\/]/g, '.')}$`) }, async ({ path }) => {
          let text = await readFile(path, 'utf8');
          for (const { now, before } of mend.changes.filter((change) => change.file === file)) {
            if (text.split(now).length !== 2) throw new Error(`${file} does not have the text of ${name} once: ${now}`);
            text = text.replace(now, () => before);
          }
          return { contents: text, loader: 'ts' };
        });
      }
    },
  };
}

/** Puts the simulator and the library into one file that Node runs. Returns its path. */
export async function bundle(mend?: string): Promise<string> {
  const outfile = join(await mkdtemp(join(tmpdir(), 'exact-change-simulation-')), 'worker.cjs');
  await build({
    entryPoints: [join(here, 'worker.ts')],
    outfile,
    absWorkingDir: root,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    logLevel: 'error',
    external: ['bufferutil', 'utf-8-validate'],
    // One package looks for a native half of itself, and prints where it finds none.
    define: { 'process.browser': 'true' },
    plugins: [quickKeys, ...(mend === undefined ? [] : [without(mend)])],
  });
  return outfile;
}
