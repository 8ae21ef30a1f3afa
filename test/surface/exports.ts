import { fileURLToPath } from 'node:url';
import ts from 'typescript';

/** The names that entry files export, types included, one line each: `value createClient`, `type Client`. */
export function exportedNames(entries: readonly string[]): Map<string, string[]> {
  const root = fileURLToPath(new URL('../../', import.meta.url));
  const read = ts.readConfigFile(`${root}tsconfig.json`, (path) => ts.sys.readFile(path));
  const { options } = ts.parseJsonConfigFileContent(read.config, ts.sys, root);
  const program = ts.createProgram(
    entries.map((entry) => root + entry),
    options,
  );
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
          .map((one) => describe(one, checker))
          .sort(),
      ];
    }),
  );
}

function describe(symbol: ts.Symbol, checker: ts.TypeChecker): string {
  const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
  return `${target.flags & ts.SymbolFlags.Value ? 'value' : 'type'} ${symbol.name}`;
}
