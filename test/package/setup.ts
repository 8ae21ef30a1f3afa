import { execFile } from 'node:child_process';
import { copyFile, cp, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { TestProject } from 'vitest/node';
import { findChromium, MISSING } from '../../scripts/chromium.js';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../', import.meta.url));
const cache = join(root, 'node_modules/.cache/exact-change');
export const npm = [
  '--ignore-scripts',
  '--no-audit',
  '--no-fund',
  '--prefer-offline',
  '--loglevel=error',
];

/** In `.ci/run` the gates have already built both packages. */
const built = process.env['BUILT_BY_GATES'] === undefined ? [] : ['--ignore-scripts'];

/** Real old and new runtimes, as npm packages; the oldest is what `engines` names. */
const NODES = {
  n16: '16.14.0',
  n18: '18.20.8',
  n22: '22.23.3',
  n24: '24.21.0',
  n26: '26.10.0',
};

/** Platform packages for this machine only; the main packages bring one per processor. */
const BUN = '1.4.5';
const DENO = '2.9.6';

/** The oldest supported peer of each mount, and the last Express 4. */
const FRAMEWORKS = {
  'express-4.3': 'express@4.3.0',
  'express-4': 'express@4',
  'hono-4.2': 'hono@4.2.0',
};

/** Node 16 has no fetch, and newer releases of undici do not load there. */
const FETCH_OF_NODE_16 = 'undici@5.29.0';

/** Peers of the mounts, linked from this repository instead of installed again. */
const PEERS = ['express', 'hono'];
const TYPES = ['@types/express', '@types/node', 'undici-types'];

/** A runtime such as Node or Bun. */
export interface Program {
  readonly version: string;
  readonly binary: string;
}

export interface Packed {
  readonly tarballs: Readonly<Record<'library' | 'sandbox', string>>;
  /** A project outside the repository, with the packed package installed by npm. */
  readonly consumer: string;
  /** Another project, with only the packed sandbox. */
  readonly bench: string;
  readonly nodes: readonly Program[];
  /** Folder of `test/package/doors`, with the packages that it names. */
  readonly doors: string;
  /** Folder of `test/package/platforms`, with the packages that it names. */
  readonly platforms: string;
  readonly bun: Program;
  readonly deno: Program;
  /** Folders of web frameworks. */
  readonly frameworks: readonly { readonly name: string; readonly folder: string }[];
}

declare module 'vitest' {
  interface ProvidedContext {
    packed: Packed;
  }
}

/** Builds, packs and installs both packages once for all tests of this project. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  if (findChromium() === undefined)
    process.stdout.write(`${MISSING} The tests in a browser are skipped, except in CI.\n`);
  const folder = await mkdtemp(join(tmpdir(), 'exact-change-package-'));
  const [consumer, bench] = [join(folder, 'consumer'), join(folder, 'bench')];
  const [nodes, runtimes, frameworks, doors, platforms, library, sandbox] = await Promise.all([
    installNodes(),
    installOtherRuntimes(),
    installFrameworks(),
    installNamed('doors'),
    installNamed('platforms'),
    pack(root, join(folder, 'library')),
    pack(join(root, 'adapters/sandbox'), join(folder, 'sandbox')),
  ]);
  await Promise.all([installSandbox(bench, sandbox), installLibrary(consumer, library)]);
  await link(join(bench, 'node_modules'), consumer, ['exact-change-sandbox']);
  const tarballs = { library, sandbox };
  const tools = { nodes, ...runtimes, frameworks, doors, platforms };
  project.provide('packed', { tarballs, consumer, bench, ...tools });
  return () => rm(folder, { recursive: true, force: true });
}

/** Packs a package, and returns the path of the tarball. */
async function pack(source: string, folder: string): Promise<string> {
  await mkdir(folder);
  const flags = ['--silent', '--pack-destination', folder, ...built];
  await run('npm', ['pack', ...flags], { cwd: source });
  const [tarball] = await readdir(folder);
  if (tarball === undefined) throw new Error('npm pack left no tarball.');
  return join(folder, tarball);
}

async function installLibrary(consumer: string, tarball: string): Promise<void> {
  await cp(join(root, 'test/package/consumer'), consumer, { recursive: true });
  // The same program as CommonJS, which reads the CommonJS declarations.
  await copyFile(join(consumer, 'types.mts'), join(consumer, 'types.cts'));
  await run('npm', ['install', ...npm, tarball, FETCH_OF_NODE_16], { cwd: consumer });
  await link(join(root, 'node_modules'), consumer, [...PEERS, ...TYPES]);
}

async function installSandbox(bench: string, tarball: string): Promise<void> {
  await mkdir(bench);
  await writeFile(join(bench, 'package.json'), '{}');
  await run('npm', ['install', ...npm, tarball], { cwd: bench });
}

async function link(modules: string, consumer: string, names: readonly string[]): Promise<void> {
  for (const name of names) {
    const path = join(consumer, 'node_modules', name);
    await mkdir(dirname(path), { recursive: true });
    await rm(path, { recursive: true, force: true });
    await symlink(join(modules, name), path);
  }
}

async function installNodes(): Promise<Packed['nodes']> {
  const specs = Object.entries(NODES).map(
    ([name, version]) => [name, `node-${process.platform}-${process.arch}@${version}`] as const,
  );
  const folders = await installAliased('nodes', specs);
  const installed = Object.entries(NODES).map(([name, version]) => ({
    version,
    binary: join(folders, name, 'bin/node'),
  }));
  return [{ version: process.versions.node, binary: process.execPath }, ...installed];
}

async function installFrameworks(): Promise<Packed['frameworks']> {
  const folders = await installAliased('frameworks', Object.entries(FRAMEWORKS));
  return Object.keys(FRAMEWORKS).map((name) => ({ name, folder: join(folders, name) }));
}

async function installOtherRuntimes(): Promise<Pick<Packed, 'bun' | 'deno'>> {
  const { platform, arch } = process;
  const bun = `@oven/bun-${platform}-${arch === 'arm64' ? 'aarch64' : arch}@${BUN}`;
  const deno = `@deno/${platform}-${arch}${platform === 'linux' ? '-glibc' : ''}@${DENO}`;
  const specs = Object.entries({ bun, deno });
  const folder = await installAliased('runtimes', specs);
  return {
    bun: { version: BUN, binary: join(folder, 'bun/bin/bun') },
    deno: { version: DENO, binary: join(folder, 'deno/deno') },
  };
}

/** Copies a folder of these tests into the cache, and installs the packages that it names. */
async function installNamed(name: string): Promise<string> {
  const folder = join(cache, name);
  await cp(join(root, 'test/package', name), folder, { recursive: true });
  await run('npm', ['install', ...npm, '--no-package-lock'], { cwd: folder });
  return folder;
}

/** Installs packages under aliases into a cache folder, and returns its `node_modules`. */
async function installAliased(
  name: string,
  specs: readonly (readonly [string, string])[],
): Promise<string> {
  const folder = join(cache, name);
  await mkdir(folder, { recursive: true });
  const aliases = specs.map(([alias, spec]) => `${alias}@npm:${spec}`);
  await run('npm', [
    'install',
    ...npm,
    '--no-save',
    '--no-package-lock',
    '--prefix',
    folder,
    ...aliases,
  ]);
  return join(folder, 'node_modules');
}
