import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { build, type Metafile } from 'esbuild';
import { startWorld } from './clients.js';
import { paired, sum } from './measure.js';
import { BUILD } from './process.js';

const run = promisify(execFile);
const RUNS = 11;

const OURS = join(BUILD, 'src/index');
/** Code that makes each client from `wallet`. */
const CLIENTS = {
  ours: `import { createClient } from '${OURS}.js';
const { secretKey: walletSecretKey, ...nodes } = wallet;
const client = createClient({ ...nodes, walletSecretKey });
const settled = new Promise((resolve) => client.on('payment.settled', resolve));
const pay = client.fetch;`,
  other: `import { wrapFetchWithPaymentFromConfig } from '@x402/fetch';
import { ExactSvmScheme } from '@x402/svm/exact/client';
import { createKeyPairSignerFromBytes, getBase58Encoder } from '@solana/kit';
const signer = await createKeyPairSignerFromBytes(getBase58Encoder().encode(wallet.secretKey));
const client = new ExactSvmScheme(signer, { rpcUrl: wallet.rpcUrl });
const settled = undefined;
const pay = wrapFetchWithPaymentFromConfig(fetch, { schemes: [{ network: 'solana:*', client }] });`,
};
type Name = keyof typeof CLIENTS;
const PACKAGES = {
  esm: { ours: [`${OURS}.js`], other: ['@x402/fetch', '@x402/svm/exact/client'] },
  cjs: { ours: [`${OURS}.cjs`], other: ['@x402/fetch', '@x402/svm/exact/client'] },
};

/** Measures the time from a new process to the first paid answer, and the size in a browser. */
export async function load() {
  const { world, rpcUrl, jupiterUrl, apiUrl, end } = await startWorld();
  const { secretKey } = await world.call('wallet', { USDC: '1000' });
  const page = (name: Name) => `const wallet = ${JSON.stringify({ secretKey, rpcUrl, jupiterUrl })};
${CLIENTS[name]}
const paid = await pay('${apiUrl}/usdc');
if (paid.status !== 200) throw new Error('It was not paid.');
await paid.text();`;
  const fresh = await both((name) => taken(`${page(name)} const from = 0;`));
  const esm = await both((name) => {
    const imports = PACKAGES.esm[name].map((path) => `import('${path}')`);
    return taken(`const from = performance.now(); await Promise.all([${imports.join(', ')}]);`);
  });
  const cjs = await both((name) => {
    const requires = PACKAGES.cjs[name].map((path) => `require('${path}');`);
    return taken(`const from = performance.now(); ${requires.join(' ')}`, 'commonjs');
  });
  const [ours, other] = [await bundled('ours', page), await bundled('other', page)];
  await end();
  return {
    fresh: fresh.ms,
    freshCpu: fresh.cpu,
    esm: esm.ms,
    cjs: cjs.ms,
    first: { ours: ours.first, other: other.first },
    paying: { ours: ours.all, other: other.all },
  };
}

interface Taken {
  readonly ms: number;
  readonly cpu: number;
}

async function both(probe: (name: Name) => Promise<Taken>) {
  const pairs: { ours: Taken; other: Taken }[] = [];
  while (pairs.length < RUNS)
    pairs.push({ ours: await probe('ours'), other: await probe('other') });
  const of = (value: (taken: Taken) => number) =>
    paired(pairs.map(({ ours, other }) => ({ ours: value(ours), other: value(other) })));
  return { ms: of(({ ms }) => ms), cpu: of(({ cpu }) => cpu) };
}

/**
 * Runs code in a new process. Returns the milliseconds since `from`, where 0 is the start of the
 * process, and the CPU time of the whole process.
 */
async function taken(code: string, type = 'module'): Promise<Taken> {
  const say =
    '; const { user, system } = process.cpuUsage(); console.log(JSON.stringify({ ms: performance.now() - from, cpu: (user + system) / 1e3 })); process.exit();';
  const { stdout } = await run(process.execPath, [`--input-type=${type}`, '--eval', code + say]);
  return JSON.parse(stdout) as Taken; // `say` prints it.
}

/** Returns the kilobytes that a bundle loads first, and until a payment has settled. */
async function bundled(name: Name, page: (name: Name) => string) {
  // Pages on https: are secure contexts.
  const banner =
    'globalThis.isSecureContext = true; (globalThis.loaded ??= []).push(import.meta.url);\n';
  const { metafile } = await build({
    stdin: {
      contents: `${page(name)} setInterval(() => 0, 1_000); await settled; console.log(JSON.stringify(loaded)); process.exit();`,
      resolveDir: process.cwd(),
    },
    bundle: true,
    splitting: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    outdir: join(BUILD, 'browser', name),
    banner: { js: banner },
    metafile: true,
    logLevel: 'error',
  });
  const entry = Object.keys(metafile.outputs).find(
    (path) => metafile.outputs[path]?.entryPoint === '<stdin>',
  )!;
  const { stdout } = await run(process.execPath, ['--experimental-websocket', entry]);
  const size = async (path: string) => {
    const text = await readFile(path, 'utf8');
    return gzipSync(text.replace(banner, ''), { level: 9 }).length / 1_000;
  };
  const sizes = async (paths: readonly string[]) => sum(await Promise.all(paths.map(size)));
  const urls = JSON.parse(stdout) as string[]; // The banner collects them.
  return {
    first: await sizes([...staticImports(metafile, entry)].map((path) => resolve(path))),
    all: await sizes(urls.map((url) => new URL(url).pathname)),
  };
}

function staticImports(
  metafile: Metafile,
  path: string,
  found: Set<string> = new Set(),
): ReadonlySet<string> {
  if (found.has(path)) return found;
  found.add(path);
  for (const imported of metafile.outputs[path]?.imports ?? [])
    if (imported.kind === 'import-statement') staticImports(metafile, imported.path, found);
  return found;
}
