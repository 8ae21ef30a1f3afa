import { builtinModules } from 'node:module';
import { join } from 'node:path';
import { build as esbuild } from 'esbuild';
import { build as vite } from 'vite';
import { describe, expect, inject, it } from 'vitest';

const { consumer } = inject('packed');
const entry = join(consumer, 'page.mjs');

describe('a bundle for browsers', () => {
  it('holds no Node module and needs no polyfill: esbuild', async () => {
    const { metafile, warnings, outputFiles } = await esbuild({
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
    const externals = Object.values(metafile.outputs).flatMap(({ imports }) =>
      imports.filter(({ external }) => external).map(({ path }) => path),
    );
    expect(externals).toEqual([]);
    // The engine stays in chunks of its own: the page loads them with its first payment.
    expect(outputFiles.length).toBeGreaterThan(1);
  });

  it('holds no Node module and needs no polyfill: vite', async () => {
    const warnings: string[] = [];
    const result = await vite({
      root: consumer,
      configFile: false,
      logLevel: 'silent',
      build: {
        write: false,
        minify: false,
        target: 'es2021',
        rolldownOptions: { input: entry, onLog: (_, { message }) => void warnings.push(message) },
      },
    });
    const outputs = (Array.isArray(result) ? result : [result]).flatMap((one) => ('output' in one ? one.output : []));
    const code = outputs.map((one) => (one.type === 'chunk' ? one.code : '')).join('\n');
    expect(code).toContain('createClient');
    // What vite puts in the place of a Node module.
    expect(code).not.toContain('__vite-browser-external');
    const named = builtinModules.filter((name) => new RegExp(`(from|import|require\\()\\s*["'](node:)?${name}["']`).test(code));
    expect(named).toEqual([]);
    expect(warnings).toEqual([]);
  });
});
