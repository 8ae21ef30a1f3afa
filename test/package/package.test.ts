import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, inject, it } from 'vitest';

const run = promisify(execFile);
const { consumer } = inject('packed');
const installed = join(consumer, 'node_modules/exact-change');

/** Returns all output of a script of the consumer, or rejects with it if the script fails. */
async function node(
  script: string,
  args: string[] = [],
  binary = process.execPath,
): Promise<string> {
  const { stdout, stderr } = await run(binary, [script, ...args], {
    cwd: consumer,
    maxBuffer: 16 * 1024 * 1024,
  });
  return `${stdout}${stderr}`.trim();
}

describe('the packed package', () => {
  it('contains only built files, documents and licenses', () => {
    const files = readdirSync(installed, { recursive: true, encoding: 'utf8' }).filter((path) =>
      /\.\w+$|^LICENSE$/.test(path),
    );
    const documents = files.filter((path) => !path.startsWith('dist'));
    expect(documents.sort()).toEqual([
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'SECURITY.md',
      ...readdirSync(new URL('../../docs', import.meta.url))
        .filter((name) => name.endsWith('.md'))
        .map((name) => `docs/${name}`),
      'package.json',
    ]);
    expect(
      files.filter((path) => path.startsWith('dist') && !/\.(js|cjs|d\.ts|d\.cts)$/.test(path)),
    ).toEqual([
      'dist/LICENSES.txt',
      'dist/adapters/cli/ui/index.html',
      'dist/adapters/cli/ui/style.css',
    ]);
  });

  it('declares nothing by a type of the DOM that the types of Node lack', () => {
    const declarations = readdirSync(installed, { recursive: true, encoding: 'utf8' }).filter(
      (path) => path.endsWith('.d.ts'),
    );
    expect(declarations.length).toBeGreaterThan(20);
    expect(
      declarations.filter((path) =>
        /\b(BodyInit|HeadersInit|RequestInfo)\b/.test(readFileSync(join(installed, path), 'utf8')),
      ),
    ).toEqual([]);
  });

  it('includes the license of every bundled package', () => {
    const code = readdirSync(installed, { recursive: true, encoding: 'utf8' }).filter((path) =>
      /\.c?js$/.test(path),
    );
    const names = code.flatMap((path) =>
      [
        ...readFileSync(join(installed, path), 'utf8').matchAll(
          /^\/\/ node_modules\/((?:@[^/]+\/)?[^/]+)/gm,
        ),
      ].map(([, name]) => name),
    );
    const licenses = readFileSync(join(installed, 'dist/LICENSES.txt'), 'utf8').split('\n');
    expect(names).toContain('ky');
    expect([...new Set(names)].filter((name = '') => !licenses.includes(name))).toEqual([]);
  });

  it('recognises its errors across module formats', async () => {
    expect(await node('formats.mjs')).toBe('ok');
  });

  it.each(['sandbox.mjs', 'sandbox.cjs'])(
    'swaps and pays on the packed sandbox with %s',
    async (script) => {
      expect(await node(script)).toBe('ok');
    },
  );
});

const HEAVY = /node_modules\/(@solana\/web3\.js|@solana\/spl-token|@jup-ag\/api|pg|pg-boss)\//;
const KY = /\/\/ node_modules\/ky\//;
const BUNDLED = /\/\/ node_modules\/(ky|valibot|standardwebhooks)\//;

describe.each(['loaded.mjs', 'loaded.cjs'])('the first import in %s', (script) => {
  it('loads no heavy dependency, which the first call then loads', async () => {
    const lines = await node(script, [join(consumer, `${script}.log`)]);
    const { first, later } = JSON.parse(lines) as { first: string[]; later: string[] };
    const libraryCode = (files: string[]) =>
      files
        .filter((file) => file.includes('/exact-change/dist/'))
        .map((file) => readFileSync(file.replace('file://', ''), 'utf8'));
    expect(first.filter((file) => HEAVY.test(file))).toEqual([]);
    expect(libraryCode(first).some((text) => BUNDLED.test(text))).toBe(false);
    // The checks below prove that the checks above can fail.
    for (const name of ['@solana/web3.js', '@jup-ag/api'])
      expect(later.some((file) => file.includes(`node_modules/${name}/`))).toBe(true);
    expect(libraryCode(later).some((text) => KY.test(text))).toBe(true);
  });
});
