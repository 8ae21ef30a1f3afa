import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, inject, it } from 'vitest';
import { npm } from './setup.js';

const run = promisify(execFile);
const { tarballs, consumer, frameworks } = inject('packed');

interface Locked {
  readonly packages: Readonly<Record<string, { readonly version?: string }>>;
}

let folder: string | undefined;
afterEach(async () => {
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

/**
 * Returns the major versions that npm resolves at the top of a new project; rejects with npm's text
 * if the packages conflict.
 */
async function resolved(packages: readonly string[]): Promise<Record<string, string | undefined>> {
  folder = await mkdtemp(join(tmpdir(), 'exact-change-beside-'));
  await writeFile(join(folder, 'package.json'), '{}');
  await run('npm', ['install', ...npm, '--package-lock-only', ...packages], { cwd: folder });
  const lock = JSON.parse(await readFile(join(folder, 'package-lock.json'), 'utf8')) as Locked;
  const majors = ['@solana/kit', 'express', 'ws', 'hono', 'pg', 'pg-boss'].map((name) => [
    name,
    lock.packages[`node_modules/${name}`]?.version?.split('.')[0],
  ]);
  return Object.fromEntries(majors) as Record<string, string | undefined>;
}

describe('both packages', () => {
  it.each([
    { '@solana/kit': '8', express: '4', ws: '7', hono: '4', pg: '8', 'pg-boss': '10' },
    // Later majors of pg-boss are an application's own: the journal needs 10.
    { '@solana/kit': '5', express: '5', ws: '8', hono: '4', pg: '8', 'pg-boss': '12' },
  ])('install without a conflict beside %o', async (peers) => {
    const specs = Object.entries(peers).map(([name, major]) => `${name}@${major}`);
    expect(await resolved([...Object.values(tarballs), ...specs])).toEqual(peers);
  });
});

describe('the packed mounts', () => {
  it.each(frameworks)('serve in $name', async ({ name, folder: framework }) => {
    // Ignore stderr: Node warns about the oldest framework.
    const { stdout } = await run(process.execPath, ['mounts.cjs', name, framework], {
      cwd: consumer,
    });
    expect(stdout).toMatch(/^[1-3] mounts\n$/);
  });
});
