import { fileURLToPath } from 'node:url';
import ts from 'typescript';

/**
 * Returns the names that entry files export, types included, one per line: `value createClient`,
 * `type Client`.
 */
export function exportedNames(entries: readonly string[]): Map<string, string[]> {
  const root = fileURLToPath(new URL('../../', import.meta.url));
  const program = ownProgram(entries.map((entry) => root + entry));
  const checker = program.getTypeChecker();
  return new Map(
    entries.map((entry) => {
      const source = program.getSourceFile(root + entry);
      const module = source && checker.getSymbolAtLocation(source);
      if (module === undefined) throw new Error(`${entry} is no module`);
      return [
        entry,
        checker
          .getExportsOfModule(module)
          .map((symbol) => describe(symbol, checker))
          .sort(),
      ];
    }),
  );
}

/**
 * Makes a program of only those files that are reachable by relative imports. The declarations of
 * packages are five times as much, and export no name from here.
 */
function ownProgram(paths: readonly string[]): ts.Program {
  const options: ts.CompilerOptions = {
    target: ts.ScriptTarget.ES2021,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    noLib: true,
    types: [],
  };
  const host = ts.createCompilerHost(options);
  host.jsDocParsingMode = ts.JSDocParsingMode.ParseNone;
  host.resolveModuleNameLiterals = (names, from) =>
    names.map(({ text }) =>
      text.startsWith('.')
        ? ts.resolveModuleName(text, from, options, host)
        : { resolvedModule: undefined },
    );
  return ts.createProgram(paths, options, host);
}

function describe(symbol: ts.Symbol, checker: ts.TypeChecker): string {
  if ((symbol.flags & ts.SymbolFlags.Alias) === 0) return line(symbol, symbol.name);
  const target = checker.getAliasedSymbol(symbol);
  if (target.declarations === undefined)
    throw new Error(`${symbol.name} is exported from outside of this repository`);
  return line(target, symbol.name);
}

function line({ flags }: ts.Symbol, name: string): string {
  return `${flags & ts.SymbolFlags.Value ? 'value' : 'type'} ${name}`;
}
