import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { build as esbuild, version as esbuildVersion } from 'esbuild';
import { build as vite, version as viteVersion } from 'vite';
import { describe, expect, inject, it } from 'vitest';
import { MAINNET_SLOT_MS, useSandbox } from '../helpers/sandbox.js';

const run = promisify(execFile);
const { consumer, nodes, bun, deno, platforms } = inject('packed');
const page = join(consumer, 'page.mjs');
const sandbox = await useSandbox({ slotMs: MAINNET_SLOT_MS });

/** Runs a program in the consumer, and returns its output. */
async function printed(binary: string, args: readonly string[]): Promise<string> {
  const { stdout } = await run(binary, args, { cwd: consumer, maxBuffer: 16 * 1024 * 1024 });
  return stdout.trim();
}

/** Expects that a script swaps SOL and pays for a call. */
async function pays(binary: string, args: readonly string[]): Promise<void> {
  const { secretKey } = await sandbox.createWallet({ SOL: '0.5' });
  const { rpcUrl, wsUrl, jupiterUrl, apiUrl } = sandbox;
  const options = JSON.stringify({ walletSecretKey: secretKey, rpcUrl, wsUrl, jupiterUrl });
  expect(await printed(binary, [...args, `${apiUrl}/usdc`, options])).toBe('200 10000 true');
}

/** Expects that a script serves the REST interface to a caller with its key only. */
async function serves(binary: string, args: readonly string[]): Promise<void> {
  const { rpcUrl, wsUrl, jupiterUrl } = sandbox;
  const options = JSON.stringify({ rpcUrl, wsUrl, jupiterUrl });
  const server = spawn(binary, [...args, options], { cwd: consumer, stdio: 'pipe' });
  try {
    const [url = ''] = (await once(createInterface(server.stdout), 'line')) as string[];
    const { address } = await sandbox.createWallet({ SOL: '0.5' });
    const ask = (key: string) =>
      fetch(`${url}/api/balance?wallet=${address}`, {
        headers: { authorization: `Bearer ${key}` },
      });
    const [answer, refused] = [await ask('the-key-of-a-caller'), await ask('another')];
    expect([answer.status, refused.status]).toEqual([200, 401]);
    expect(await answer.text()).toContain('500000000');
  } finally {
    server.kill();
  }
}

/** A row of the table in the guide, and the run that proves it. */
interface Platform {
  readonly name: string;
  readonly version: string;
  readonly done: string;
  readonly run: () => Promise<void>;
}

const versionIn = async (name: string) => {
  const text = await readFile(join(platforms, 'node_modules', name, 'package.json'), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
};

const onNode: Platform[] = nodes.map(({ version, binary }) => ({
  name: 'Node',
  // The version of this machine changes, so the table has its major version only.
  version: binary === process.execPath ? `${version.split('.')[0]}` : version,
  done: 'Loads as ES module and as CommonJS, swaps and pays',
  async run() {
    for (const script of ['smoke.mjs', 'smoke.cjs'])
      expect(await printed(binary, [script])).toBe('ok');
    await pays(binary, ['pay.cjs']);
  },
}));

const onOtherRuntimes: Platform[] = [
  { name: 'Bun', ...bun, args: [] },
  { name: 'Deno', ...deno, args: ['run', '-A', '--node-modules-dir=manual'] },
].map(({ name, version, binary, args }) => ({
  name,
  version,
  done: 'Swaps and pays; serves the REST interface',
  async run() {
    await pays(binary, [...args, 'pay.cjs']);
    await serves(binary, [...args, 'serve.mjs']);
  },
}));

/** Each bundles a page, and returns the entry file. */
const bundlers: Readonly<Record<string, (folder: string) => Promise<string>>> = {
  async esbuild(folder) {
    const { chunks, external } = await bundleByEsbuild(page, folder);
    expect(external).toEqual([]);
    // The engine is in separate chunks, which the page loads with its first payment.
    expect(chunks).toBeGreaterThan(1);
    return join(folder, 'page.js');
  },
  async vite(folder) {
    const { empty, first } = await bundleByVite(page, folder);
    expect(empty).toEqual([]);
    return join(folder, first);
  },
  rollup: (folder) => bundleElsewhere('rollup', folder),
  webpack: (folder) => bundleElsewhere('webpack', folder),
  Metro: (folder) => bundleElsewhere('metro', folder),
};

const bundleElsewhere = (bundler: string, folder: string) =>
  printed(process.execPath, [join(platforms, 'bundle.mjs'), bundler, page, folder]);

async function bundleByEsbuild(entry: string, outdir: string) {
  const { metafile, warnings } = await esbuild({
    entryPoints: [entry],
    absWorkingDir: consumer,
    bundle: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    splitting: true,
    outdir,
    metafile: true,
    logLevel: 'silent',
  });
  expect(warnings).toEqual([]);
  const outputs = Object.values(metafile.outputs);
  const external = outputs.flatMap(({ imports }) => imports.filter((entry) => entry.external));
  return { chunks: outputs.length, external };
}

/**
 * Bundles with vite, and returns the Node modules that vite replaced with empty modules. A package
 * such as bn.js may itself exclude a module in browsers; these modules have no name.
 */
async function bundleByVite(entry: string, outDir: string) {
  const result = await vite({
    root: consumer,
    configFile: false,
    logLevel: 'silent',
    build: {
      outDir,
      modulePreload: false,
      rolldownOptions: { input: entry, preserveEntrySignatures: 'strict' },
    },
  });
  const chunks = (Array.isArray(result) ? result : [result])
    .flatMap((built) => ('output' in built ? built.output : []))
    .flatMap((file) => (file.type === 'chunk' ? [file] : []));
  const ids = chunks.flatMap(({ moduleIds }) => moduleIds);
  return {
    empty: ids.filter((id) => id.includes('__vite-browser-external:')),
    first: chunks.find(({ isEntry }) => isEntry)?.fileName ?? '',
  };
}

const bundlerVersions: Readonly<Record<string, string>> = {
  esbuild: esbuildVersion,
  vite: viteVersion,
  rollup: await versionIn('rollup'),
  webpack: await versionIn('webpack'),
  Metro: await versionIn('metro'),
};

const inBundles: Platform[] = Object.entries(bundlers).map(([name, bundle]) => ({
  name,
  version: bundlerVersions[name] ?? '',
  done: 'Bundles a page without modules of Node and without polyfills; the bundle swaps and pays',
  async run() {
    const folder = join(consumer, 'bundles', name);
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
    await pays(process.execPath, ['pay-bundle.mjs', await bundle(folder)]);
  },
}));

const here = createRequire(import.meta.url);
const inTypes: Platform[] = [
  {
    version: '5.2.2',
    resolutions: ['nodenext'],
    path: join(platforms, 'node_modules/typescript-5.2'),
  },
  {
    version: '5.9.3',
    resolutions: ['nodenext', 'bundler', 'node10'],
    path: join(here.resolve('typescript/package.json'), '..'),
  },
].flatMap(({ version, resolutions, path }) =>
  resolutions.map((resolution) => ({
    name: 'TypeScript',
    version,
    done: `Checks a strict program, \`moduleResolution\` ${resolution}`,
    async run() {
      const tsc = join(path, 'bin/tsc');
      expect(await printed(process.execPath, [tsc, '-v'])).toContain(version);
      const checked = run(process.execPath, [tsc, '-p', `tsconfig.${resolution}.json`], {
        cwd: consumer,
      });
      const output = await checked.then(
        ({ stdout }) => stdout,
        (error: unknown) => String(Reflect.get(Object(error), 'stdout')),
      );
      // Types of other packages may need a newer compiler than the oldest.
      const ownErrors = output.split('\n').filter((line) => !line.startsWith('../'));
      expect(version === '5.2.2' ? ownErrors : [output]).toEqual(['']);
    },
  })),
);

const allPlatforms = [...onNode, ...onOtherRuntimes, ...inBundles, ...inTypes];
const ran = new Set<Platform>();

describe('the packed package', () => {
  it.each(
    allPlatforms.map(
      (platform) => [`${platform.name} ${platform.version}: ${platform.done}`, platform] as const,
    ),
  )('works on %s', async (_, platform) => {
    await platform.run();
    ran.add(platform);
  });

  it('ran on exactly the platforms that docs/platforms.md lists', async () => {
    const rows = allPlatforms.filter((platform) => ran.has(platform));
    const head = ['Platform', 'Version', 'What each run of the tests does there'];
    const cells = [
      head,
      head.map(() => '---'),
      ...rows.map((row) => [row.name, row.version, row.done]),
    ];
    const table = cells.map((row) => `| ${row.join(' | ')} |`);
    const guide = await readFile(new URL('../../docs/platforms.md', import.meta.url), 'utf8');
    const shown = guide.split('\n').filter((line) => line.startsWith('|'));
    expect(shown.map(plain)).toEqual(table.map(plain));
  });
});

/** Returns a table line without its padding. */
const plain = (line: string) => line.replaceAll(/ +|-+/g, (part) => part[0] ?? '');

describe('a bundle that needs a Node module', () => {
  it('is detected with every bundler', async () => {
    const bad = join(consumer, 'bad.mjs');
    const folder = join(consumer, 'bundles/bad');
    await writeFile(
      bad,
      "import { randomBytes } from 'node:crypto'; globalThis.random = () => randomBytes(8);",
    );
    await expect(bundleByEsbuild(bad, folder)).rejects.toThrow(/node:crypto/);
    const { empty } = await bundleByVite(bad, folder);
    expect(empty).toEqual([expect.stringContaining('node:crypto')]);
    for (const bundler of ['rollup', 'webpack', 'metro'])
      await expect(
        run(process.execPath, [join(platforms, 'bundle.mjs'), bundler, bad, folder], {
          cwd: consumer,
        }),
      ).rejects.toThrow(/crypto/);
  });
});
