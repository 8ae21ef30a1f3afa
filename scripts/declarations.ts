import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const root = fileURLToPath(new URL('..', import.meta.url));

/**
 * Writes the declarations of entries, and of all that they import, for tsup to put together. From
 * sources it would parse and check everything once for each folder that has an entry.
 *
 * @param entries - Each output, and its source from the root of the repository.
 * @returns The same outputs, with declarations in the place of sources.
 */
export function declarationsOf(entries: Readonly<Record<string, string>>): Record<string, string> {
  // Not in node_modules: what is there belongs to other packages, and is left where it is.
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
