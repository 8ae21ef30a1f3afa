import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build as esbuild } from 'esbuild';
import { build as vite } from 'vite';
import { describe, expect, inject, it } from 'vitest';

const { consumer } = inject('packed');
const page = join(consumer, 'page.mjs');

async function esbuildOutputs(entry: string) {
  const { metafile, warnings } = await esbuild({
    entryPoints: [entry],
    absWorkingDir: consumer,
    bundle: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2021',
    splitting: true,
    outdir: join(consumer, 'esbuild-out'),
    metafile: true,
    write: false,
    logLevel: 'silent',
  });
  expect(warnings).toEqual([]);
  return Object.values(metafile.outputs);
}

/**
 * The modules of Node in whose place vite puts empty ones. A package may itself say that it needs
 * none in browsers, as bn.js does: those have no name.
 */
async function nodeModulesInVite(entry: string) {
  const result = await vite({
    root: consumer,
    configFile: false,
    logLevel: 'silent',
    build: { write: false, rolldownOptions: { input: entry } },
  });
  const outputs = (Array.isArray(result) ? result : [result]).flatMap((one) =>
    'output' in one ? one.output : [],
  );
  return outputs
    .flatMap((one) => (one.type === 'chunk' ? one.moduleIds : []))
    .filter((id) => id.includes('__vite-browser-external:'));
}

describe('a bundle for browsers', () => {
  it('holds no Node module and needs no polyfill: esbuild', async () => {
    const outputs = await esbuildOutputs(page);
    expect(outputs.flatMap(({ imports }) => imports.filter(({ external }) => external))).toEqual(
      [],
    );
    // The engine stays in chunks of its own: the page loads them with its first payment.
    expect(outputs.length).toBeGreaterThan(1);
  });

  it('holds no Node module and needs no polyfill: vite', async () => {
    expect(await nodeModulesInVite(page)).toEqual([]);
  });

  it('would be found out if it did', async () => {
    const bad = join(consumer, 'bad.mjs');
    await writeFile(
      bad,
      "import { randomBytes } from 'node:crypto'; globalThis.random = () => randomBytes(8);",
    );
    await expect(esbuildOutputs(bad)).rejects.toThrow(/node:crypto/);
    expect(await nodeModulesInVite(bad)).toEqual([expect.stringContaining('node:crypto')]);
  });
});
