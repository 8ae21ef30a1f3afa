import { spawnSync } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';
import ts from 'typescript';
import { BUILD } from './process.js';
import type { Figure, Figures } from './table.js';

const SANDBOX = join('adapters', 'sandbox');
const ROOTS = ['src', 'adapters', 'bench', 'package.json', 'tsconfig.json'];

/** Measures the time of the swap rules, and the files that a paid call enters. */
export async function code(): Promise<Figures<'code'>> {
  const outfile = join(BUILD, 'firewall.js');
  await build({
    entryPoints: ['bench/firewall.child.ts'],
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    outfile,
  });
  const [small, middle, large] = run([outfile]) as Figure[]; // The child prints these figures.
  return { small: small!, middle: middle!, large: large!, ...(await traces()) };
}

function run(args: readonly string[], cwd = process.cwd()): unknown {
  const { stdout, status } = spawnSync('node', args, {
    cwd,
    stdio: ['ignore', 'pipe', 'inherit'],
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`${args.join(' ')} failed.`);
  return JSON.parse(stdout);
}

/**
 * Counts the files that a call enters until its answer, and the hops between files. It uses a copy
 * of the sources in which each function reports its file.
 */
async function traces() {
  const copy = await mkdtemp(join(tmpdir(), 'exact-change-trace-'));
  try {
    await symlink(resolve('node_modules'), join(copy, 'node_modules'));
    for (const root of ROOTS)
      await cp(root, join(copy, root), {
        recursive: true,
        filter: (path) => !path.includes('node_modules'),
      });
    for (const path of await sources(copy))
      await writeFile(join(copy, path), marked(path, await readFile(join(copy, path), 'utf8')));
    const counts = run(['--import', 'tsx', 'bench/trace.child.ts'], copy) as number[];
    const [swapFiles = 0, swapHops = 0, warmFiles = 0, warmHops = 0] = counts;
    return {
      warmFiles: { ours: warmFiles },
      warmHops: { ours: warmHops },
      swapFiles: { ours: swapFiles },
      swapHops: { ours: swapHops },
    };
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}

/** Returns the sources of the library, without the sandbox, which takes no part in a payment. */
async function sources(copy: string): Promise<string[]> {
  const files = await Promise.all(
    ['src', 'adapters'].map(async (root) =>
      (await readdir(join(copy, root), { recursive: true })).map((path) => join(root, path)),
    ),
  );
  return files.flat().filter((path) => path.endsWith('.ts') && !path.startsWith(SANDBOX));
}

/** Returns the source with a call at the start of each named function that reports the file. */
function marked(path: string, text: string): string {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const call = `globalThis.entered?.(${JSON.stringify(path)})`;
  const inserts: { readonly at: number; readonly code: string }[] = [];
  const visit = (node: ts.Node): void => {
    const isFunction =
      ts.isFunctionDeclaration(node) ||
      ts.isMethodDeclaration(node) ||
      ts.isArrowFunction(node) ||
      ts.isFunctionExpression(node);
    if (isFunction && node.body !== undefined && isNamed(node)) {
      if (ts.isBlock(node.body))
        inserts.push({ at: node.body.getStart(source) + 1, code: `${call};` });
      else
        inserts.push(
          { at: node.body.getStart(source), code: `(${call},` },
          { at: node.body.getEnd(), code: ')' },
        );
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return inserts
    .sort((a, b) => b.at - a.at)
    .reduce((code, { at, code: insert }) => code.slice(0, at) + insert + code.slice(at), text);
}

/** Returns true for a named function. A callback counts to the function that gets it. */
function isNamed(node: ts.FunctionLikeDeclaration): boolean {
  const { parent } = node;
  return (
    node.name !== undefined ||
    ts.isVariableDeclaration(parent) ||
    ts.isPropertyAssignment(parent) ||
    ts.isPropertyDeclaration(parent)
  );
}
