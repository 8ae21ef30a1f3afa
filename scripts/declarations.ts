import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const root = fileURLToPath(new URL('..', import.meta.url));

/**
 * Writes the declarations of entries and of their imports, which tsup then bundles. From sources,
 * tsup would parse and check all code again for each folder with an entry.
 *
 * @param entries - Sources by output, relative to the root of the repository.
 * @returns Paths of declaration files by output.
 */
export function declarationsOf(entries: Readonly<Record<string, string>>): Record<string, string> {
  // Do not write to node_modules, because tsup treats declarations there as external packages.
  const outDir = mkdtempSync(join(tmpdir(), 'exact-change-declarations-'));
  process.once('exit', () => rmSync(outDir, { recursive: true, force: true }));
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), (path) =>
    ts.sys.readFile(path),
  ) as { config: { compilerOptions: object } };
  const { options } = ts.convertCompilerOptionsFromJson(
    {
      ...config.compilerOptions,
      ...{ noEmit: false, emitDeclarationOnly: true, declaration: true, noEmitOnError: true },
      ...{ outDir, rootDir: root },
    },
    root,
  );
  const sources = Object.values(entries).map((path) => root + path);
  const { diagnostics } = ts.createProgram(sources, options).emit();
  if (diagnostics.length > 0)
    throw new Error(ts.formatDiagnostics(diagnostics, ts.createCompilerHost(options)));
  return Object.fromEntries(
    Object.entries(entries).map(([output, path]) => [
      output,
      join(outDir, path.replace(/\.ts$/, '.d.ts')),
    ]),
  );
}
