import ts from 'typescript';
import { parse, type Files } from './modules.js';

const FORBIDDEN = new Set(['console', 'process', 'Buffer']);

/**
 * Where library code would print, read the environment, lean on a Node global, or do something when
 * it is merely imported.
 */
export function sideEffects(files: Files): string[] {
  return [...files].flatMap(([path, text]) => {
    const source = parse(path, text);
    const bound = boundNames(source);
    const found = source.statements
      .filter((one) => acts(one))
      .map((one) => at(one, 'runs on import'));
    const visit = (node: ts.Node): void => {
      if (
        ts.isIdentifier(node) &&
        FORBIDDEN.has(node.text) &&
        !bound.has(node.text) &&
        isReference(node)
      )
        found.push(at(node, `uses ${node.text}`));
      if (
        ts.isPropertyAccessExpression(node) &&
        node.name.text === 'env' &&
        /process\??$/.test(node.expression.getText(source))
      )
        found.push(at(node, 'reads the environment'));
      ts.forEachChild(node, visit);
    };
    visit(source);
    return found;

    function at(node: ts.Node, what: string): string {
      return `${path}:${source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1} ${what}`;
    }
  });
}

/**
 * Names that are the file's own: imported, or `process` taken from globalThis to ask which runtime
 * this is.
 */
function boundNames(source: ts.SourceFile): Set<string> {
  const names = new Set<string>();
  const visit = (node: ts.Node): void => {
    if (ts.isImportSpecifier(node)) names.add(node.name.text);
    if (ts.isBindingElement(node) && ts.isIdentifier(node.name) && node.name.text === 'process')
      names.add('process');
    ts.forEachChild(node, visit);
  };
  visit(source);
  return names;
}

/**
 * A name of a global, rather than of a member: `console.log`, `globalThis.console` and
 * `globalThis['console']` all reach it, `x.console` does not.
 */
function isReference(node: ts.Identifier): boolean {
  const { parent } = node;
  if (ts.isPropertyAccessExpression(parent) && parent.name === node)
    return parent.expression.getText() === 'globalThis';
  return !(
    ((ts.isPropertyAssignment(parent) ||
      ts.isPropertySignature(parent) ||
      ts.isMethodSignature(parent) ||
      ts.isPropertyDeclaration(parent)) &&
      parent.name === node) ||
    ts.isImportSpecifier(parent) ||
    ts.isBindingElement(parent) ||
    ts.isExportSpecifier(parent)
  );
}

/**
 * Statements other than declarations. An assignment or a call at the top of a module would run for
 * any importer.
 */
function acts(node: ts.Statement): boolean {
  return !(
    ts.isImportDeclaration(node) ||
    ts.isExportDeclaration(node) ||
    ts.isVariableStatement(node) ||
    ts.isFunctionDeclaration(node) ||
    ts.isClassDeclaration(node) ||
    ts.isInterfaceDeclaration(node) ||
    ts.isTypeAliasDeclaration(node)
  );
}
