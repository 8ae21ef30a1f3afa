// How far one paid call travels through the code, until its answer: files entered, and hops from
// one file to another. Each function of a copy of the sources tells when it is entered.
import { spawnSync } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import ts from 'typescript';

const SANDBOX = join('adapters', 'sandbox');
const ROOTS = ['src', 'adapters', 'bench', 'package.json', 'tsconfig.json'];

export async function traces(): Promise<string[]> {
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
    const { stdout, status } = spawnSync('node', ['--import', 'tsx', 'bench/trace.child.ts'], {
      cwd: copy,
      stdio: ['ignore', 'pipe', 'inherit'],
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error('The traced payment failed.');
    return stdout.trim().split('\n');
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}

/** Of the library: the sandbox is no part of what pays. */
async function sources(copy: string): Promise<string[]> {
  const all = await Promise.all(
    ['src', 'adapters'].map(async (root) =>
      (await readdir(join(copy, root), { recursive: true })).map((path) => join(root, path)),
    ),
  );
  return all.flat().filter((path) => path.endsWith('.ts') && !path.startsWith(SANDBOX));
}

/** The same source, in which each named function tells its file first. */
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

/** A callback belongs to what it is handed to. */
function isNamed(node: ts.FunctionLikeDeclaration): boolean {
  const { parent } = node;
  return (
    node.name !== undefined ||
    ts.isVariableDeclaration(parent) ||
    ts.isPropertyAssignment(parent) ||
    ts.isPropertyDeclaration(parent)
  );
}
