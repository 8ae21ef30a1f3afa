import { execFile } from 'node:child_process';
import { copyFile, cp, mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { TestProject } from 'vitest/node';
import { findChromium, MISSING } from '../../scripts/chromium.js';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../', import.meta.url));
const cache = join(root, 'node_modules/.cache/exact-change');
const npm = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error'];

/** Real old and new runtimes, as npm packages; the oldest is what `engines` names the line of. */
const NODES = { n16: '16.20.2', n18: '18.20.8', n22: '22.23.3' };

/** Node 16 has no fetch, and newer releases of this one do not load there. */
const FETCH_OF_NODE_16 = 'undici@5.29.0';

/** What the sandbox and the mounts need and the package does not bring; taken from this repository instead of installed once more. */
const PEERS = ['@solana/kit', '@x402/core', '@x402/express', '@x402/svm', 'express', 'hono', 'litesvm', 'ws'];
const TYPES = ['@types/express', '@types/node', 'undici-types'];

export interface Packed {
  /** A project outside the repository, with the packed package installed by npm. */
  readonly consumer: string;
  /** Node binaries by version. */
  readonly nodes: readonly { readonly version: string; readonly binary: string }[];
}

declare module 'vitest' {
  interface ProvidedContext {
    packed: Packed;
  }
}

/** Builds, packs and installs the package once for all tests of this project. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  if (findChromium() === undefined) process.stdout.write(`${MISSING} The tests in a browser are skipped, except in CI.\n`);
  const [consumer, nodes] = await Promise.all([installPackage(), installNodes()]);
  project.provide('packed', { consumer, nodes });
  return () => rm(consumer, { recursive: true, force: true });
}

async function installPackage(): Promise<string> {
  const consumer = await mkdtemp(join(tmpdir(), 'exact-change-consumer-'));
  await run('npm', ['pack', '--silent', '--pack-destination', consumer], { cwd: root });
  await cp(join(root, 'test/package/consumer'), consumer, { recursive: true });
  // The same program, read as CommonJS: it gets the other half of the declarations.
  await copyFile(join(consumer, 'types.mts'), join(consumer, 'types.cts'));
  const tarball = (await readdir(consumer)).find((name) => name.endsWith('.tgz'));
  if (tarball === undefined) throw new Error('npm pack left no tarball.');
  await run('npm', ['install', ...npm, `./${tarball}`, FETCH_OF_NODE_16], { cwd: consumer });
  for (const name of [...PEERS, ...TYPES]) {
    const link = join(consumer, 'node_modules', name);
    await mkdir(dirname(link), { recursive: true });
    await rm(link, { recursive: true, force: true });
    await symlink(join(root, 'node_modules', name), link);
  }
  return consumer;
}

async function installNodes(): Promise<Packed['nodes']> {
  const folder = join(cache, 'nodes');
  await mkdir(folder, { recursive: true });
  const specs = Object.entries(NODES).map(([name, version]) => `${name}@npm:node-${process.platform}-${process.arch}@${version}`);
  await run('npm', ['install', ...npm, '--no-save', '--no-package-lock', '--prefix', folder, ...specs]);
  const others = Object.entries(NODES).map(([name, version]) => ({ version, binary: join(folder, 'node_modules', name, 'bin/node') }));
  return [{ version: process.versions.node, binary: process.execPath }, ...others];
}
